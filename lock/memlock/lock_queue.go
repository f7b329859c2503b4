package memlock

import (
	"slices"
	"time"
)

// A place is the place of one waiter in the queue for a key.
type place struct {
	owner string
	limit int
	asked time.Time     // when its owner last sent a request
	woken chan struct{} // holds one wake-up
}

const (
	reserved = 2 * time.Second // how long a key is reserved for its next owner
	relook   = time.Second     // how long a waiter without a wake-up waits before it tries again
	absent   = 5 * time.Second // how long the first in a queue may block the others without a request
)

// serve reserves a key for the first in its queue, and for those behind it, as long as they fit
// beside the holders. An owner that does not fit, and has sent no request for long, loses its
// place: others may fit.
func (s *Store) serve(now time.Time, key string) {
	for len(s.queues[key]) > 0 {
		p := s.queues[key][0]
		switch {
		case fits(s.alive(now, key), p.limit):
			s.setQueue(key, s.queues[key][1:])
			s.put(now, key, lease{owner: p.owner, until: now.Add(reserved), limit: p.limit, next: p})
			p.wake()
		case now.Sub(p.asked) > absent:
			s.setQueue(key, s.queues[key][1:])
		default:
			return
		}
	}
}

func (p *place) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // a wake-up is pending already
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
