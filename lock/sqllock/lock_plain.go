package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Acquire requests the key once. It takes one statement if the key is free, no owner waits, and the
// key was used before. An error that is not a *lock.HeldError is doubt.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := d.acquire(ctx, &a)
	return g, failed("acquire", err)
}

// failed adds the failed operation to an error. Answers are returned unchanged.
func failed(what string, err error) error {
	if _, held := errors.AsType[*driver.HeldError](err); held || err == nil || errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrFree) {
		return err
	}
	return fmt.Errorf("sqllock: %s: %w", what, err)
}

func (d *Driver) acquire(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	if a.Limit <= 1 {
		if g, err := d.grant(ctx, a); g.Fence != 0 || err != nil {
			return g, err
		}
	}
	l, found, err := d.readLease(ctx, a.Key)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case !found && a.Limit <= 1:
		return d.acquireNew(ctx, a)
	}
	if h := l.grantedTo(a.Owner); h != nil {
		return l.grant(h), nil
	}
	if !l.revived && l.find(a.Owner) == nil && !fits(l.held, a.Limit) && !(a.Barge && l.kept()) {
		return driver.Grant{}, l.refusal(a.Key)
	}
	return d.acquireLocked(ctx, a)
}

// grant is the one statement with which most keys are granted to a single owner. It returns the
// zero Grant if the key needs a closer look.
func (d *Driver) grant(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	fence, err := d.yield(ctx, d.texts.grant, a.Owner, micros(a.TTL), a.Fence+1, d.ns, a.Key, a.Owner, a.Fence)
	if fence == 0 || err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{Fence: fence, Left: a.TTL}, nil
}

// acquireNew creates the row of a key that was not used before.
func (d *Driver) acquireNew(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	_, err := withSession(ctx, d, func(s session) (int64, error) { return exec(ctx, s, d.texts.insert, d.ns, a.Key) })
	if err != nil {
		return driver.Grant{}, err
	}
	if g, err := d.grant(ctx, a); g.Fence != 0 || err != nil {
		return g, err
	}
	return d.acquireLocked(ctx, a)
}

// acquireLocked requests the key with its row locked.
func (d *Driver) acquireLocked(ctx context.Context, a *driver.Acquisition) (g driver.Grant, err error) {
	var held error
	err = d.inKeyTx(ctx, a.Key, func(t *keyTx) error {
		granted, err := t.acquire(a)
		if err != nil {
			return err
		}
		if g, held = (driver.Grant{}), t.refusal(a.Key); granted {
			g, held = t.lease.grant(t.grantedTo(a.Owner)), nil
		}
		return nil
	})
	if err != nil {
		return driver.Grant{}, err
	}
	return g, held
}

// Renew moves the deadline to now + TTL, with one statement if the owner is alone.
func (d *Driver) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	renewed, err := d.renew(ctx, &h)
	switch {
	case err != nil:
		return driver.Grant{}, failed("renew", err)
	case !renewed:
		if why := d.why(ctx, &h, driver.ErrLost); errors.Is(why, driver.ErrLost) {
			return driver.Grant{}, why
		}
		return driver.Grant{}, driver.ErrLost // a lease that is not alive is lost, even if the reason is not known
	}
	return driver.Grant{Fence: h.Fence, Left: h.TTL}, nil
}

func (d *Driver) renew(ctx context.Context, h *driver.LeaseRef) (renewed bool, err error) {
	if h.Limit <= 1 {
		until, err := d.yield(ctx, d.texts.renew, micros(h.TTL), d.ns, h.Key, h.Owner, h.Fence)
		if until != 0 || err != nil {
			return until != 0, err
		}
	}
	l, _, err := d.readLease(ctx, h.Key)
	if is := l.grantedTo(h.Owner); err != nil || is == nil || is.Fence != h.Fence {
		return false, err
	}
	err = d.inKeyTx(ctx, h.Key, func(t *keyTx) error {
		is := t.grantedTo(h.Owner)
		if renewed = is != nil && is.Fence == h.Fence; renewed {
			is.Until, t.changed = t.now+micros(h.TTL), true
		}
		return nil
	})
	return renewed, err
}

// Release frees the key, with one statement if the owner holds it alone and no other owner waits.
// Otherwise it keeps the key for the next owner in the queue.
func (d *Driver) Release(ctx context.Context, h driver.LeaseRef) error {
	err := d.release(ctx, &h)
	if err == nil {
		d.sweep()
	}
	return failed("release", err)
}

func (d *Driver) release(ctx context.Context, h *driver.LeaseRef) (err error) {
	if h.Limit <= 1 && (d.texts.handOver != "" || !d.waiters.line(h.Key)) {
		freed, err := d.free(ctx, h)
		if freed || err != nil {
			return err
		}
	}
	var answer error
	var done bool
	if !d.waiters.line(h.Key) {
		l, _, err := d.readLease(ctx, h.Key)
		if err != nil {
			return err
		}
		if answer, done = l.released(h); done {
			return d.freed(ctx, h, answer)
		}
	}
	err = d.inKeyTx(ctx, h.Key, func(t *keyTx) error {
		if answer, done = t.released(h); done {
			return nil
		}
		return t.handOver(h.Owner)
	})
	if err != nil {
		return err
	}
	return d.freed(ctx, h, answer)
}

// free is the one statement with which most keys are freed. On PostgreSQL it also passes the key to
// the next owner in the queue.
func (d *Driver) free(ctx context.Context, h *driver.LeaseRef) (freed bool, err error) {
	least, most := h.Fence, h.Fence
	if h.Fence == 0 { // any fence
		most = driver.MaxNumber
	}
	if d.texts.handOver != "" {
		return d.handOver(ctx, h, least, most)
	}
	n, err := withSession(ctx, d, func(s session) (int64, error) {
		return exec(ctx, s, d.texts.free, d.ns, h.Key, h.Owner, least, most)
	})
	return n > 0, err
}

func (d *Driver) handOver(ctx context.Context, h *driver.LeaseRef, least, most int64) (freed bool, err error) {
	var next string
	var here bool
	var g driver.Grant
	freed, err = withSession(ctx, d, func(s session) (bool, error) {
		g.Asked = time.Now()
		var left int64
		var ignored sql.NullString
		found, err := row(s.QueryRowContext(ctx, d.texts.handOver, d.ns, h.Key, h.Owner, least, most, d.party, micros(reserved), d.listen != nil, d.waiters.next(h.Key, d.inside)),
			&next, &here, &g.Fence, &left, &ignored, &ignored)
		g.Left = time.Duration(left) * time.Microsecond
		return found, err
	})
	switch {
	case err != nil || next == "":
	case here:
		d.give(ctx, h.Key, next, g)
	default: // the process of the next owner may be unknown
		d.waiters.wake(next)
	}
	return freed, err
}

// released reports whether there is nothing to release, and returns the answer for that case. While
// a key is only kept for an owner, the owner has no fence yet. If the last fence of the row was the
// owner's, and the row names no owner, this owner freed the key.
func (l *lease) released(h *driver.LeaseRef) (answer error, done bool) {
	is := l.find(h.Owner)
	switch {
	case len(l.held) == 0 && (h.Fence == 0 || h.Fence == l.fence && l.owner == "" && l.holders == ""):
		return nil, true
	case len(l.held) == 0:
		return driver.ErrForgotten, true
	case is == nil, h.Fence != 0 && (is.Place != 0 || is.Fence != h.Fence):
		return driver.ErrLost, true
	}
	return nil, false
}
