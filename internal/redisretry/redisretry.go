// Package redisretry sends requests to Redis until they have an answer. It is intended for requests
// that may be sent twice, such as the scripts of jobs: an error does not reveal whether the request
// was carried out.
package redisretry

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/wait"
)

// A Policy defines how long a request is repeated, and how often.
type Policy struct {
	First   time.Duration    // the first pause, after the second request; required. Each further pause is twice as long
	Longest time.Duration    // the longest pause. Zero: Total
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
		return answer, last // the usual case needs no clock
	}
	pauses := wait.Backoff{First: p.First, Longest: cmp.Or(p.Longest, p.Total), Spread: true}
	total, began := p.total(ctx), time.Now()
	for n := 1; ; n++ {
		next, err := send()
		if err != nil && !final(err) && ctx.Err() != nil {
			return answer, last
		}
		answer, last = next, err
		if last == nil || final(last) {
			return answer, last
		}
		pause := pauses.After(n)
		if time.Since(began)+pause > total || wait.Sleep(ctx, pause) != nil {
			return answer, last
		}
	}
}

func (p Policy) total(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(p.Total, time.Until(deadline))
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
