package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/taken"
)

// Adopt gives a key from one owner to another, in one transaction.
func (d *Driver) Adopt(ctx context.Context, from driver.LeaseRef, to driver.Acquisition) (driver.Grant, error) {
	g, err := d.adopt(ctx, &from, &to)
	return g, failed("adopt", err)
}

func (d *Driver) adopt(ctx context.Context, from *driver.LeaseRef, to *driver.Acquisition) (g driver.Grant, err error) {
	l, _, err := d.readLease(ctx, to.Key)
	if err != nil {
		return g, err
	}
	if l.grantedTo(to.Owner) == nil && l.adoptable(from, to) == nil { // a turn would make a row for the key
		return g, driver.ErrLost
	}
	err = d.turn(ctx, to.Key, func(t *turn) (err error) {
		g, err = t.adopt(from, to)
		return err
	})
	return g, err
}

// adoptable returns the lease that may be adopted, or nil.
func (l *lease) adoptable(from *driver.LeaseRef, to *driver.Acquisition) *holder {
	h := l.grantedTo(from.Owner)
	if h == nil || h.Fence != from.Fence || l.find(to.Owner) != nil {
		return nil
	}
	return h
}

// adopt makes another owner the holder in place of one. An error leaves the key as it is.
func (t *turn) adopt(from *driver.LeaseRef, to *driver.Acquisition) (driver.Grant, error) {
	if mine := t.grantedTo(to.Owner); mine != nil {
		return t.lease.grant(mine), nil
	}
	old := t.adoptable(from, to)
	if old == nil {
		return driver.Grant{}, driver.ErrLost
	}
	was, next := taken.Holder{Owner: old.Owner, Fence: old.Fence, Until: old.Until}, *to
	next.Limit = old.Limit
	g, err := t.grant(&next)
	if err != nil {
		return driver.Grant{}, err
	}
	t.remove(from.Owner)
	b, err := t.book()
	if err != nil {
		return driver.Grant{}, err
	}
	b.HandOver(t.now, was)
	return g, t.keep(b)
}
