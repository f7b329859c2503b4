package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
)

// How long the store is asked again when it gives no answer, and how long the
// first pause is; the others double up to a second.
const (
	askTime    = 5 * time.Second
	firstPause = 5 * time.Millisecond
	longPause  = time.Second
)

// ask sends a script until it has an answer of the script, the store says no, or
// the time is over. Every script may be sent twice.
func (s *Sale) ask(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, error) {
	return again(ctx, func() ([]string, error) {
		answer, err := script.Run(ctx, s.client, keys, args...).StringSlice()
		return answer, full(err)
	})
}

// full names the error of a store that has no memory. It refuses the first write of a
// script that needs any, before which the scripts write nothing that counts.
func full(err error) error {
	if redis.HasErrorPrefix(err, "OOM") {
		return fmt.Errorf("%w: %w", ErrStoreFull, err)
	}
	return err
}

// again calls f until it has an answer, its error is final, or the time is over.
func again[T any](ctx context.Context, f func() (T, error)) (T, error) {
	answer, last := f()
	if last == nil || final(last) {
		return answer, last // as nearly always, without a timer
	}
	answer, err := backoff.Retry(ctx, func() (T, error) {
		next, err := f()
		if err != nil && !final(err) && ctx.Err() != nil {
			return next, err // the end of ctx may have cut it off: the error before it says more
		}
		answer, last = next, err
		if last != nil && final(last) {
			return answer, backoff.Permanent(last)
		}
		return answer, last
	}, backoff.WithBackOff(pauses()), backoff.WithMaxElapsedTime(within(ctx, askTime)))
	if err != nil && last != nil {
		return answer, last // says more than that the context has ended
	}
	return answer, err
}

func pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = firstPause, 2, longPause
	return b
}

// within is d, or what the context has left if that is less.
func within(ctx context.Context, d time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, min(d, time.Until(deadline)))
	}
	return d
}

// passing are the beginnings of errors that go away by themselves: a store that
// starts, fails over, or is being resharded.
var passing = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "NOSCRIPT", "UNBLOCKED"}

// final reports whether an error is the store's own word and will stay.
func final(err error) bool {
	if errors.Is(err, ErrUnconfirmed) {
		return true // the caller has waited once, and decides
	}
	e, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	for _, beginning := range passing {
		if strings.HasPrefix(e.Error(), beginning) {
			return false
		}
	}
	return true
}

// The jobs whose runs have fences: those of one job do not compare with those of another.
const (
	settling    = "settle"
	releasing   = "release"
	reconciling = "reconcile"
	delivering  = "deliver:" // and the name of the target
)

// maxFence is where numbers in Lua stop being exact: in the year 2255, in µs.
const maxFence = 1<<53 - 1

// maxBatch is how many orders one script touches at most: it keeps every script
// below a few milliseconds.
const maxBatch = 500

// fenced asks a script of a run, whose first argument is the fence, and returns
// what follows the word ok.
func (s *Sale) fenced(ctx context.Context, script *redis.Script, keys []string, fence int64, args ...any) ([]string, error) {
	if fence < 1 || fence > maxFence {
		return nil, &FieldError{"fence", strconv.FormatInt(fence, 10), "1 to 2^53 - 1"}
	}
	answer, err := s.ask(ctx, script, keys, append([]any{fence}, args...)...)
	switch {
	case err != nil:
		return nil, err
	case len(answer) > 0 && answer[0] == "ok":
		return answer[1:], nil
	case is(answer, "shelf", 2):
		return nil, closedShelf(answer[1])
	case len(answer) >= 2 && answer[0] == "fenced":
		return nil, fmt.Errorf("fence %d, the sale has seen %s: %w", fence, answer[1], ErrFenced)
	}
	return nil, strange(answer)
}
