package lock

import (
	"context"
	"time"
)

// Bound returns the context of requests that are repeated for up to d.
func Bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	b := newBound(ctx, d)
	return b, b.stop
}

// RenewedLate ends the trust of a lease, and then answers a renewal of it before
// the keeper's timer has noticed.
func (s *Lease) RenewedLate() {
	k := &s.locker.keeper
	s.trust.Store(k.now())
	k.renewed(s, Renewed{Alive: true, Left: s.ref.TTL}, time.Now())
}
