package runs

import (
	"errors"
	"time"
)

// ErrSkipped is in each error of Skip.
var ErrSkipped = errors.New("scheduler: the function found nothing to do")

type skip struct{ reason string }

func (s *skip) Error() string { return s.reason }
func (s *skip) Unwrap() error { return ErrSkipped }

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

type retryAfter struct {
	error
	after time.Duration
}

func (r *retryAfter) Unwrap() error { return r.error }

// Skip returns the error of a function that found nothing to do.
func Skip(reason string) error { return &skip{reason} }

// Permanent marks an error after which there is no other try; nil if err is.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// RetryAfter marks an error after which the next try begins d later; nil if err is.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryAfter{err, max(d, 1)}
}
