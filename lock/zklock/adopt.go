package zklock

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/taken"
)

// Adopt gives a key from one owner to another, which may be of another session: the new
// owner's node takes the number of the old one, in one step that removes that. So its
// place in the queue is the same, and no other is first in between.
func (d *Driver) Adopt(ctx context.Context, from driver.LeaseRef, to driver.Acquisition) (driver.Grant, error) {
	return bounded(ctx, d, "adopt", func(c *zk.Conn) (driver.Grant, error) { return d.adopt(ctx, c, &from, &to) }, nil)
}

func (d *Driver) adopt(ctx context.Context, c *zk.Conn, from *driver.LeaseRef, to *driver.Acquisition) (driver.Grant, error) {
	p, g, err := d.seat(c, to)
	defer p.mu.Unlock()
	if err != nil || g.Fence != 0 {
		return g, err
	}
	for range tries {
		if err = ctx.Err(); err != nil {
			break
		}
		if g, err = d.adoptOnce(c, p, from, to); !raced(err) && !errors.Is(err, errMoved) {
			break
		}
		err = errRestless
	}
	if p.node == "" && !p.doubtful && !p.dead {
		d.places.drop(p)
	}
	return g, err
}

func (d *Driver) adoptOnce(c *zk.Conn, p *place, from *driver.LeaseRef, to *driver.Acquisition) (driver.Grant, error) {
	if err := d.catchUp(c, to.Key); err != nil {
		return driver.Grant{}, err
	}
	q, err := d.lookFor(c, p)
	if err != nil {
		return driver.Grant{}, err
	}
	holders, mine, old := q.holders(), q.find(to.Owner), q.find(from.Owner)
	switch {
	case mine >= 0 && mine < holders: // the reply was lost
		return d.confirm(c, p, to, &q, time.Time{})
	case mine >= 0 || old < 0 || old >= holders:
		return driver.Grant{}, driver.ErrLost
	}
	at, err := d.standing(c, d.paths.lock(to.Key)+"/"+q.places[old].name, q.parent)
	switch {
	case errors.Is(err, zk.ErrNoNode) || err == nil && at.Fence != from.Fence:
		return driver.Grant{}, driver.ErrLost
	case err != nil:
		return driver.Grant{}, err
	}
	if err := d.replaceHolder(c, p, to, &q, &q.places[old], at); err != nil {
		return driver.Grant{}, err
	}
	return d.confirm(c, p, to, &q, time.Time{})
}

// replaceHolder puts the node of a locked place where a holder's is. The lock's own node
// is written with it: a waiter that saw the holder's node go would believe else that it
// is first.
func (d *Driver) replaceHolder(c *zk.Conn, p *place, to *driver.Acquisition, q *queue, e *entry, at driver.Holder) error {
	ms, zxid, err := d.stamp(c)
	if err != nil {
		return err
	}
	if err := d.nearEnough(c, to, q, zxid); err != nil {
		return err
	}
	b, err := d.book(c, to.Key)
	if err != nil {
		return err
	}
	owner, _ := unescape(e.owner)
	b.HandOver(ms*1000, taken.Holder{Owner: owner, Fence: at.Fence, Until: ms*1000 + at.Left.Microseconds()})
	keep, err := d.kept(&b)
	if err != nil {
		return err
	}
	parent := d.paths.lock(to.Key)
	node := parent + "/" + placeName(to.Owner, e.limit) + e.name[strings.LastIndexByte(e.name, '#')+1:]
	d.keep(p, time.Now().Add(to.TTL)) // should it not be confirmed
	err = d.within(c, d.paths.taken, func() error {
		_, err := c.Multi(
			&zk.DeleteRequest{Path: parent + "/" + e.name, Version: -1},
			&zk.CreateRequest{Path: node, Data: lease{ttl: to.TTL, waits: true}.data(), Acl: d.options.ACL, Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: parent, Version: -1},
			keep)
		return err
	})
	switch {
	case err == nil:
		p.node = node
		d.sweepBooks(c)
	case !raced(err):
		p.doubtful = true
	}
	return err
}

// nearEnough is doubt if the fence of a grant after zxid would lie more than a day ahead.
func (d *Driver) nearEnough(c *zk.Conn, to *driver.Acquisition, q *queue, zxid int64) error {
	base, err := d.base(c, q.parent)
	if err != nil {
		return err
	}
	last, _, err := d.floor(c, to.Key)
	if err != nil {
		return err
	}
	return driver.CheckFence(max(base+zxid, last+1, to.Fence+1), base+zxid)
}
