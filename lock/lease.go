package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A Lease is one grant of a key. Its context ends, with a cause, before another
// owner can be granted the key. It is safe for concurrent use.
type Lease struct {
	locker  *Locker
	ref     series.RunRef
	claimer *Claimer    // of a numbered lease; nil: a plain lease, which is released alone
	outer   *Lease      // the lease that this one is inside; nil: none
	detach  func() bool // detaches this lease from the outer one
	fixed   bool        // not renewed
	limit   int         // how many may hold the key at once; 0 and 1: one
	ctx     context.Context
	cancel  context.CancelCauseFunc // of ctx

	trust atomic.Int64 // the end of trust; on the renewer's clock, written under its mutex
	wall  atomic.Int64 // the end of trust on the wall clock, ns since 1970
	since atomic.Int64 // when its holding began, on the renewer's clock, plus 1 ns; 0: its end has no event
	ended atomic.Bool
	newer atomic.Bool // a renewal returned that a newer number waits
	late  bool        // it was lost before it was released; read by the caller that releases it

	// Guarded by the renewer's mutex.
	renewAt int64         // on the renewer's clock; never: no renewal
	span    time.Duration // the time left by the last answer, at most the TTL: a store may give less than was requested
	index   int           // in the renewer's heap; -1 outside
	doubt   error         // of the last renewal, if it had no answer
	queued  bool          // in a lane's queue
	asked   int           // renewals in flight
}

// derive makes the context of a plain lease: it ends with base, and carries the lease.
func (s *Lease) derive(base context.Context) {
	s.ctx, s.cancel = context.WithCancelCause(context.WithValue(base, heldKey{s.locker, s.ref.Key}, s))
}

// Context returns the lease's context. Its cause says why it ended: an error that wraps ErrLost and
// says how the lease was lost, [series.ErrReplaced], ErrReleased, or the cause of the caller's
// context or of Cancel.
func (s *Lease) Context() context.Context { return s.ctx }

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
	return s.locker.renewer.time(s.trust.Load())
}

// Check returns nil while the lease can be trusted. It reads the clocks itself and does not depend
// on any timer: call it right before an action that cannot be undone. It also uses the wall clock
// to notice that the machine was suspended for longer than the lease lasts, unless the wall clock
// was put back by as much after the last renewal.
func (s *Lease) Check() error {
	switch {
	case s.ended.Load():
		return ErrReleased
	case s.outer != nil:
		return s.outer.Check()
	case s.over(s.locker.renewer.now()):
		if s.ctx.Err() == nil {
			s.lose(s.loss())
		}
		return ErrLost
	}
	return nil
}

// lose ends the context of a lease that is lost.
func (s *Lease) lose(cause error) {
	s.cancel(cause)
	s.report(EventLost, cause)
}

// Cancel ends the context with a cause; nil is context.Canceled. The lease is kept until it is
// released.
func (s *Lease) Cancel(cause error) { s.cancel(cause) }

// Replaced reports whether a renewal returned that a newer number waits for the end of this lease.
// It does not depend on how the lease's context ended.
func (s *Lease) Replaced() bool { return s.newer.Load() }

// Abandon ends the context and stops renewing: the lease ends at its deadline in the store, and the
// key is free then. It is for a holder that cannot end its work.
func (s *Lease) Abandon(cause error) {
	s.cancel(cause)
	if s.outer != nil {
		s.outer.Abandon(cause)
		return
	}
	s.locker.renewer.remove(s, false)
	s.report(EventLost, cause)
}

// Release gives a plain lease back and ends its context. After doubt it repeats the request until
// ctx ends or the TTL has passed. If ctx has ended, as the lease's own context may have, Release
// has one second more, so that work that was cancelled frees its key. Release of a lease inside
// another frees nothing; Release of the outermost ends all leases inside it.
//
// It returns ErrReleased if the lease was released before, and ErrLost if it was lost. Two errors
// are an ErrLost too: ErrForgotten, if the store had the key free before the lease's time was over,
// so that other owners may have had it; and [ErrForced], if the lease was taken since its last
// renewal. Any other error is doubt: the key is free when the TTL has passed, at the latest.
func (s *Lease) Release(ctx context.Context) error {
	if s.claimer != nil {
		return fmt.Errorf("lock: release %q: %w: end a numbered lease with End", s.ref.Key, ErrUnsupported)
	}
	if ended, err := s.end(); ended {
		return err
	}
	h, again := s.holding(), false
	err := retryAfterCancel(ctx, s.ref.TTL, func(bound context.Context) error {
		err := s.released(s.locker.driver.Release(bound, h), again)
		again = true
		return err
	})
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
	lost := errors.Is(s.Check(), ErrLost)
	if !s.locker.renewer.remove(s, true) {
		return true, ErrReleased
	}
	s.cancel(ErrReleased)
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
	case wasTaken(err):
		return err
	case again && errors.Is(err, ErrForgotten):
		return nil
	case again && errors.Is(err, ErrLost) && s.locker.renewer.now() < s.trust.Load():
		return nil
	}
	return err
}

// holding returns the reference of a plain lease for its store.
func (s *Lease) holding() driver.LeaseRef {
	return driver.LeaseRef{Key: s.ref.Key, Owner: s.ref.Owner, Fence: s.ref.Fence, TTL: s.ref.TTL, Limit: s.limit, Replicas: s.ref.Replicas}
}

// End ends a numbered lease in this process: its context ends, and it is renewed no more. It
// returns the run, whose end the caller sends to the store, and whether this was the first End of
// the lease.
func (s *Lease) End() (series.RunRef, bool) {
	first := s.locker.renewer.remove(s, true)
	if first {
		s.cancel(ErrReleased)
	}
	return s.ref, first
}
