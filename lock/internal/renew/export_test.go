package renew

import (
	"sync/atomic"
	"time"
)

// RenewedLate ends the trust of a lease, and then answers a renewal of it before
// the keeper's timer has noticed.
func (s *Lease[R]) RenewedLate() {
	s.trust.Store(min(s.trust.Load(), s.keeper.Now()))
	s.Renewed(Renewal{Alive: true, Left: s.ttl}, time.Now())
}

// Suspended returns for how many nanoseconds the machine was suspended since, to be
// set: the wall clock went on meanwhile, the monotonic one did not.
func (k *Keeper[R]) Suspended() *atomic.Int64 {
	var slept atomic.Int64
	wall := k.cfg.Wall
	k.cfg.Wall = func() int64 { return wall() + slept.Load() }
	return &slept
}

// GrantedAhead lets the wall clock have been ahead by so much when the lease was granted.
func (s *Lease[R]) GrantedAhead(by time.Duration) { s.wall.Add(int64(by)) }

// TrustEnded lets the trust have ended a while ago, before the keeper's timer has noticed.
func (s *Lease[R]) TrustEnded(ago time.Duration) {
	s.trust.Store(s.keeper.Now() - int64(ago))
}

// FloorsKept is half of how many keys a FenceFloors has at most.
const FloorsKept = floorsKept

func (f *FenceFloors) Len() int { return len(f.young) + len(f.old) }
