package lock

import (
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// RenewedLate ends the trust of a lease, and then answers a renewal of it before
// the renewer's timer has noticed.
func (s *Lease) RenewedLate() {
	k := &s.locker.renewer
	s.trust.Store(min(s.trust.Load(), k.now()))
	k.renewed(s, renewal{RenewAnswer: series.RenewAnswer{Alive: true, Left: s.ref.TTL}}, time.Now())
}

// Suspended returns for how many nanoseconds the machine was suspended since, to be
// set: the wall clock went on meanwhile, the monotonic one did not.
func (l *Locker) Suspended() *atomic.Int64 {
	var slept atomic.Int64
	l.renewer.wall = func() int64 { return wallClock() + slept.Load() }
	return &slept
}

// GrantedAhead lets the wall clock have been ahead by so much when the lease was granted.
func (s *Lease) GrantedAhead(by time.Duration) { s.wall.Add(int64(by)) }

// TrustEnded lets the trust have ended a while ago, before the renewer's timer has noticed.
func (s *Lease) TrustEnded(ago time.Duration) {
	s.trust.Store(s.locker.renewer.now() - int64(ago))
}

// Floors are the fences of keys that a process remembers.
type Floors struct{ floors }

// FloorsKept is half of how many keys they are of at most.
const FloorsKept = floorsKept

func (f *Floors) Of(key string) int64         { return f.of(key) }
func (f *Floors) Saw(key string, fence int64) { f.saw(key, fence) }
func (f *Floors) Len() int                    { return len(f.young) + len(f.old) }
