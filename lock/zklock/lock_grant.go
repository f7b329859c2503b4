package zklock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// A lease is the data of the node of a place: the TTL for which it was granted, and its fence if
// that is not the natural one of its last write.
type lease struct {
	ttl   time.Duration
	fence int64
	waits bool // its owner has not taken the key yet
}

func (l lease) data() []byte {
	return fmt.Appendf(nil, "1|%d|%d|%t", l.ttl.Milliseconds(), l.fence, l.waits)
}

// readLease reads the data of a node. Data of another format counts as an expired lease.
func readLease(data []byte) lease {
	parts := strings.Split(string(data), "|")
	if len(parts) != 4 || parts[0] != "1" {
		return lease{}
	}
	ttl, _ := strconv.ParseInt(parts[1], 10, 64)
	fence, _ := strconv.ParseInt(parts[2], 10, 64)
	return lease{ttl: time.Duration(max(ttl, 0)) * time.Millisecond, fence: max(fence, 0), waits: parts[3] == "true"}
}

// errMoved means that our node is gone or belongs to another session, or that the queue has
// changed. The caller must read the queue again.
var errMoved = errors.New("the queue has changed")

// confirm grants the key to a place that is among the holders. created is the time at which the
// creation of its node was sent, if that was just now. If it was not, or if other places came or
// went since, confirm writes the node: the fence is the zxid of the write that took the key, so it
// is higher than the fence of any earlier grant, and the write shows that the session is alive now.
// The node must still exist, and belong to this session: the node of a session that has ended will
// soon be removed.
func (d *Driver) confirm(c *zk.Conn, p *place, a *driver.Acquisition, q *queue, created time.Time) (driver.Grant, error) {
	sent, session := created, c.SessionID()
	stat, err := d.untouched(c, p, q, created)
	if stat == nil && err == nil {
		sent = time.Now()
		stat, err = d.take(c, p, a, q)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		p.node = ""
		return driver.Grant{}, errMoved
	case err != nil:
		return driver.Grant{}, err
	case stat.EphemeralOwner != session || c.SessionID() != session:
		if _, err := gone(c.Delete(p.node, -1)); err != nil {
			return driver.Grant{}, err
		}
		p.node = ""
		return driver.Grant{}, errMoved
	}
	d.clock.observe(stat.Mtime)
	fence, err := d.fence(c, p, a, q, stat.Mzxid)
	if err != nil {
		return driver.Grant{}, err
	}
	p.fence = fence
	d.keep(p, sent.Add(a.TTL))
	return driver.Grant{Fence: p.fence, Left: min(a.TTL, d.session.trust()), Asked: sent}, nil
}

// take writes the node of a place. If its owner is alone, no other owner can store a fence, so take
// learns in the same step whether one is stored: its node cannot be created then. This saves the
// hand-over to a waiter one round trip.
func (d *Driver) take(c *zk.Conn, p *place, a *driver.Acquisition, q *queue) (*zk.Stat, error) {
	data := lease{ttl: a.TTL}.data()
	if q.alone {
		floor := d.paths.lock(a.Key) + "/" + floorName
		done, err := c.Multi(&zk.CreateRequest{Path: floor, Acl: d.options.ACL}, &zk.DeleteRequest{Path: floor, Version: -1},
			&zk.SetDataRequest{Path: p.node, Data: data, Version: -1})
		switch {
		case err == nil:
			return done[2].Stat, nil
		case !errors.Is(err, zk.ErrNodeExists):
			return nil, err
		}
		q.floor = true
	}
	return c.Set(p.node, data, -1)
}

// untouched returns the node of a place that was created just now, if it is the only place and no
// other came or went since. Otherwise it returns nil.
func (d *Driver) untouched(c *zk.Conn, p *place, q *queue, created time.Time) (*zk.Stat, error) {
	if created.IsZero() || len(q.places) > 1 {
		return nil, nil
	}
	_, stat, err := c.Get(p.node)
	if err != nil || stat.Czxid != q.changed || stat.Mzxid != q.changed {
		return nil, err
	}
	return stat, nil
}

