package renew

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// ErrReleased is the cause of the ended context of a lease that its owner ended.
var ErrReleased = errors.New("lock: lease released")

// A Lease is the part of a lease that a Keeper keeps. Make one with Keeper.Begin or with Inside. It
// is safe for concurrent use.
type Lease[R any] struct {
	Ref R // names the lease in the store; it must not be changed

	keeper *Keeper[R] // nil: the lease is inside another, which is kept
	ttl    time.Duration
	fixed  bool // not renewed
	ctx    context.Context
	cancel context.CancelCauseFunc // of ctx

	trust    atomic.Int64 // the end of trust; on the keeper's clock, written under its mutex
	wall     atomic.Int64 // the end of trust on the wall clock, ns since 1970
	ended    atomic.Bool
	replaced atomic.Bool // a renewal returned that the lease is replaced

	// Guarded by the keeper's mutex.
	renewAt int64         // on the keeper's clock; never: no renewal
	span    time.Duration // the time left by the last answer, at most the TTL: a store may give less than was requested
	index   int           // in the keeper's heap; -1 outside
	doubt   error         // of the last renewal, if it had no answer
	queued  bool          // in a lane's queue
	asked   int           // renewals in flight
	again   bool          // renew it at once after the next answer
}

// A Grant is the answer to a request that was granted a lease.
type Grant struct {
	TTL   time.Duration // as requested
	Left  time.Duration // by the answer
	Sent  time.Time     // when the request was sent
	Fixed bool          // the lease is not renewed
}

// Begin makes s a lease that was granted. Its context ends with base. It is kept from Add on.
func (k *Keeper[R]) Begin(s *Lease[R], base context.Context, ref R, g Grant) {
	s.keeper, s.Ref, s.ttl, s.fixed, s.index = k, ref, g.TTL, g.Fixed, -1
	s.ctx, s.cancel = context.WithCancelCause(base)
	s.extendTrust(g.Sent, g.Left)
}

// Inside makes s a lease inside another, which is kept. Its context ends with base. Only Context,
// Cancel, End and Ended may be called.
func (s *Lease[R]) Inside(base context.Context) { s.ctx, s.cancel = context.WithCancelCause(base) }

// Context returns the lease's context.
func (s *Lease[R]) Context() context.Context { return s.ctx }

// Cancel ends the context with a cause; nil is context.Canceled. The lease is kept until it ends.
func (s *Lease[R]) Cancel(cause error) { s.cancel(cause) }

// Fixed reports whether the lease is not renewed.
func (s *Lease[R]) Fixed() bool { return s.fixed }

// Deadline returns the time until which the lease can be trusted, unless it is renewed.
func (s *Lease[R]) Deadline() time.Time {
	return s.keeper.start.Add(time.Duration(s.trust.Load()))
}

// Check returns nil while the lease can be trusted, and otherwise ErrReleased or driver.ErrLost. It
// reads the clocks itself and does not depend on any timer: call it right before an action that
// cannot be undone. It also uses the wall clock to notice that the machine was suspended for longer
// than the lease lasts, unless the wall clock was put back by as much after the last renewal.
func (s *Lease[R]) Check() error {
	switch {
	case s.ended.Load():
		return ErrReleased
	case s.Over(s.keeper.Now()):
		if s.ctx.Err() == nil {
			s.lose(s.loss())
		}
		return driver.ErrLost
	}
	return nil
}

// Ended reports whether End was called.
func (s *Lease[R]) Ended() bool { return s.ended.Load() }

// Replaced reports whether a renewal returned that the lease is replaced. It does not depend on how
// the lease's context ended.
func (s *Lease[R]) Replaced() bool { return s.replaced.Load() }

// Abandon ends the context and stops renewing: the lease ends at its deadline in the store. It is
// for a holder that cannot end its work.
func (s *Lease[R]) Abandon(cause error) {
	s.cancel(cause)
	s.keeper.remove(s)
}

// End ends the context with ErrReleased and stops renewing. It reports whether this was the first
// End.
func (s *Lease[R]) End() bool {
	if s.keeper != nil {
		s.keeper.remove(s)
	}
	first := !s.ended.Swap(true)
	if first {
		s.cancel(ErrReleased)
	}
	return first
}

// extendTrust extends the trust in a lease after an answer, counted from the sending of the request: a
// delay on the way must not extend it. The keeper's mutex is held, or the lease is not kept yet. The
// wall clock may have been put back since the last answer: its newest reading replaces a later one,
// which would hide a suspension.
func (s *Lease[R]) extendTrust(sent time.Time, left time.Duration) {
	s.span = min(left, s.ttl)
	d := trust(s.span)
	until := int64(sent.Sub(s.keeper.start) + d)
	if until > s.trust.Load() {
		s.wall.Store(sent.UnixNano() + int64(d))
		s.trust.Store(until)
	}
}

// Over reports whether the trust in a lease has ended at now, on the keeper's clock. That clock
// stops while the machine is suspended; the wall clock does not. If the wall clock is put forward
// meanwhile, the trust ends early, which does no harm.
func (s *Lease[R]) Over(now int64) bool {
	return now >= s.trust.Load() || s.keeper.cfg.Wall() >= s.wall.Load()
}

// due returns when a lease whose request was answered now must be renewed: a third of its time
// after that request was sent, since its trust counts from there as well.
func (s *Lease[R]) due(now int64) int64 {
	if s.fixed {
		return never
	}
	sent := s.trust.Load() - int64(trust(s.span))
	return max(now, sent+int64(s.span/3))
}

// pause returns how long after a doubt the next renewal is sent.
func (s *Lease[R]) pause() int64 {
	return int64(max(min(s.span/20, maxRetry), 2*together))
}

// maxRetry bounds the pause between two requests after doubt.
const maxRetry = time.Second

// lose ends the context of a lease that is lost.
func (s *Lease[R]) lose(cause error) {
	s.cancel(cause)
	if lost := s.keeper.cfg.Lost; lost != nil {
		lost(s.Ref, cause)
	}
}
