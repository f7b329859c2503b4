package zklock

import (
	"sync"
	"sync/atomic"
	"time"
)

// A place is what this Driver knows of one of its owners: a node in the queue of
// a lock, granted or not. Only the session that made the node can hold the lease.
type place struct {
	key, owner string
	until      atomic.Pointer[time.Time] // when the node must go; nil: its owner waits

	mu       sync.Mutex // held while something is asked about the place; its holder waits for no other place
	node     string     // its path; empty: none, or not known
	doubtful bool       // a reply was lost: there may be nodes that we do not know
	leaving  bool       // its removal was sent
	released bool       // because its owner asked for it
	fence    int64      // of the grant; 0: none
	timer    *time.Timer
	dead     bool // removed, and out of the list
}

// over reports whether the time of a place has passed. It needs no lock.
func (p *place) over() bool {
	until := p.until.Load()
	return until != nil && !time.Now().Before(*until)
}

// granted reports whether the place has the key.
func (p *place) granted() bool { return p.fence != 0 && !p.leaving && !p.over() }

// places are those of a Driver.
type places struct {
	mu  sync.Mutex
	all map[placeID]*place
}

type placeID struct{ key, owner string }

// get returns the place of an owner, locked, and makes it if there is none.
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

// peek returns the place of an owner, or nil, not locked.
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

// drop takes a locked place off the list.
func (s *places) drop(p *place) {
	p.dead = true
	if p.timer != nil {
		p.timer.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, placeID{p.key, p.owner})
}

// close stops the timers: the nodes have gone with the session.
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
