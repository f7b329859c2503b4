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

// A lease is what the node of a place keeps: how long it was granted for, and its
// fence if that is not the natural one of its last write.
type lease struct {
	ttl   time.Duration
	fence int64
	waits bool // its owner has not taken the key yet
}

func (l lease) data() []byte {
	return fmt.Appendf(nil, "1|%d|%d|%t", l.ttl.Milliseconds(), l.fence, l.waits)
}

// readLease reads the data of a node. Of another format it is a lease of no time.
func readLease(data []byte) lease {
	parts := strings.Split(string(data), "|")
	if len(parts) != 4 || parts[0] != "1" {
		return lease{}
	}
	ttl, _ := strconv.ParseInt(parts[1], 10, 64)
	fence, _ := strconv.ParseInt(parts[2], 10, 64)
	return lease{ttl: time.Duration(max(ttl, 0)) * time.Millisecond, fence: max(fence, 0), waits: parts[3] == "true"}
}

// errMoved means that our node is gone, or was another session's, or that the queue is
// not what it was: look again.
var errMoved = errors.New("the queue has changed")

// confirm grants the key to a place that stands among its holders. Created is
// when its node was sent, if that was just now; else, and if others came or went
// since, the node is written: the fence is the zxid of the write that took the
// key, so it is higher than of any that took it before, and the write shows that
// the session is alive now. The node must still be there, and be this session's:
// one of a session that ended is removed before long.
func (d *Driver) confirm(c *zk.Conn, p *place, a *driver.Acquisition, q *queue, created time.Time) (driver.Grant, error) {
	sent, session := created, c.SessionID()
	stat, err := d.untouched(c, p, q, created)
	if stat == nil && err == nil {
		sent = time.Now()
		stat, err = c.Set(p.node, lease{ttl: a.TTL}.data(), -1)
	}
	switch {
	case errors.Is(err, zk.ErrBadVersion): // of the lock's node
		return driver.Grant{}, errMoved
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
	d.clock.saw(stat.Mtime)
	fence, err := d.fence(c, p, a, q, stat.Mzxid)
	if err != nil {
		return driver.Grant{}, err
	}
	p.fence = fence
	d.keep(p, sent.Add(a.TTL))
	return driver.Grant{Fence: p.fence, Left: min(a.TTL, d.session.trust()), Asked: sent}, nil
}

// untouched returns the node of a place that was created just now, alone, and
// with no other coming or going since; nil if that is not so.
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

// fence is that of a grant that took the key at a zxid: the natural one, unless
// the asker or the key has seen a higher one, as after the store forgot.
func (d *Driver) fence(c *zk.Conn, p *place, a *driver.Acquisition, q *queue, zxid int64) (int64, error) {
	base, err := d.base(c, q.parent)
	if err != nil {
		return 0, err
	}
	floor := q.floor
	if !floor && len(q.places) != 1 { // an owner that holds the key beside us, or held it before, may have made one
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

// raise grants a fence above the natural one and remembers it, in one step, so
// that the next is higher. What was remembered and is below the natural fence
// will never be needed again. Natural fences are the clock here: one that would lie more
// than a day, in µs, above is doubt.
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

// floor is the fence above the natural ones that a key remembers, and its node; nil: it
// has none.
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

// bases remembers what natural fences are counted from.
type bases struct {
	mu      sync.Mutex
	base    int64
	asOf    int64 // the youngest lock it was seen to hold for
	session int64 // by which it was read
}

// base is when the node above all locks was made, in µs: a zxid on top of it
// grows with every grant, and starts again higher when the store forgets, as long
// as it makes fewer than a million changes in a second. A lock that is older than
// our last look at that node shows that it is still the same, while the session is:
// no session lives on in an ensemble that was set up anew, where zxids begin low again.
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
