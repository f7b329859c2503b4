package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// untold are leases that only the majority knows of that was asked first. The
// others are told of a lease that is held for longer than restAfter, so that it
// depends on no single server, and have no work with one that is shorter.
type untold struct {
	mu     sync.Mutex
	leases map[lease]*untoldLease
	closed bool
}

type lease struct{ key, owner string }

type untoldLease struct {
	fence int64
	nodes servers
	timer *time.Timer
}

// add calls tell after some time, unless the lease is taken before.
func (u *untold) add(l lease, fence int64, nodes servers, after time.Duration, tell func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	if u.leases == nil {
		u.leases = make(map[lease]*untoldLease)
	}
	one := &untoldLease{fence: fence, nodes: nodes}
	u.leases[l] = one
	one.timer = time.AfterFunc(after, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.leases[l] == one {
			delete(u.leases, l)
			tell()
		}
	})
}

// take returns the nodes that have heard nothing of a lease, and will not: what
// has another fence than the caller thinks is left as it is.
func (u *untold) take(h *driver.LeaseRef) servers {
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

// close lets nobody be told any more.
func (u *untold) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for l, one := range u.leases {
		one.timer.Stop()
		delete(u.leases, l)
	}
}

// tellRest lets the nodes that were not asked know of a grant, later. If it is a
// grant that these servers gave before, some of those may know of it: then they
// are told at once, and a release asks them as well: also if they were still to be
// told of that grant.
func (d *Driver) tellRest(a *driver.Acquisition, attempt, fence int64, b ballot) {
	d.untold.take(&driver.LeaseRef{Key: a.Key, Owner: a.Owner})
	rest := b.notAsked()
	if rest == 0 {
		return
	}
	key, owner, ttl := a.Key, a.Owner, a.TTL
	tell := func() {
		q := question{first: rest, gives: lease{key, owner}}
		d.begin(context.Background(), d.patience(ttl), d.give(putScript, key, owner, attempt, ttl, fence), q).end() // nobody waits
	}
	if b.left() < ttl.Truncate(time.Millisecond) {
		tell()
		return
	}
	d.untold.add(lease{key, owner}, fence, rest, d.rest, tell)
}
