// Package wait provides pauses and calls that end with their context.
package wait

import (
	"context"
	"time"
)

// Sleep returns nil when d has passed, or the error of ctx if ctx ends first or has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	Woken(ctx, d, nil)
	return ctx.Err()
}

// Ended reports whether ctx has ended, or its deadline has passed. A connection that has the deadline of ctx
// may return a moment before ctx has ended, and its error means the same.
func Ended(ctx context.Context) bool {
	end, ends := ctx.Deadline()
	return ctx.Err() != nil || ends && !time.Now().Before(end)
}

// Woken returns when d has passed, or earlier when ctx ends, or woken has a value or is closed. It
// reports whether woken ended the wait.
func Woken(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	if d <= 0 && woken == nil {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-woken:
		return true
	}
	return false
}

// Call calls f and returns its result. When ctx has ended, Call waits for f for another grace and
// then returns the error of ctx, even if f ignores ctx: f then continues in the background, and its
// result is lost. A context that cannot end costs no goroutine.
func Call[T any](ctx context.Context, grace time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		return f(ctx)
	}
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
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case r := <-returned:
		return r.value, r.err
	case <-t.C:
	}
	return none, ctx.Err()
}

// CallWithin is Call with a time limit and without grace.
func CallWithin[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return Call(ctx, 0, f)
}
