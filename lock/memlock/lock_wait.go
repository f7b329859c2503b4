package memlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Wait implements [driver.Waiter]. A release reserves the key for the first in the queue, for 2
// seconds, and wakes it, and does the same for as many others as fit. If an owner does not take the
// key by then, the next in the queue gets it.
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

// sleep returns when the place is woken, or when it is time to try again.
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

// askInLine requests the key, and takes a place if the key is held. An owner that has a place keeps
// it.
func (s *Store) askInLine(a *driver.Acquisition, p *place) (driver.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.asked = s.now()
	g, err := s.acquire(a)
	if err == nil || s.find(a.Key, a.Owner) >= 0 {
		return g, err
	}
	if s.queues == nil {
		s.queues = make(map[string][]*place)
	}
	s.queues[a.Key] = append(s.queues[a.Key], p)
	return g, err
}

// leave gives up a place, and the key if it was granted to the owner or is reserved for it.
func (s *Store) leave(a *driver.Acquisition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(a.Key, a.Owner); i >= 0 {
		s.setQueue(a.Key, slices.Delete(s.queues[a.Key], i, i+1))
	}
	_ = s.release(&driver.LeaseRef{Key: a.Key, Owner: a.Owner}) // the lease of another owner stays
	s.serve(s.now(), a.Key)
}
