// Package redisretry sends requests to Redis until they have an answer. It is intended for requests
// that may be sent twice, such as the scripts of jobs: an error does not reveal whether the request
// was carried out.
package redisretry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
)

// A Policy defines how long a request is repeated, and how often.
type Policy struct {
	First   time.Duration    // the first pause; each further pause is twice as long. Zero: backoff's default
	Longest time.Duration    // the longest pause. Zero: backoff's default
	Total   time.Duration    // the time limit, or the deadline of the context if that is earlier
	Final   func(error) bool // errors after which a request is not repeated. Nil: Final
}

// Do sends a request until it has an answer, its error is final, or the time is over. If the end of
// ctx cuts the last request off, Do returns the error of the request before it: that error contains
// more than the end of the context.
func Do[T any](ctx context.Context, p Policy, send func() (T, error)) (T, error) {
	final := p.Final
	if final == nil {
		final = Final
	}
	answer, last := send()
	if last == nil || final(last) {
		return answer, last // the usual case needs no timer
	}
	again := func() (T, error) {
		next, err := send()
		if err != nil && !final(err) && ctx.Err() != nil {
			return next, err
		}
		answer, last = next, err
		if last != nil && final(last) {
			return answer, backoff.Permanent(last)
		}
		return answer, last
	}
	next, err := backoff.Retry(ctx, again, backoff.WithBackOff(p.pauses()), backoff.WithMaxElapsedTime(p.total(ctx)))
	if err != nil {
		return answer, last
	}
	return next, nil
}

func (p Policy) pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.Multiplier = 2
	if p.First > 0 {
		b.InitialInterval = p.First
	}
	if p.Longest > 0 {
		b.MaxInterval = p.Longest
	}
	return b
}

// total returns at least 1: backoff treats 0 as no limit.
func (p Policy) total(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, min(p.Total, time.Until(deadline)))
	}
	return p.Total
}

// passing are the beginnings of errors that go away by themselves: a server starts, fails over, or
// is being resharded.
var passing = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "NOSCRIPT", "UNBLOCKED"}

// Final reports whether an error is the server's own answer and will not go away. Any other error
// is doubt, or goes away.
func Final(err error) bool {
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
