package redlock

import (
	"context"
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

// A lateLease is a lease whose requests one server has not answered yet, and whose callers no longer
// await the answers. Such a request may reach its server after the release of the lease. The server
// remembers only the last release of a key: if that is another owner's by then, the server gives the
// lease for a whole TTL. So the server gets the release after those answers.
type lateLease struct {
	due  int           // answers to come
	none chan struct{} // closed when due is 0
}

// expect adds an answer that will come late.
func (n *node) expect(l lease) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.late == nil {
		n.late = make(map[lease]*lateLease)
	}
	if n.late[l] == nil {
		n.late[l] = &lateLease{none: make(chan struct{})}
	}
	n.late[l].due++
}

// answered records a late answer, or that it can no longer come.
func (n *node) answered(l lease) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.late[l]
	if one.due--; one.due == 0 {
		close(one.none)
		delete(n.late, l)
	}
}

// settled returns nil when no late answer about a lease is to come.
func (n *node) settled(ctx context.Context, l lease) error {
	n.mu.Lock()
	one := n.late[l]
	n.mu.Unlock()
	if one == nil {
		return nil
	}
	select {
	case <-one.none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
