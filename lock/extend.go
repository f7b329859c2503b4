package lock

import (
	"context"
	"fmt"
	"time"
)

// Extend moves the deadline of a fixed lease to its TTL from now, once. It is for
// work that must not outlive a number of extensions: all other leases are renewed
// by themselves, and Extend returns ErrUnsupported for them. A lease inside
// another extends that one. ErrLost: another owner may have the key, and the
// lease's context has ended; ErrReleased: it was released. After doubt Extend asks
// again until ctx or the trust in the lease ends; then it returns the doubt, and
// the deadline is the old one or the new one. It is safe for concurrent use.
func (s *Lease) Extend(ctx context.Context) error {
	if s.outer != nil {
		if s.ended.Load() {
			return ErrReleased
		}
		return s.outer.Extend(ctx)
	}
	if !s.plain || !s.fixed {
		return fmt.Errorf("lock: extend %q: %w: only a fixed lease is extended, others are renewed", s.ref.Key, ErrUnsupported)
	}
	if err := s.Check(); err != nil {
		return err
	}
	h := s.holding()
	err := insist(ctx, time.Until(s.Deadline()), func(bound context.Context) error {
		sent := time.Now()
		g, err := s.locker.driver.Renew(bound, h)
		if !doubtful(err) {
			s.locker.keeper.renewed(s, Renewed{Alive: err == nil, Left: g.Left, lost: err}, sent)
		}
		return err
	})
	if doubtful(err) {
		return fmt.Errorf("lock: extend %q: %w", s.ref.Key, withCause(ctx, err))
	}
	if err != nil {
		return err
	}
	s.tell(EventExtended, nil)
	return s.Check() // the answer may have come too late, or a release before it
}
