package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// A release is one that a server has not answered yet.
type release struct {
	request
	until time.Time // what it would free has ended by then
}

const (
	maxPending = 1024 // releases kept for one server; the oldest are left to their TTL
	minSweep   = 5 * time.Second
	firstSweep = 20 * time.Millisecond
	maxSweep   = 500 * time.Millisecond
)

// sweep has some servers sent a release until they answer, in the background.
func (d *Driver) sweep(to []int, r request, ttl time.Duration) {
	for _, i := range to {
		d.follow(d.nodes[i], release{r, time.Now().Add(max(ttl, minSweep))})
	}
}

// follow has one server sent a release. While one goroutine of a server has something to
// send, no second one begins.
func (d *Driver) follow(n *node, r release) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if len(n.pending) == maxPending {
		n.pending = n.pending[1:]
	}
	n.pending = append(n.pending, r)
	if !n.sweeping {
		n.sweeping = true
		d.sweepers.Go(func() { d.work(n) })
	}
}

// close makes the sweep end and lets none begin.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.pending = true, nil
}

// oldest is the oldest release that is still of use. Without one the sweep ends.
func (n *node) oldest() (release, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.pending) > 0 {
		r := n.pending[0]
		n.pending = n.pending[1:]
		if time.Now().Before(r.until) {
			return r, true
		}
	}
	n.sweeping = false
	return release{}, false
}

// work sends what is pending for a server, more slowly while it is silent. It ends when
// nothing is pending, or with the Driver.
func (d *Driver) work(n *node) {
	for pause := firstSweep; ; {
		r, ok := n.oldest()
		if !ok {
			return
		}
		if n.send(d.options.NodeTimeout, r) == nil {
			pause = firstSweep
			continue
		}
		d.follow(n, r) // behind the others: what this server refuses must not keep them waiting
		if wait.Sleep(n.base, pause) != nil {
			return
		}
		pause = min(2*pause, maxSweep)
	}
}

func (n *node) send(patience time.Duration, r release) error {
	ctx, stop := context.WithTimeout(n.base, patience)
	defer stop()
	return n.ask(ctx, r.request).err
}

// A lease names one by its key and its owner.
type lease struct{ key, owner string }

// outstanding are the leases that servers were asked to give, whose answers no caller
// waits for. Such a request may reach its server after the release of the lease, and the
// server remembers only the last release of a key: if that is another owner's by then, it
// gives the key for a whole TTL. So a release follows the late answer.
type outstanding struct {
	mu  sync.Mutex
	all map[lease]*outstandingLease
}

type outstandingLease struct {
	due   int      // answers to come
	freed *release // if it was released meanwhile
}

// expect counts so many answers that will come late.
func (s *outstanding) expect(l lease, due int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[lease]*outstandingLease)
	}
	one := s.all[l]
	if one == nil {
		one = new(outstandingLease)
		s.all[l] = one
	}
	one.due += due
}

// free notes that a lease is being released. It must be called before the servers are
// asked to: a late answer that comes before that is of a request that their release frees.
func (s *outstanding) free(l lease, r request, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[l]; one != nil {
		one.freed = &release{request: r, until: time.Now().Add(max(ttl, minSweep))}
	}
}

// answered notes a late answer. It returns the release that must follow it, or nil.
func (s *outstanding) answered(l lease) *release {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[l]
	if one.due--; one.due == 0 {
		delete(s.all, l)
	}
	return one.freed
}
