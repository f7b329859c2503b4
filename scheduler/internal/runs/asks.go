package runs

import (
	"errors"
	"time"
)

// ErrSkipped is wrapped by each error of Skip.
var ErrSkipped = errors.New("scheduler: the function found nothing to do")

type skipError struct{ reason string }

func (s *skipError) Error() string { return s.reason }
func (s *skipError) Unwrap() error { return ErrSkipped }

type permanentError struct{ error }

func (p *permanentError) Unwrap() error { return p.error }

type retryError struct {
	error
	after time.Duration
}

func (r *retryError) Unwrap() error { return r.error }

// Skip returns the error of a function that found nothing to do.
func Skip(reason string) error { return &skipError{reason} }

// Permanent wraps an error after which there is no other try. It returns nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// RetryAfter wraps an error after which the next try begins d later. It returns nil if err is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryError{err, max(d, 1)}
}
