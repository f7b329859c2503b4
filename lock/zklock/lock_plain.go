package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// Acquire requests the key once. An error that is not a *lock.HeldError is doubt.
//
// Barge has no effect: the release of a key is the grant to the next waiter, so the key is never
// free while owners wait.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return bounded(ctx, d, "acquire", func(c *zk.Conn) (driver.Grant, error) { return d.acquire(ctx, c, &a) }, nil)
}

func (d *Driver) acquire(ctx context.Context, c *zk.Conn, a *driver.Acquisition) (driver.Grant, error) {
	p, g, err := d.takePlace(c, a)
	defer p.mu.Unlock()
	if err != nil || g.Fence != 0 {
		return g, err
	}
	g, err = d.try(ctx, c, p, a)
	if p.node == "" && !p.doubtful && !p.dead {
		d.places.drop(p)
	}
	return g, err
}

// takePlace returns the locked place of an owner that requests a key, with its grant if it already has
// one. If the owner had a lease and lost it, takePlace removes the remains first.
func (d *Driver) takePlace(c *zk.Conn, a *driver.Acquisition) (*place, driver.Grant, error) {
	for {
		p := d.places.get(a.Key, a.Owner)
		var err error
		switch {
		case p.granted():
			var g driver.Grant
			if g, err = d.repeated(c, p, a); !errors.Is(err, driver.ErrLost) {
				return p, g, err
			}
		case p.over() || p.leaving:
			if _, err = d.remove(c, p); err != nil {
				return p, driver.Grant{}, err
			}
		default:
			return p, driver.Grant{}, nil
		}
		p.mu.Unlock()
	}
}

// repeated answers the owner of a lease that requests the key a second time: it gets the same lease,
// which is not extended.
func (d *Driver) repeated(c *zk.Conn, p *place, a *driver.Acquisition) (driver.Grant, error) {
	sent := time.Now()
	left := p.until.Load().Sub(sent)
	if err := d.touch(c, p, a.TTL); err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{Fence: p.fence, Left: min(left, d.session.trust()), Asked: sent}, nil
}

// touch writes the node of a lease, which proves that the session and the node still exist. If they
// do not, it drops the lease and returns ErrLost.
func (d *Driver) touch(c *zk.Conn, p *place, ttl time.Duration) error {
	session := c.SessionID()
	stat, err := c.Set(p.node, lease{ttl: ttl, fence: p.fence}.data(), -1)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		d.places.drop(p)
		return driver.ErrLost
	case err != nil:
		return err
	case stat.EphemeralOwner != session || c.SessionID() != session:
		_, _ = d.remove(c, p) // belongs to a session that has ended: the server removes it, too
		return driver.ErrLost
	}
	d.clock.observe(stat.Mtime)
	return nil
}

// tries limits how often a request starts over because the queue has changed.
const tries = 5

var errRestless = errors.New("the queue changes all the time")

// try takes a place if no other owner has one, and gives it back if others were faster.
func (d *Driver) try(ctx context.Context, c *zk.Conn, p *place, a *driver.Acquisition) (driver.Grant, error) {
	var created time.Time
	abreast := false // the server has caught up with the leader since the request began, so a refusal reflects the leader's state
	for range tries {
		if err := ctx.Err(); err != nil {
			return driver.Grant{}, err
		}
		q, err := d.readTidied(c, p)
		if err != nil {
			return driver.Grant{}, err
		}
		holders, i := q.holders(), q.find(p.owner)
		switch {
		case i < 0 && fits(&q, a.Limit):
			created = time.Now()
			abreast, err = true, d.create(c, p, a, &q, &created)
		case i >= 0 && i < holders:
			var g driver.Grant
			if g, err = d.confirm(c, p, a, &q, created); err == nil {
				return g, nil
			}
			if errors.Is(err, driver.ErrFence) {
				_, _ = d.remove(c, p) // remove repeats itself after an error
			}
		case !abreast:
			abreast, err = true, d.catchUp(c, a.Key)
		case i < 0:
			return driver.Grant{}, d.held(c, a.Key, &q)
		default:
			if _, err = d.remove(c, p); err == nil {
				return driver.Grant{}, d.held(c, a.Key, &q)
			}
		}
		if err != nil && !errors.Is(err, errMoved) {
			return driver.Grant{}, err
		}
	}
	return driver.Grant{}, errRestless
}

// fits reports whether one more place, at the end of the queue, would hold the key.
func fits(q *queue, limit int) bool {
	more := queue{places: append(slices.Clip(q.places), entry{limit: max(limit, 1)})}
	return more.holders() == len(more.places)
}

// readTidied reads the queue of a locked place. It removes places of this Driver that have ended but
// still exist, and extra nodes of the owner whose creation replies were lost. A place that has ended
// may have taken the key, or stored a fence, after the read: then readTidied reads the queue again, so
// that no grant is based on a queue that only looks as if no other place came or went.
func (d *Driver) readTidied(c *zk.Conn, p *place) (queue, error) {
	for range tries {
		q, ended, err := d.tidied(c, p)
		if err != nil || !ended {
			return q, err
		}
	}
	return queue{}, errRestless
}

