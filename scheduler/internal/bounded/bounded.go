// Package bounded makes calls and pauses that end with their time or with their context, and
// adds durations without an overflow.
package bounded

import (
	"context"
	"math"
	"time"
)

// Sum returns a + b, or the longest duration if that is less. Neither a nor b is negative.
func Sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Times returns n * d, with n above 0 and d not negative, or the longest duration if that is
// less.
func Times(n int, d time.Duration) time.Duration {
	if d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return time.Duration(n) * d
}

// Call calls f and returns its result. It returns the error of the context when ctx or
// the limit is over, even if f ignores that.
func Call[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	type result struct {
		value T
		err   error
	}
	returned := make(chan result, 1)
	go func() {
		v, err := f(ctx)
		returned <- result{v, err}
	}()
	select {
	case r := <-returned:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Pause waits for d. It reports false if ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
