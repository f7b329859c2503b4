package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisretry"
)

// How long the store is asked again when it gives no answer, and how long the
// first pause is; the others double up to a second.
const (
	askTime    = 5 * time.Second
	firstPause = 5 * time.Millisecond
	longPause  = time.Second
)

// runScript sends a script until it has an answer. Every script may be sent twice.
func (s *Sale) runScript(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, error) {
	return repeat(ctx, func() ([]string, error) {
		answer, err := script.Run(ctx, s.client, keys, args...).StringSlice()
		return answer, full(err)
	})
}

// full names the error of a store that has no memory. It refuses the first write of a
// script that needs any, before which the scripts write nothing that counts.
func full(err error) error {
	if redis.HasErrorPrefix(err, "OOM") {
		return fmt.Errorf("%w: %w", errStoreFull, err)
	}
	return err
}

// repeat sends a request until it has an answer, its error is final, or the time is over.
func repeat[T any](ctx context.Context, send func() (T, error)) (T, error) {
	return redisretry.Do(ctx, redisretry.Policy{First: firstPause, Longest: longPause, Total: askTime, Final: final}, send)
}

// final reports whether a request is not repeated. One that replicas have not confirmed
// has waited once: the caller decides.
func final(err error) bool { return errors.Is(err, ErrUnconfirmed) || redisretry.Final(err) }

// The jobs whose runs have fences. Fences of different jobs are not comparable.
const (
	settling    = "settle"
	releasing   = "release"
	reconciling = "reconcile"
	delivering  = "deliver"
)

// maxFence is where numbers in Lua stop being exact: in the year 2255, in µs.
const maxFence = 1<<53 - 1

// maxBatch is how many orders one script touches at most: it keeps every script
// below a few milliseconds.
const maxBatch = 500

// fenced runs a script of a run, whose first argument is the fence, and returns the values after
// the word ok.
func (s *Sale) fenced(ctx context.Context, script *redis.Script, keys []string, fence int64, args ...any) ([]string, error) {
	if fence < 1 || fence > maxFence {
		return nil, &FieldError{"fence", strconv.FormatInt(fence, 10), "1 to 2^53 - 1"}
	}
	answer, err := s.runScript(ctx, script, keys, append([]any{fence}, args...)...)
	switch {
	case err != nil:
		return nil, err
	case len(answer) > 0 && answer[0] == "ok":
		return answer[1:], nil
	case is(answer, "shelf", 2):
		return nil, closedShelf(answer[1])
	case len(answer) >= 2 && answer[0] == "fenced":
		return nil, fenced(fence, answer[1])
	}
	return nil, unknownAnswer(answer)
}

// fenced returns the error of a run after which another one has begun.
func fenced(fence int64, seen string) error {
	return fmt.Errorf("fence %d, the sale has seen %s: %w", fence, seen, ErrFenced)
}