// tidied is one read for lookFor. It reports whether other places had ended.
func (d *Driver) tidied(c *zk.Conn, p *place) (q queue, ended bool, err error) {
	if q, err = d.queueOf(c, p.key); err != nil {
		return q, false, err
	}
	var mine string
	q = q.without(func(e *entry) bool {
		owner, _ := unescape(e.owner)
		path := d.paths.lock(p.key) + "/" + e.name
		switch {
		case err != nil:
		case owner == p.owner && mine == "":
			mine, p.node = e.name, path
		case owner == p.owner:
			_, err = gone(c.Delete(path, -1))
			return true
		case d.leaseEnded(c, p.key, owner, &err):
			ended = true
			return true
		}
		return false
	})
	if mine == "" {
		p.node = ""
	}
	return q, ended, err
}

// leaseEnded reports whether the lease of another owner of this Driver has ended, and if so makes sure
// that its node is gone. The caller holds the place of its own owner, and the other owner may be
// waiting for that place: so leaseEnded never waits for a second place. A place that is busy stays in
// the queue; its own request, or its timer, removes it.
func (d *Driver) leaseEnded(c *zk.Conn, key, owner string, err *error) bool {
	p := d.places.peek(key, owner)
	if p == nil || !p.over() || !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return true
	case !p.over(): // renewed meanwhile
		return false
	}
	_, *err = d.remove(c, p)
	return true
}

// create takes a place at the end of a queue as it was read. A place that is not granted is removed
// one TTL after sent. If sent is nil, its owner waits.
func (d *Driver) create(c *zk.Conn, p *place, a *driver.Acquisition, q *queue, sent *time.Time) error {
	if sent != nil {
		d.keep(p, sent.Add(a.TTL))
	}
	parent := d.paths.lock(a.Key)
	data := lease{ttl: a.TTL, waits: sent == nil}.data()
	if q.parent == 0 { // the first use of the key
		if err := d.contain(c, parent); err != nil {
			return err
		}
	}
	var err error
	for range tries {
		p.node, err = c.Create(parent+"/"+placeName(a.Owner, a.Limit), data, zk.FlagEphemeralSequential, d.options.ACL)
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		if err := d.contain(c, parent); err != nil {
			return err
		}
	}
	if err != nil {
		p.node, p.doubtful = "", true
	}
	return err
}

// Renew moves the deadline to now + TTL. A lease belongs to the session that acquired it: for any
// other Driver it is lost.
func (d *Driver) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return bounded(ctx, d, "renew", func(c *zk.Conn) (driver.Grant, error) {
		g, err := d.renew(c, &h)
		if errors.Is(err, driver.ErrLost) {
			if why := d.why(c, &h, err); errors.Is(why, driver.ErrLost) {
				err = why // the lease is lost, even if the reason is not known
			}
		}
		return g, err
	}, nil)
}

func (d *Driver) renew(c *zk.Conn, h *driver.LeaseRef) (driver.Grant, error) {
	p := d.places.find(h.Key, h.Owner)
	if p == nil {
		return driver.Grant{}, driver.ErrLost
	}
	defer p.mu.Unlock()
	if p.fence != h.Fence || !p.granted() {
		return driver.Grant{}, driver.ErrLost
	}
	sent := time.Now()
	if err := d.touch(c, p, h.TTL); err != nil {
		return driver.Grant{}, err
	}
	d.keep(p, sent.Add(h.TTL))
	return driver.Grant{Fence: p.fence, Left: min(h.TTL, d.session.trust()), Asked: sent}, nil
}

// Release frees the key, and thereby grants it to the next owner in its queue.
func (d *Driver) Release(ctx context.Context, h driver.LeaseRef) error {
	_, err := bounded(ctx, d, "release", func(c *zk.Conn) (struct{}, error) {
		err := d.release(c, &h)
		if errors.Is(err, driver.ErrLost) {
			err = d.why(c, &h, err) // doubt here is doubt about the release: a repeated release would be mistaken for the repetition of a good one
		}
		return struct{}{}, err
	}, nil)
	return err
}

func (d *Driver) release(c *zk.Conn, h *driver.LeaseRef) error {
	if p := d.places.find(h.Key, h.Owner); p != nil {
		defer p.mu.Unlock()
		if p.granted() && h.Fence != 0 && h.Fence != p.fence {
			return driver.ErrLost
		}
		again := p.released
		p.released = true
		switch found, err := d.remove(c, p); {
		case err != nil || found:
			return err
		case again: // an earlier request, or an operator, has removed the node
			return d.why(c, h, nil)
		}
	}
	if err := d.catchUp(c, h.Key); err != nil {
		return err
	}
	q, err := d.queue(c, h.Key)
	switch {
	case err != nil:
		return err
	case len(q.places) == 0:
		return vanished(h)
	}
	return d.releaseOther(c, h, &q)
}

// forgotten reports whether the time of a place of this Driver has passed.
func (d *Driver) forgotten(key string, e *entry) bool {
	owner, _ := unescape(e.owner)
	p := d.places.peek(key, owner)
	return p != nil && p.over()
}

// vanished returns the answer to the release of a key that is free, and that its owner may or may
// not have freed.
func vanished(h *driver.LeaseRef) error {
	if h.Fence == 0 {
		return nil
	}
	return driver.ErrForgotten
}

// releaseOther frees a key that another Driver acquired for this owner.
func (d *Driver) releaseOther(c *zk.Conn, h *driver.LeaseRef, q *queue) error {
	i := q.find(h.Owner)
	if i < 0 {
		return driver.ErrLost
	}
	path := d.paths.lock(h.Key) + "/" + q.places[i].name
	at, err := d.holderAt(c, path, q.parent)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return vanished(h)
	case err != nil:
		return err
	case h.Fence != 0 && h.Fence != at.Fence:
		return driver.ErrLost
	}
	_, err = gone(c.Delete(path, -1))
	return err
}
