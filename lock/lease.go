package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// A Lease is one grant of a key. Its context ends, with a cause, before another
// owner can be granted the key. It is safe for concurrent use. Only a [Locker] makes one: the zero Lease
// cannot be used.
type Lease struct {
	locker *Locker
	ref    driver.LeaseRef
	outer  *Lease      // the lease that this one is inside; nil: none
	detach func() bool // detaches this lease from the outer one
	kept   renew.Lease[*Lease]
	since  atomic.Int64 // when its holding began, on the keeper's clock, plus 1 ns; 0: its end has no event
	late   bool         // it was lost before it was released; read by the caller that releases it

	givenUp time.Time // when a request for it was sent that was given up before the grant; zero: none was
}

// Context returns the lease's context. Its cause says why it ended: an error that wraps ErrLost and
// says how the lease was lost, ErrReleased, the cause of the end of [Options].Context, or the cause that
// was passed to Cancel or Abandon.
func (s *Lease) Context() context.Context { return s.kept.Context() }

// Key returns the key.
func (s *Lease) Key() string { return s.ref.Key }

// Fence returns the number that came with the grant: greater than in every
// earlier grant of the key.
func (s *Lease) Fence() int64 { return s.ref.Fence }

// Deadline returns the time until which the lease can be trusted, unless it is renewed.
func (s *Lease) Deadline() time.Time {
	if s.outer != nil {
		return s.outer.Deadline()
	}
	return s.kept.Deadline()
}

// Check returns nil while the lease can be trusted. It reads the clocks itself and does not depend
// on any timer: call it right before an action that cannot be undone. It also uses the wall clock
// to notice that the machine was suspended for longer than the lease lasts, unless the wall clock
// was put back by as much after the last renewal. Once the lease cannot be trusted, Check returns
// ErrReleased if the lease was released, and ErrLost otherwise.
func (s *Lease) Check() error {
	switch {
	case s.outer == nil:
		return s.kept.Check()
	case s.kept.Ended():
		return ErrReleased
	}
	return s.outer.Check()
}

// Cancel ends the context with a cause; nil is context.Canceled. The lease is kept until it is
// released.
func (s *Lease) Cancel(cause error) { s.kept.Cancel(cause) }

// Abandon ends the context and stops renewing: the lease ends at its deadline in the store, and the
// key is free then. It is for a holder that cannot end its work. Abandon of a lease inside another
// abandons the outer lease.
func (s *Lease) Abandon(cause error) {
	if s.outer != nil {
		s.kept.Cancel(cause)
		s.outer.Abandon(cause)
		return
	}
	s.kept.Abandon(cause)
	s.report(EventLost, cause)
}

// Release gives the lease back and ends its context. After doubt it repeats the request until
// ctx ends or the TTL has passed. If ctx has ended, as the lease's own context may have, Release
// has one second more, so that work that was cancelled frees its key. Release of a lease inside
// another frees nothing; Release of the outermost ends all leases inside it.
//
// It returns ErrReleased if the lease was released before, and ErrLost if it was lost. Two errors
// are an ErrLost too: ErrForgotten, if the store had the key free before the lease's time was over,
// so that other owners may have had it; and [ErrForced], if the lease was taken since its last
// renewal. Any other error is doubt: the key is free when the TTL has passed, at the latest.
func (s *Lease) Release(ctx context.Context) error {
	if ended, err := s.end(); ended {
		return err
	}
	again := false
	err := retryAfterCancel(ctx, s.ref.TTL, func(bound context.Context) error {
		err := s.released(s.locker.driver.Release(bound, s.ref), again)
		again = true
		return err
	})
	s.releaseLate()
	if doubtful(err) {
		err = fmt.Errorf("lock: release %q: %w", s.ref.Key, err)
	}
	s.report(EventReleased, err)
	return err
}

// end ends the lease in this process, before a request is sent, and reports whether nothing else
// must be done.
func (s *Lease) end() (bool, error) {
	if s.outer != nil {
		return true, s.leave()
	}
	lost := errors.Is(s.kept.Check(), ErrLost)
	if !s.kept.End() {
		return true, ErrReleased
	}
	s.late = lost
	return false, nil
}

// released returns the error of a release for the store's answer. A free key does not show that the
// lease was held to its end: if its trust was over, another owner may have had the key. If the
// request was repeated, and the store has no such lease though its time is not over, an earlier
// request has freed it, unless the store knows that the lease was taken.
func (s *Lease) released(err error, again bool) error {
	switch {
	case s.late:
		return ErrLost
	case errors.Is(err, ErrForced):
		return err
	case again && errors.Is(err, ErrForgotten):
		return nil
	case again && errors.Is(err, ErrLost) && time.Now().Before(s.kept.Deadline()):
		return nil
	}
	return err
}
