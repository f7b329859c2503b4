package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// deferred are the leases that only the majority has that was asked first. A lease that is
// held for longer than restAfter is sent to the other servers, so that it depends on no
// single server; a shorter one costs them nothing.
type deferred struct {
	mu     sync.Mutex
	leases map[lease]*deferredLease
	closed bool
}

type lease struct{ key, owner string }

type deferredLease struct {
	fence int64
	nodes servers
	timer *time.Timer
}

// add calls send after some time, unless the lease is taken before.
func (u *deferred) add(l lease, fence int64, nodes servers, after time.Duration, send func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	if u.leases == nil {
		u.leases = make(map[lease]*deferredLease)
	}
	one := &deferredLease{fence: fence, nodes: nodes}
	u.leases[l] = one
	one.timer = time.AfterFunc(after, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.leases[l] == one {
			delete(u.leases, l)
			send()
		}
	})
}

// take returns the nodes that a lease was not sent to, and will not be. A lease with
// another fence than the caller's is left as it is.
func (u *deferred) take(h *driver.LeaseRef) servers {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := lease{h.Key, h.Owner}
	one := u.leases[l]
	if one == nil || h.Fence != 0 && h.Fence != one.fence {
		return 0
	}
	delete(u.leases, l)
	one.timer.Stop()
	return one.nodes
}

// close lets no lease be sent any more.
func (u *deferred) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for l, one := range u.leases {
		one.timer.Stop()
		delete(u.leases, l)
	}
}

// sendRest sends a grant, later, to the nodes that were not asked. If the grant repeats an
// earlier one, some of these nodes may have it: then it is sent at once, and a release asks
// them as well.
func (d *Driver) sendRest(a *driver.Acquisition, attempt, fence int64, b ballot) {
	d.deferred.take(&driver.LeaseRef{Key: a.Key, Owner: a.Owner})
	rest := b.notAsked()
	if rest == 0 {
		return
	}
	key, owner, ttl := a.Key, a.Owner, a.TTL
	send := func() {
		q := question{first: rest, gives: lease{key, owner}}
		d.begin(context.Background(), d.patience(ttl), d.give(putScript, key, owner, attempt, ttl, fence), q).end() // its answers are not waited for
	}
	if b.left() < ttl.Truncate(time.Millisecond) {
		send()
		return
	}
	d.deferred.add(lease{key, owner}, fence, rest, d.rest, send)
}
