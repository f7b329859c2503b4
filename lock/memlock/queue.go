package memlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

// A place is one waiter's in the queue for a key.
type place struct {
	owner string
	woken chan struct{} // holds one wake-up
}

const (
	reserved = 2 * time.Second // how long a key is kept for its next owner
	relook   = time.Second     // how long a waiter at most waits to look for itself
)

// Wait takes a place in the queue and returns when the key was granted. A
// release keeps the key for the first in the queue, for 2 seconds, and wakes it;
// if it does not take the key by then, the next in the queue gets it.
func (s *Store) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := lock.CheckAcquisition(&a); err != nil {
		return lock.Grant{}, err
	}
	a.Barge = false
	p := &place{owner: a.Owner, woken: make(chan struct{}, 1)}
	var err error
	for ctx.Err() == nil {
		asked := time.Now()
		var g lock.Grant
		if g, err = s.askInLine(&a, p); err == nil {
			g.Asked = asked
			return g, nil
		}
		p.sleep(ctx, err)
	}
	s.leave(&a)
	if err == nil {
		return lock.Grant{}, fmt.Errorf("lock: wait for %q: %w", a.Key, ctx.Err())
	}
	return lock.Grant{}, fmt.Errorf("lock: wait for %q: %w: %w", a.Key, ctx.Err(), err)
}

// sleep returns when the place is woken, or it is time to look.
func (p *place) sleep(ctx context.Context, err error) {
	wait := relook
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		wait = min(wait, held.Left)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-p.woken:
	case <-t.C:
	case <-ctx.Done():
	}
}

// askInLine asks, and takes a place if the answer is no. Who has one keeps it.
func (s *Store) askInLine(a *lock.Acquisition, p *place) (lock.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.ask(a)
	if err == nil || s.find(a.Key, a.Owner) >= 0 {
		return g, err
	}
	if s.queues == nil {
		s.queues = make(map[string][]*place)
	}
	s.queues[a.Key] = append(s.queues[a.Key], p)
	return g, err
}

// leave gives a place up, and the key if it was granted or is kept for it.
func (s *Store) leave(a *lock.Acquisition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(a.Key, a.Owner); i >= 0 {
		s.setQueue(a.Key, slices.Delete(s.queues[a.Key], i, i+1))
	}
	_ = s.release(&lock.Holding{Key: a.Key, Owner: a.Owner}) // another owner's stays
}

// pass keeps a free key for the first in its queue, and reports whether there is
// one.
func (s *Store) pass(now time.Time, key string) bool {
	q := s.queues[key]
	if len(q) == 0 {
		return false
	}
	s.makeRoom(now)
	p := q[0]
	s.setQueue(key, q[1:])
	s.leases[key] = lease{owner: p.owner, until: now.Add(reserved), next: p}
	select {
	case p.woken <- struct{}{}:
	default: // it is awake
	}
	return true
}

func (s *Store) find(key, owner string) int {
	return slices.IndexFunc(s.queues[key], func(p *place) bool { return p.owner == owner })
}

func (s *Store) setQueue(key string, q []*place) {
	if len(q) == 0 {
		delete(s.queues, key)
		return
	}
	s.queues[key] = q
}

// Inspect looks at a key.
func (s *Store) Inspect(ctx context.Context, key string) (lock.Standing, error) {
	if err := lock.CheckKey(key); err != nil {
		return lock.Standing{}, err
	}
	if err := doubt(ctx, "inspect", key); err != nil {
		return lock.Standing{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := lock.Standing{Waiting: len(s.queues[key])}
	held := s.leases[key]
	if left := held.until.Sub(s.now()); left > 0 {
		at.Owner, at.Fence, at.Left = held.owner, held.fence, left
	}
	return at, nil
}
