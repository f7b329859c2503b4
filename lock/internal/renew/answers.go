package renew

import (
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A Renewal is the answer to the renewal of a lease.
type Renewal struct {
	Alive    bool
	Left     time.Duration // until the deadline, of a lease that is alive
	End      error         // ends the context of a lease that is alive, which is kept all the same; nil: the context goes on
	Replaced bool          // the lease is replaced: see Lease.Replaced
	Lost     error         // why the lease is not alive, if the store knows
	Err      error         // doubt
}

// Renewed processes the answer to a renewal that the holder of a fixed lease sent at the given time. The
// next event of the lease is the end of its trust, which never comes earlier: the timer stays as it is.
func (s *Lease[R]) Renewed(r Renewal, sent time.Time) {
	k := s.keeper
	k.mu.Lock()
	cause := k.apply(s, &r, sent)
	k.mu.Unlock()
	s.conclude(cause)
}

// apply is Renewed without the end of the lease's context: it returns the cause of that end, or nil
// if the context does not end. The mutex is held.
func (k *Keeper[R]) apply(s *Lease[R], r *Renewal, sent time.Time) (cause error) {
	if s.index < 0 { // ended, lost or abandoned meanwhile
		return nil
	}
	now := k.Now()
	switch {
	case s.Over(now): // Check may have returned ErrLost already: the answer must not revive the lease
		k.drop(s)
		cause = s.lossAt(now, r.Err == nil)
	case r.Err != nil:
		s.doubt = r.Err
		s.renewAt = min(s.renewAt, now+s.pause())
		k.fix(s)
	case !r.Alive:
		k.drop(s)
		cause = driver.ErrForgotten
		if errors.Is(r.Lost, driver.ErrForced) {
			cause = r.Lost
		}
		s.trust.Store(now)
	default:
		s.doubt, s.queued = nil, false
		s.extendTrust(sent, r.Left)
		s.renewAt = s.due(now)
		if s.again {
			s.again, s.renewAt = false, now
		}
		k.fix(s)
		if r.Replaced {
			s.replaced.Store(true)
		}
		cause = r.End
	}
	return cause
}

// conclude ends the context of a lease with a cause, if there is one.
func (s *Lease[R]) conclude(cause error) {
	switch {
	case cause == nil:
	case errors.Is(cause, driver.ErrLost):
		s.lose(cause)
	default:
		s.cancel(cause)
	}
}
