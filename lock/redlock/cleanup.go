package redlock

import (
	"context"
	"errors"
	"sync"
	"time"
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

// sweep hands the releases that were not answered to the background: one
// goroutine for each server that does not answer, while there is something to
// undo on it.
func (d *Driver) sweep(r request, ttl time.Duration, b ballot) {
	for i, n := range d.nodes {
		if err := b.answers[i].err; err != nil && !errors.Is(err, errNotAsked) {
			d.sweepNode(n, r, ttl)
		}
	}
}

func (d *Driver) sweepNode(n *node, r request, ttl time.Duration) {
	d.follow(n, release{r, time.Now().Add(max(ttl, minSweep))})
}

// follow has a release sent in the background.
func (d *Driver) follow(n *node, r release) {
	n.add(r, func() {
		d.sweepers.Go(func() { n.sweep(d.options.NodeTimeout) })
	})
}

// add adds a release and starts the sweep unless it runs.
func (n *node) add(r release, start func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if len(n.pending) == maxPending {
		n.pending = n.pending[1:]
	}
	n.pending = append(n.pending, r)
	if !n.running.Swap(true) {
		start()
	}
}

// close makes the sweep end and lets none begin.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.pending = true, nil
}

// take takes the oldest release that is still of use. Without one the sweep ends.
func (n *node) take() (release, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.pending) > 0 {
		r := n.pending[0]
		n.pending = n.pending[1:]
		if time.Now().Before(r.until) {
			return r, true
		}
	}
	n.running.Store(false)
	return release{}, false
}

// sweep works off what is pending, slower while the server is silent.
func (n *node) sweep(patience time.Duration) {
	wait := firstSweep
	for {
		r, ok := n.take()
		if !ok {
			return
		}
		if n.sweepOne(patience, r) {
			wait = firstSweep
			continue
		}
		n.add(r, nil) // behind the others; the sweep is running
		if !sleep(n.base, wait) {
			return
		}
		wait = min(2*wait, maxSweep)
	}
}

func (n *node) sweepOne(patience time.Duration, r release) bool {
	ctx, stop := context.WithTimeout(n.base, patience)
	defer stop()
	return n.ask(ctx, r.request).err == nil
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// outstanding are the leases with requests in flight that grant them and whose answers no
// caller waits for. Such a request may reach a server after the release of the lease, when
// that server keeps the release of another owner only: it would grant the key for a whole
// TTL. So a release follows the answer.
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

// free notes that a lease is being released. Call it before the servers are asked: their
// release frees what reached them earlier.
func (s *outstanding) free(l lease, r request, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[l]; one != nil {
		one.freed = &release{request: r, until: time.Now().Add(max(ttl, minSweep))}
	}
}

// answered notes a late answer. It returns the release that is to follow, or
// nil.
func (s *outstanding) answered(l lease) *release {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[l]
	if one.due--; one.due == 0 {
		delete(s.all, l)
	}
	return one.freed
}
