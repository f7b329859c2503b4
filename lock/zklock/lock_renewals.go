package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// maxTogether is how many leases one transaction renews.
const maxTogether = 200

// RenewAll moves the deadlines of leases to now + TTL, up to 200 in one transaction. If one of the
// leases is lost, the transaction is rolled back, and each of its leases is renewed alone.
func (d *Driver) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	answers := make([]driver.Renewal, 0, len(hs))
	for some := range slices.Chunk(hs, maxTogether) {
		grants, err := bounded(ctx, d, "renew", func(c *zk.Conn) ([]driver.Grant, error) { return d.renewTogether(c, some) }, nil)
		for i, h := range some {
			var r driver.Renewal
			switch {
			case err != nil:
				r.Err = err
			case grants[i].Fence != 0:
				r.Grant = grants[i]
			default:
				r.Grant, r.Err = d.Renew(ctx, h)
			}
			answers = append(answers, r)
		}
	}
	return answers
}

// renewTogether renews leases in one transaction. It returns the zero Grant for each lease that
// must be renewed alone: the lease is lost, another request holds its place, or the transaction was
// rolled back because of another lease.
func (d *Driver) renewTogether(c *zk.Conn, hs []driver.LeaseRef) ([]driver.Grant, error) {
	grants := make([]driver.Grant, len(hs))
	var ops []any
	var at []int    // the leases of the transaction
	var of []*place // their places
	for i := range hs {
		h := &hs[i]
		p := d.places.peek(h.Key, h.Owner)
		if p == nil || !p.mu.TryLock() { // a goroutine that holds a place waits for no other place
			continue
		}
		defer p.mu.Unlock()
		if p.dead || p.fence != h.Fence || !p.granted() {
			continue
		}
		at, of = append(at, i), append(of, p)
		ops = append(ops, &zk.SetDataRequest{Path: p.node, Data: lease{ttl: h.TTL, fence: p.fence}.data(), Version: -1})
	}
	if len(ops) == 0 {
		return grants, nil
	}
	sent, session := time.Now(), c.SessionID()
	done, err := c.Multi(ops...)
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
		return grants, nil
	case err != nil:
		return nil, err
	case len(done) != len(ops) || c.SessionID() != session:
		return grants, nil
	}
	for k, i := range at {
		stat := done[k].Stat
		if done[k].Error != nil || stat == nil || stat.EphemeralOwner != session {
			continue
		}
		p := of[k]
		d.clock.observe(stat.Mtime)
		d.keep(p, sent.Add(hs[i].TTL))
		grants[i] = driver.Grant{Fence: p.fence, Left: min(hs[i].TTL, d.session.trust()), Asked: sent}
	}
	return grants, nil
}
