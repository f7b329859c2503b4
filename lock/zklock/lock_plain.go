package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// Acquire asks for the key once. An error that is no *lock.HeldError is doubt.
//
// Barge is of no use here: the release of a key is the grant to the owner that waits for
// it, so that it is never free while others wait.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return bounded(ctx, d, "acquire", func(c *zk.Conn) (driver.Grant, error) { return d.acquire(ctx, c, &a) }, nil)
}

func (d *Driver) acquire(ctx context.Context, c *zk.Conn, a *driver.Acquisition) (driver.Grant, error) {
	p, g, err := d.seat(c, a)
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

// seat returns the locked place of an owner that asks, with its grant if it has
// one already. What it had and lost is gone.
func (d *Driver) seat(c *zk.Conn, a *driver.Acquisition) (*place, driver.Grant, error) {
	for {
		p := d.places.get(a.Key, a.Owner)
		var err error
		switch {
		case p.granted():
			var g driver.Grant
			if g, err = d.again(c, p, a); !errors.Is(err, driver.ErrLost) {
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

// again answers the owner of a lease that asks a second time: the same lease, for
// no longer.
func (d *Driver) again(c *zk.Conn, p *place, a *driver.Acquisition) (driver.Grant, error) {
	sent := time.Now()
	left := p.until.Load().Sub(sent)
	if err := d.touch(c, p, a.TTL); err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{Fence: p.fence, Left: min(left, d.session.trust()), Asked: sent}, nil
}

// touch writes the node of a lease, which proves that session and node are there,
// and returns ErrLost, and forgets the lease, if they are not.
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
		_, _ = d.remove(c, p) // of a session that has ended: the server does it too
		return driver.ErrLost
	}
	d.clock.saw(stat.Mtime)
	return nil
}

// tries bounds how often a request looks again because the queue has changed.
const tries = 5

var errRestless = errors.New("the queue changes all the time")

// try takes a place if no other has one, and gives it back if others were
// faster.
func (d *Driver) try(ctx context.Context, c *zk.Conn, p *place, a *driver.Acquisition) (driver.Grant, error) {
	var created time.Time
	abreast := false // of the leader, since we asked: what is refused is refused by it
	for range tries {
		if err := ctx.Err(); err != nil {
			return driver.Grant{}, err
		}
		q, err := d.lookFor(c, p)
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
				_, _ = d.remove(c, p) // it tries again by itself
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

// fits reports whether one more, at the end of the queue, would hold the key.
func fits(q *queue, limit int) bool {
	more := queue{places: append(slices.Clip(q.places), entry{limit: max(limit, 1)})}
	return more.holders() == len(more.places)
}

// lookFor looks at the queue of a locked place: it removes what of ours has ended
// but is still there, and nodes of the owner that came from a reply that was lost.
func (d *Driver) lookFor(c *zk.Conn, p *place) (queue, error) {
	q, err := d.look(c, p.key)
	if err != nil {
		return q, err
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
		default:
			return d.ended(c, p.key, owner, &err)
		}
		return false
	})
	if mine == "" {
		p.node = ""
	}
	return q, err
}

// ended reports whether the lease of another owner of this Driver has ended, and
// makes sure then that its node is gone. The caller holds the place of its own
// owner, and the other owner may be looking at that one: so this never waits for a
// second place. One that is busy still stands in the queue; its own request, or its
// timer, removes it.
func (d *Driver) ended(c *zk.Conn, key, owner string, err *error) bool {
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

// create takes a place at the end of a queue as it was seen. What is not granted goes a
// TTL after it was sent; nil: its owner waits.
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

// Renew moves the deadline to now + TTL. A lease lives in the session that
// acquired it: for any other Driver it is lost.
func (d *Driver) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return bounded(ctx, d, "renew", func(c *zk.Conn) (driver.Grant, error) {
		g, err := d.renew(c, &h)
		if errors.Is(err, driver.ErrLost) {
			if why := d.why(c, &h, err); errors.Is(why, driver.ErrLost) {
				err = why // it is lost, whether that is known or not
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

// Release frees the key, which is at once that of the next in its queue.
func (d *Driver) Release(ctx context.Context, h driver.LeaseRef) error {
	_, err := bounded(ctx, d, "release", func(c *zk.Conn) (struct{}, error) {
		err := d.release(c, &h)
		if errors.Is(err, driver.ErrLost) {
			err = d.why(c, &h, err) // doubt about that is doubt: its repeat would be taken for one of a good release
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
		case again: // an earlier request has removed it, or an operator
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

// vanished is the answer to the release of a key that is free, and that may or may
// not have been freed by its owner.
func vanished(h *driver.LeaseRef) error {
	if h.Fence == 0 {
		return nil
	}
	return driver.ErrForgotten
}

// releaseOther frees what another Driver acquired for this owner.
func (d *Driver) releaseOther(c *zk.Conn, h *driver.LeaseRef, q *queue) error {
	i := q.find(h.Owner)
	if i < 0 {
		return driver.ErrLost
	}
	path := d.paths.lock(h.Key) + "/" + q.places[i].name
	at, err := d.standing(c, path, q.parent)
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
