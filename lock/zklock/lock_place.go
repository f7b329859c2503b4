package zklock

import (
	"sync"
	"sync/atomic"
	"time"
)

// A place is what this Driver knows about one of its owners: a node in the queue of a lock, granted
// or not. Only the session that created the node can hold the lease.
type place struct {
	key, owner string
	until      atomic.Pointer[time.Time] // when the node must be removed; nil: its owner waits

	mu       sync.Mutex // held during requests about the place; a goroutine that holds it waits for no other place
	node     string     // its path; empty: none, or not known
	doubtful bool       // a reply was lost: there may be nodes that the Driver does not know
	leaving  bool       // the removal was sent
	released bool       // the owner requested the removal
	fence    int64      // the fence of the grant; 0: none
	timer    *time.Timer
	retry    time.Duration // the pause after the last try to remove the node failed
	dead     bool          // removed, and no longer in the list
}

// over reports whether the time of a place has passed. It needs no lock.
func (p *place) over() bool {
	until := p.until.Load()
	return until != nil && !time.Now().Before(*until)
}

// granted reports whether the place has the key.
func (p *place) granted() bool { return p.fence != 0 && !p.leaving && !p.over() }

// places are the places of a Driver.
type places struct {
	mu  sync.Mutex
	all map[placeID]*place
}

type placeID struct{ key, owner string }

// get returns the place of an owner, locked. It creates the place if there is none.
func (s *places) get(key, owner string) *place {
	for {
		p := s.put(placeID{key, owner})
		p.mu.Lock()
		if !p.dead {
			return p
		}
		p.mu.Unlock()
	}
}

func (s *places) put(id placeID) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[id]
	if p == nil {
		p = &place{key: id.key, owner: id.owner}
		if s.all == nil {
			s.all = make(map[placeID]*place)
		}
		s.all[id] = p
	}
	return p
}

// peek returns the place of an owner, not locked, or nil.
func (s *places) peek(key, owner string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[placeID{key, owner}]
}

// find returns the place of an owner, locked, or nil.
func (s *places) find(key, owner string) *place {
	p := s.peek(key, owner)
	if p == nil {
		return nil
	}
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return nil
	}
	return p
}

// drop removes a locked place from the list.
func (s *places) drop(p *place) {
	p.dead = true
	if p.timer != nil {
		p.timer.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, placeID{p.key, p.owner})
}

// close stops the timers: the nodes are gone with the session.
func (s *places) close() {
	s.mu.Lock()
	all := make([]*place, 0, len(s.all))
	for _, p := range s.all {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, p := range all {
		p.mu.Lock()
		if p.timer != nil {
			p.timer.Stop()
		}
		p.mu.Unlock()
	}
}
