package memlock

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

// A lease is a plain lease. The store keeps nothing of a key that is free: one
// counter for all keys makes their fences grow.
type lease struct {
	owner string
	fence int64
	until time.Time
	next  *place // not nil: only kept for the owner of this place, who has not taken it yet
}

// Acquire asks for a key once.
func (s *Store) Acquire(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := lock.CheckAcquisition(&a); err != nil {
		return lock.Grant{}, err
	}
	if err := doubt(ctx, "acquire", a.Key); err != nil {
		return lock.Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ask(&a)
}

// ask grants a key that is free and that nobody waits for, or that is kept for
// the asker.
func (s *Store) ask(a *lock.Acquisition) (lock.Grant, error) {
	now := s.now()
	held := s.leases[a.Key]
	left := held.until.Sub(now)
	if left <= 0 && !a.Barge && s.pass(now, a.Key) {
		held, left = s.leases[a.Key], reserved
	}
	switch {
	case left <= 0:
		return s.grant(now, a), nil
	case held.owner == a.Owner && held.next == nil:
		return lock.Grant{Fence: held.fence, Left: left}, nil
	case held.owner == a.Owner:
		return s.grant(now, a), nil
	case a.Barge && held.next != nil:
		s.queues[a.Key] = slices.Insert(s.queues[a.Key], 0, held.next)
		return s.grant(now, a), nil
	}
	return lock.Grant{}, &lock.HeldError{Key: a.Key, Left: left}
}

func (s *Store) grant(now time.Time, a *lock.Acquisition) lock.Grant {
	s.makeRoom(now)
	s.granted = max(s.granted+1, now.UnixMicro(), a.Fence+1)
	s.leases[a.Key] = lease{owner: a.Owner, fence: s.granted, until: now.Add(a.TTL)}
	return lock.Grant{Fence: s.granted, Left: a.TTL}
}

// makeRoom drops the leases that nobody released, each time their number has
// doubled.
func (s *Store) makeRoom(now time.Time) {
	if s.leases == nil {
		s.leases = make(map[string]lease)
	}
	if len(s.leases) < max(s.sweepAt, minSweep) {
		return
	}
	maps.DeleteFunc(s.leases, func(_ string, l lease) bool { return !now.Before(l.until) })
	s.sweepAt = 2 * len(s.leases)
}

const minSweep = 1000

// Renew moves the deadline of a lease that is alive to now + TTL.
func (s *Store) Renew(ctx context.Context, h lock.Holding) (lock.Grant, error) {
	if err := lock.CheckHolding(&h); err != nil {
		return lock.Grant{}, err
	}
	if err := doubt(ctx, "renew", h.Key); err != nil {
		return lock.Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	held := s.leases[h.Key]
	if held.owner != h.Owner || held.fence != h.Fence || held.next != nil || !now.Before(held.until) {
		return lock.Grant{}, lock.ErrLost
	}
	held.until = now.Add(h.TTL)
	s.leases[h.Key] = held
	return lock.Grant{Fence: h.Fence, Left: h.TTL}, nil
}

// Release frees a key.
func (s *Store) Release(ctx context.Context, h lock.Holding) error {
	if err := lock.CheckRelease(&h); err != nil {
		return err
	}
	if err := doubt(ctx, "release", h.Key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release(&h)
}

func (s *Store) release(h *lock.Holding) error {
	now := s.now()
	held, found := s.leases[h.Key]
	switch {
	case !found || !now.Before(held.until):
		return nil
	case held.owner != h.Owner || h.Fence != 0 && held.fence != h.Fence:
		return lock.ErrLost
	}
	if !s.pass(now, h.Key) {
		delete(s.leases, h.Key)
	}
	return nil
}
