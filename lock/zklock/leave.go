package zklock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// The pauses between two tries to remove a node that must go. They begin short: a try that fails because
// the connection was cut has nothing to wait for, since the next one waits for a connection.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// keep grants a locked place until a time; then its node is removed.
func (d *Driver) keep(p *place, until time.Time) {
	p.until.Store(&until)
	d.removeAt(p, until)
}

func (d *Driver) removeAt(p *place, at time.Time) {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(time.Until(at), func() { d.expire(p) })
}

// expire removes the node of a place whose time has passed. It repeats this until the node is gone,
// at the latest with its session.
func (d *Driver) expire(p *place) {
	c, err := d.session.begin()
	if err != nil {
		return
	}
	defer d.session.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch until := p.until.Load(); {
	case p.dead || until == nil:
	case !p.over(): // renewed meanwhile
		d.removeAt(p, *until)
	default:
		_, _ = d.remove(c, p) // remove repeats itself after an error
	}
}

// remove removes the nodes of a locked place and drops the place. It reports whether there was a
// node. After an error it is repeated later.
func (d *Driver) remove(c *zk.Conn, p *place) (found bool, err error) {
	p.leaving = true
	if p.node != "" && !p.doubtful {
		found, err = gone(c.Delete(p.node, -1))
	} else {
		found, err = d.removeAll(c, p.key, p.owner)
	}
	if err != nil {
		now := time.Now()
		p.until.Store(&now)
		p.retry = min(max(2*p.retry, firstRetry), lastRetry)
		d.removeAt(p, now.Add(p.retry))
		return false, err
	}
	if p.doubtful {
		d.sweepLater(p.key, p.owner)
	}
	d.places.drop(p)
	return found, nil
}

// sweepLater calls sweep when a request on a connection that was cut can no longer create a node: it may
// arrive after requests on the next connection.
func (d *Driver) sweepLater(key, owner string) {
	time.AfterFunc(2*d.session.trust(), func() { d.sweep(key, owner) })
}

// sweep removes the nodes of an owner that are left. If the owner has returned, its own place removes them.
func (d *Driver) sweep(key, owner string) {
	c, err := d.session.begin()
	if err != nil {
		return
	}
	defer d.session.end()
	p := d.places.get(key, owner)
	defer p.mu.Unlock()
	if p.node == "" && !p.doubtful {
		_, _ = d.remove(c, p) // remove repeats itself after an error
	}
}

// removeAll removes every node with the owner's name.
func (d *Driver) removeAll(c *zk.Conn, key, owner string) (found bool, err error) {
	q, err := d.queueOf(c, key)
	if err != nil {
		return false, err
	}
	owner = escape(owner)
	for _, e := range q.places {
		if e.owner != owner {
			continue
		}
		was, err := gone(c.Delete(d.paths.lock(key)+"/"+e.name, -1))
		if err != nil {
			return false, err
		}
		found = found || was
	}
	return found, nil
}

// gone interprets the error of a removal: it reports whether there was a node.
func gone(err error) (found bool, _ error) {
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}
