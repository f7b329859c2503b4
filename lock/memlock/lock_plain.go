package memlock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A lease is one owner's hold on a key. The store keeps no data of a key that is free, but see
// fences.
type lease struct {
	owner string
	fence int64
	until time.Time
	limit int
	next  *place // not nil: only reserved for the owner of this place, which has not taken it yet
}

// Acquire implements [driver.Driver].
func (s *Store) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if err := doubt(ctx, "acquire", a.Key); err != nil {
		return driver.Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acquire(&a)
}

// acquire grants a key if the owner fits beside its holders and no other waits for it, or if the key is
// reserved for the owner.
func (s *Store) acquire(a *driver.Acquisition) (driver.Grant, error) {
	now := s.now()
	if g, err := s.may(now, a); err != nil || g.Fence != 0 {
		return g, err
	}
	return s.grant(now, a), nil
}

// may returns the grant that the owner has, or the zero Grant if the owner may be granted the key.
func (s *Store) may(now time.Time, a *driver.Acquisition) (driver.Grant, error) {
	held := s.alive(now, a.Key)
	if i := find(held, a.Owner); i >= 0 && held[i].next == nil {
		return driver.Grant{Fence: held[i].fence, Left: held[i].until.Sub(now)}, nil
	}
	if a.Barge {
		s.barge(now, a)
	} else {
		s.serve(now, a.Key)
	}
	held = s.alive(now, a.Key)
	if find(held, a.Owner) >= 0 || fits(held, a.Limit) && (a.Barge || len(s.queues[a.Key]) == 0) {
		if err := driver.CheckFence(s.fences.next(a, now.UnixMicro()), now.UnixMicro()); err != nil {
			return driver.Grant{}, fmt.Errorf("lock: acquire %q: %w", a.Key, err)
		}
		return driver.Grant{}, nil
	}
	return driver.Grant{}, &driver.HeldError{Key: a.Key, Left: first(held).Sub(now)}
}

// barge moves the owners for which the key is only reserved back to the queue, if the new owner
// fits without them but not beside them.
func (s *Store) barge(now time.Time, a *driver.Acquisition) {
	held := s.alive(now, a.Key)
	var kept []*place
	rest := make([]lease, 0, len(held))
	for _, l := range held {
		if l.next == nil {
			rest = append(rest, l)
		} else {
			kept = append(kept, l.next)
		}
	}
	if fits(held, a.Limit) || !fits(rest, a.Limit) {
		return
	}
	s.leases[a.Key] = rest
	s.queues[a.Key] = slices.Insert(s.queues[a.Key], 0, kept...)
}

// grant makes the owner a holder.
func (s *Store) grant(now time.Time, a *driver.Acquisition) driver.Grant {
	fence := s.fences.grant(a, now.UnixMicro())
	s.put(now, a.Key, lease{owner: a.Owner, fence: fence, until: now.Add(a.TTL), limit: a.Limit})
	return driver.Grant{Fence: fence, Left: a.TTL}
}

// put adds a lease, and replaces the reservation for its owner.
func (s *Store) put(now time.Time, key string, l lease) {
	s.makeRoom(now)
	held := s.leases[key]
	if i := find(held, l.owner); i >= 0 {
		held = slices.Delete(held, i, i+1)
	}
	s.leases[key] = append(held, l)
}

// alive returns the leases on a key, the earliest first, and deletes those that have expired.
func (s *Store) alive(now time.Time, key string) []lease {
	held := s.leases[key]
	if slices.ContainsFunc(held, func(l lease) bool { return !now.Before(l.until) }) {
		held = slices.DeleteFunc(held, func(l lease) bool { return !now.Before(l.until) })
		s.setLeases(key, held)
	}
	return held
}

func (s *Store) setLeases(key string, held []lease) {
	if len(held) == 0 {
		delete(s.leases, key)
		return
	}
	s.leases[key] = held
}

// makeRoom deletes expired leases that were not released, each time the number of keys has doubled.
func (s *Store) makeRoom(now time.Time) {
	if s.leases == nil {
		s.leases = make(map[string][]lease)
	}
	if len(s.leases) < max(s.sweepAt, minSweep) {
		return
	}
	maps.DeleteFunc(s.leases, func(key string, _ []lease) bool { return len(s.alive(now, key)) == 0 })
	s.sweepAt = 2 * len(s.leases)
}

