package redlock

import (
	"sync"
	"time"
)

// strays are the leases of which requests that give them are under way though
// nobody waits for their answers. One may arrive when the lease has been released,
// at a server that has forgotten so, since it was another owner's that was given
// back there last. It would be given for its whole TTL: a release follows it.
type strays struct {
	mu  sync.Mutex
	all map[lease]*stray
}

type stray struct {
	due   int      // answers to come
	freed *release // if it was released meanwhile
}

// expect tells that so many answers will come late.
func (s *strays) expect(l lease, due int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[lease]*stray)
	}
	one := s.all[l]
	if one == nil {
		one = new(stray)
		s.all[l] = one
	}
	one.due += due
}

// free tells that a lease is being released. It is called before the servers are
// asked: what landed before that is freed by these.
func (s *strays) free(l lease, r request, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[l]; one != nil {
		one.freed = &release{request: r, until: time.Now().Add(max(ttl, minSweep))}
	}
}

// landed takes note of a late answer. It returns the release that is to follow, or
// nil.
func (s *strays) landed(l lease) *release {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[l]
	if one.due--; one.due == 0 {
		delete(s.all, l)
	}
	return one.freed
}
