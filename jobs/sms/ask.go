package sms

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
)

// askTime is how long a run asks the outbox again when it gets no answer.
const askTime = 5 * time.Second

// ask sends a run's script until it has an answer of the script, the store says
// no, or the time is over. Every script of a run may be sent twice.
func (o *Outbox) ask(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, error) {
	var last error
	answer, err := backoff.Retry(ctx, func() ([]string, error) {
		var answer []string
		answer, last = script.Run(ctx, o.client, keys, args...).StringSlice()
		if last != nil && final(last) {
			return nil, backoff.Permanent(last)
		}
		return answer, last
	}, backoff.WithBackOff(pauses()), backoff.WithMaxElapsedTime(within(ctx, askTime)))
	if err != nil && last != nil {
		return nil, last // says more than that the context has ended
	}
	return answer, err
}

// pauses start at firstPause and double.
func pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier = firstPause, 2
	return b
}

// passing are the beginnings of errors that go away by themselves: a store that
// starts, fails over, or is being resharded.
var passing = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "NOSCRIPT"}

// final reports whether an error is the store's own word and will stay.
func final(err error) bool {
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
