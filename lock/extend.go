package lock

import (
	"context"
	"fmt"
	"time"
)

// Extend moves the deadline of a fixed lease to its TTL from now, once. It is for work that must
// not outlive a number of extensions. All other leases are renewed automatically: Extend returns
// ErrUnsupported for them. Extend of a lease inside another extends the outer lease.
//
// Extend returns ErrLost if another owner may have the key, in which case the lease's context has
// ended, and ErrReleased if the lease was released. After doubt it repeats the request until ctx or
// the trust in the lease ends. It then returns the doubt, within 100 ms of the end of ctx, and the
// deadline is either the old one or the new one. It is safe for concurrent use.
func (s *Lease) Extend(ctx context.Context) error {
	if s.outer != nil {
		if s.kept.Ended() {
			return ErrReleased
		}
		return s.outer.Extend(ctx)
	}
	if !s.kept.Fixed() {
		return fmt.Errorf("lock: extend %q: %w: only a fixed lease is extended, others are renewed", s.ref.Key, ErrUnsupported)
	}
	if err := s.Check(); err != nil {
		return err
	}
	doubt := named(ctx, fmt.Sprintf("extend %q", s.ref.Key))
	_, err := inTime(ctx, s.locker, doubt, func(latest *noted) (struct{}, error) {
		err := retry(ctx, time.Until(s.Deadline()), func(bound context.Context) error {
			err := s.extend(bound)
			latest.note(err)
			return err
		})
		if doubtful(err) {
			err = doubt(err)
		}
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	return s.Check() // the answer may have come too late, or a release before it
}

// extend sends one request.
func (s *Lease) extend(ctx context.Context) error {
	sent := time.Now()
	g, err := s.locker.driver.Renew(ctx, s.ref)
	if !doubtful(err) {
		s.kept.Renewed(renewal(g, err), sent)
	}
	if err == nil {
		s.report(EventExtended, nil)
	}
	return err
}
