package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// A release is a release that a server has not answered yet.
type release struct {
	request
	until time.Time // by then the lease that it would free has ended
}

const (
	maxPending = 1024 // releases kept for one server; older ones are left to their TTL
	minSweep   = 5 * time.Second
)

// sweeps are the pauses between the releases that a silent server gets.
var sweeps = wait.Backoff{First: 20 * time.Millisecond, Longest: 500 * time.Millisecond}

// sweep makes the driver send a release to some servers until they answer, in the background.
func (d *Driver) sweep(to []int, r request, ttl time.Duration) {
	for _, i := range to {
		d.follow(d.nodes[i], release{r, time.Now().Add(max(ttl, minSweep))})
	}
}

// follow makes the driver send a release to one server. For each server at most one goroutine runs.
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

// close ends the sweep, and prevents a new one.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.pending = true, nil
}

// oldest returns the oldest release that is still needed. If there is none, the sweep ends.
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

// work sends the pending releases of a server, with longer pauses while the server is silent. It
// ends when none is pending, or with the Driver.
func (d *Driver) work(n *node) {
	for failed := 0; ; {
		r, ok := n.oldest()
		if !ok {
			return
		}
		if n.send(d.options.NodeTimeout, r) == nil {
			failed = 0
			continue
		}
		d.follow(n, r) // behind the others: a release that this server refuses must not delay them
		failed++
		if wait.Sleep(n.base, sweeps.After(failed)) != nil {
			return
		}
	}
}

func (n *node) send(patience time.Duration, r release) error {
	ctx, stop := context.WithTimeout(n.base, patience)
	defer stop()
	return n.call(ctx, r.request).err
}

// A lease is identified by its key and its owner.
type lease struct{ key, owner string }

// outstanding are the leases whose requests have answers that no caller awaits. Such a request may
// reach its server after the release of the lease. The server remembers only the last release of a
// key: if that is another owner's by then, the server gives the lease for a whole TTL. So the
// release is sent again after the late answer.
type outstanding struct {
	mu  sync.Mutex
	all map[lease]*outstandingLease
}

type outstandingLease struct {
	due   int      // late answers to come
	freed *release // the release, if the lease was released meanwhile
}

// expect adds a number of answers that will come late.
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

// free records that a lease is being released. It must be called before the release is sent to the
// servers: a late answer that comes before that belongs to a request whose lease this release
// frees.
func (s *outstanding) free(l lease, r request, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[l]; one != nil {
		one.freed = &release{request: r, until: time.Now().Add(max(ttl, minSweep))}
	}
}

// answered records a late answer. It returns the release that must be sent after it, or nil.
func (s *outstanding) answered(l lease) *release {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[l]
	if one.due--; one.due == 0 {
		delete(s.all, l)
	}
	return one.freed
}