// fence returns the fence of a grant that took the key at a zxid: the natural one, unless the owner
// or the key has seen a higher one, as after the store lost its data.
func (d *Driver) fence(c *zk.Conn, p *place, a *driver.Acquisition, q *queue, zxid int64) (int64, error) {
	base, err := d.base(c, q.parent)
	if err != nil {
		return 0, err
	}
	floor := q.floor
	if !floor && !q.alone && len(q.places) != 1 { // an owner that holds the key beside us, or held it before, may have created one
		if floor, _, err = c.Exists(d.paths.lock(a.Key) + "/" + floorName); err != nil {
			return 0, err
		}
	}
	if natural := base + zxid; !floor && natural > a.Fence {
		return natural, nil
	}
	for range tries {
		fence, err := d.raise(c, p, a, base+zxid)
		switch {
		case errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists):
		case errors.Is(err, zk.ErrNoNode):
			return 0, errMoved
		default:
			return fence, err
		}
	}
	return 0, errRestless
}

// raise grants a fence above the natural one and stores it, in one step, so that the next fence is
// higher. A stored fence below the natural one is no longer needed and is removed. Natural fences
// serve as the clock: a fence that would lie more than a day, in µs, above the natural one is
// doubt.
func (d *Driver) raise(c *zk.Conn, p *place, a *driver.Acquisition, natural int64) (int64, error) {
	path := d.paths.lock(a.Key) + "/" + floorName
	last, stat, err := d.floor(c, a.Key)
	if err != nil {
		return 0, err
	}
	known := stat != nil
	fence := max(natural, last+1, a.Fence+1)
	if err := driver.CheckFence(fence, natural); err != nil {
		return 0, err
	}
	if fence == natural {
		if known {
			_, err = gone(c.Delete(path, stat.Version))
		}
		return fence, err
	}
	floor := strconv.AppendInt(nil, fence, 10)
	var remember any = &zk.CreateRequest{Path: path, Data: floor, Acl: d.options.ACL}
	if known {
		remember = &zk.SetDataRequest{Path: path, Data: floor, Version: stat.Version}
	}
	_, err = c.Multi(remember, &zk.SetDataRequest{Path: p.node, Data: lease{ttl: a.TTL, fence: fence}.data(), Version: -1})
	return fence, err
}

// floor returns the stored fence of a key, which is above the natural ones, and its node. The node
// is nil if there is none.
func (d *Driver) floor(c *zk.Conn, key string) (last int64, stat *zk.Stat, err error) {
	path := d.paths.lock(key) + "/" + floorName
	data, stat, err := c.Get(path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, nil, nil
	case err != nil:
		return 0, nil, err
	}
	if last, err = strconv.ParseInt(string(data), 10, 64); err != nil {
		return 0, nil, fmt.Errorf("%s holds %q: %w", path, data, err)
	}
	return last, stat, nil
}

// bases caches the number from which natural fences are counted.
type bases struct {
	mu      sync.Mutex
	base    int64
	asOf    int64 // the newest lock for which it is known to be valid
	session int64 // the session that read it
}

// base returns the time at which the node above all locks was created, in µs. The sum of base and a
// zxid grows with every grant, and is higher again after the store lost its data, as long as the
// store makes fewer than a million changes per second. A lock that is older than our last read of
// that node shows that the node is still the same, while the session is the same: no session
// survives in an ensemble that was set up anew, where zxids begin low again.
func (d *Driver) base(c *zk.Conn, lockZxid int64) (int64, error) {
	session := c.SessionID()
	d.bases.mu.Lock()
	base, asOf, by := d.bases.base, d.bases.asOf, d.bases.session
	d.bases.mu.Unlock()
	if session != 0 && session == by && lockZxid <= asOf {
		return base, nil
	}
	_, stat, err := c.Get(d.paths.locks)
	if err != nil {
		return 0, err
	}
	d.bases.mu.Lock()
	defer d.bases.mu.Unlock()
	if base = stat.Ctime * 1000; base != d.bases.base || lockZxid > d.bases.asOf || session != d.bases.session {
		d.bases.base, d.bases.asOf, d.bases.session = base, lockZxid, session
	}
	return base, nil
}
