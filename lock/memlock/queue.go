package memlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A place is one waiter's in the queue for a key.
type place struct {
	owner  string
	limit  int
	looked time.Time     // when its owner last asked
	woken  chan struct{} // holds one wake-up
}

const (
	reserved = 2 * time.Second // how long a key is kept for its next owner
	relook   = time.Second     // how long a waiter at most waits to look for itself
	absent   = 5 * time.Second // how long the first in a queue keeps others waiting without a look
)

// Wait takes a place in the queue and returns when the key was granted. A
// release keeps the key for the first in the queue, for 2 seconds, and wakes it,
// and so on for as many as fit; if one does not take the key by then, the next in
// the queue gets it.
func (s *Store) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Barge = false
	p := newPlace(&a)
	var err error
	for ctx.Err() == nil {
		asked := time.Now()
		var g driver.Grant
		if g, err = s.askInLine(&a, p); err == nil {
			g.Asked = asked
			return g, nil
		}
		a.NoteRefusal(err)
		p.sleep(ctx, err)
	}
	s.leave(&a)
	if err == nil {
		return driver.Grant{}, fmt.Errorf("lock: wait for %q: %w", a.Key, ctx.Err())
	}
	return driver.Grant{}, fmt.Errorf("lock: wait for %q: %w: %w", a.Key, ctx.Err(), err)
}

func newPlace(a *driver.Acquisition) *place {
	return &place{owner: a.Owner, limit: a.Limit, woken: make(chan struct{}, 1)}
}

// sleep returns when the place is woken, or it is time to look.
func (p *place) sleep(ctx context.Context, err error) {
	wait := relook
	if held, ok := errors.AsType[*driver.HeldError](err); ok {
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
func (s *Store) askInLine(a *driver.Acquisition, p *place) (driver.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.looked = s.now()
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
func (s *Store) leave(a *driver.Acquisition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(a.Key, a.Owner); i >= 0 {
		s.setQueue(a.Key, slices.Delete(s.queues[a.Key], i, i+1))
	}
	_ = s.release(&driver.LeaseRef{Key: a.Key, Owner: a.Owner}) // another owner's stays
	s.serve(s.now(), a.Key)
}

// serve keeps a key for the first in its queue as long as it fits beside the
// holders. One that does not, and that nobody has heard of for long, loses its
// place: others may fit.
func (s *Store) serve(now time.Time, key string) {
	for len(s.queues[key]) > 0 {
		p := s.queues[key][0]
		switch {
		case fits(s.alive(now, key), p.limit):
			s.setQueue(key, s.queues[key][1:])
			s.put(now, key, lease{owner: p.owner, until: now.Add(reserved), limit: p.limit, next: p})
			p.wake()
		case now.Sub(p.looked) > absent:
			s.setQueue(key, s.queues[key][1:])
		default:
			return
		}
	}
}

func (p *place) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // it is awake
	}
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
func (s *Store) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	if err := doubt(ctx, "inspect", key); err != nil {
		return driver.KeyState{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := driver.KeyState{Waiting: len(s.queues[key])}
	if all := s.holders(key); len(all) > 0 {
		at.Owner, at.Fence, at.Left = all[0].Owner, all[0].Fence, all[0].Left
	}
	return at, nil
}

// Holders tells who holds a key.
func (s *Store) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	if err := doubt(ctx, "look at the holders of", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holders(key), nil
}

// holders lists those that hold the key, and then those for whom it is kept.
func (s *Store) holders(key string) []driver.Holder {
	now := s.now()
	var all, kept []driver.Holder
	for _, l := range s.alive(now, key) {
		h := driver.Holder{Owner: l.owner, Fence: l.fence, Left: l.until.Sub(now), Limit: max(l.limit, 1)}
		if l.next != nil {
			kept = append(kept, h)
		} else {
			all = append(all, h)
		}
	}
	return append(all, kept...)
}