const minSweep = 1000

// find returns the index of the owner among the holders, or -1.
func find(held []lease, owner string) int {
	return slices.IndexFunc(held, func(l lease) bool { return l.owner == owner })
}

// fits is the one rule of all locks: the holders, and one more, are no more than the smallest limit
// among them.
func fits(held []lease, limit int) bool {
	for _, l := range held {
		limit = min(limit, l.limit)
	}
	return len(held)+1 <= max(limit, 1)
}

// first returns the earliest deadline.
func first(held []lease) time.Time {
	return slices.MinFunc(held, func(a, b lease) int { return a.until.Compare(b.until) }).until
}

// Renew implements [driver.Driver].
func (s *Store) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	r := s.RenewAll(ctx, []driver.LeaseRef{h})[0]
	return r.Grant, r.Err
}

// RenewAll implements [driver.MultiRenewer]. It renews all leases at one instant.
func (s *Store) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	answers := make([]driver.Renewal, len(hs))
	for i := range hs {
		if answers[i].Err = doubt(ctx, "renew", hs[i].Key); answers[i].Err == nil {
			answers[i].Grant, answers[i].Err = s.renew(now, &hs[i])
		}
	}
	return answers
}

func (s *Store) renew(now time.Time, h *driver.LeaseRef) (driver.Grant, error) {
	held := s.alive(now, h.Key)
	i := find(held, h.Owner)
	if i < 0 || held[i].fence != h.Fence || held[i].next != nil {
		return driver.Grant{}, s.books.why(now, h, driver.ErrLost)
	}
	held[i].until = now.Add(h.TTL)
	return driver.Grant{Fence: h.Fence, Left: h.TTL}, nil
}

// Release implements [driver.Driver].
func (s *Store) Release(ctx context.Context, h driver.LeaseRef) error {
	if err := doubt(ctx, "release", h.Key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release(&h)
}

func (s *Store) release(h *driver.LeaseRef) error {
	now := s.now()
	held := s.alive(now, h.Key)
	i := find(held, h.Owner)
	switch {
	case len(held) == 0 && h.Fence != 0:
		return s.books.why(now, h, driver.ErrForgotten) // the store has no record whether this owner freed it
	case len(held) == 0:
		return nil
	case i < 0 || h.Fence != 0 && (held[i].fence != h.Fence || held[i].next != nil):
		return s.books.why(now, h, driver.ErrLost)
	}
	s.setLeases(h.Key, slices.Delete(held, i, i+1))
	s.serve(now, h.Key)
	return nil
}

// fences makes the fences of plain leases grow. One counter serves all keys: it is never below the
// clock, and continues when the clock steps back. No caller raises it: a fence that a caller has
// seen above the counter concerns one key, and is kept for that key until the counter has passed
// it.
type fences struct {
	last    int64            // the latest fence of the counter
	ahead   map[string]int64 // the last fence of each key whose last fence is above the counter
	sweepAt int              // how many such fences there must be before those that the counter has passed are deleted
}

// next returns the fence of a grant at now, in µs: above the fences of its key and the fence that
// its caller has seen. It grants nothing.
func (f *fences) next(a *driver.Acquisition, now int64) int64 {
	return max(f.last+1, now, f.ahead[a.Key]+1, a.Fence+1)
}

// grant returns the fence of next, and records that it is granted.
func (f *fences) grant(a *driver.Acquisition, now int64) int64 {
	fence := f.next(a, now)
	f.last = max(f.last+1, now)
	if fence == f.last {
		delete(f.ahead, a.Key)
		return fence
	}
	if len(f.ahead) >= max(f.sweepAt, minSweep) {
		maps.DeleteFunc(f.ahead, func(_ string, fence int64) bool { return fence <= f.last })
		f.sweepAt = 2 * len(f.ahead)
	}
	if f.ahead == nil {
		f.ahead = make(map[string]int64)
	}
	f.ahead[a.Key] = fence
	return fence
}
