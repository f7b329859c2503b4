package http

import "time"

// final marks an error after which there is no other try: scheduler.Permanent(err).
func final(err error) error { return &permanent{err} }

// later marks an error after which the next try begins d later: scheduler.RetryAfter(d, err).
func later(d time.Duration, err error) error { return &retryAfter{err, d} }

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

type retryAfter struct {
	error
	after time.Duration
}

func (r *retryAfter) Unwrap() error { return r.error }
