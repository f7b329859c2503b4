package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Acquire asks for the key once: with one statement if it is free, and no owner
// waits, and it was used before. An error that is no
// *lock.HeldError is doubt.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := d.acquire(ctx, &a)
	return g, failed("acquire", err)
}

// failed says what failed. Answers need no more words.
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
	return d.ask(ctx, a)
}

// grant is the one statement with which most keys are granted to one owner alone.
// The zero Grant says that there is more to it.
func (d *Driver) grant(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	fence, err := d.yield(ctx, d.texts.grant, a.Owner, micros(a.TTL), a.Fence+1, d.ns, a.Key, a.Owner, a.Fence)
	if fence == 0 || err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{Fence: fence, Left: a.TTL}, nil
}

// acquireNew makes the row of a key that was not used before.
func (d *Driver) acquireNew(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	_, err := ask(ctx, d, func(s session) (int64, error) { return exec(ctx, s, d.texts.insert, d.ns, a.Key) })
	if err != nil {
		return driver.Grant{}, err
	}
	if g, err := d.grant(ctx, a); g.Fence != 0 || err != nil {
		return g, err
	}
	return d.ask(ctx, a)
}

// ask asks with the row locked.
func (d *Driver) ask(ctx context.Context, a *driver.Acquisition) (g driver.Grant, err error) {
	var held error
	err = d.turn(ctx, a.Key, func(t *turn) error {
		granted, err := t.ask(a)
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
		return driver.Grant{}, driver.ErrLost // whether it is known or not
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
	err = d.turn(ctx, h.Key, func(t *turn) error {
		is := t.grantedTo(h.Owner)
		if renewed = is != nil && is.Fence == h.Fence; renewed {
			is.Until, t.changed = t.now+micros(h.TTL), true
		}
		return nil
	})
	return renewed, err
}

// Release frees the key, with one statement if the owner is alone and no other
// waits, or keeps it for the next in its queue.
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
	err = d.turn(ctx, h.Key, func(t *turn) error {
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

// free is the one statement with which most keys are freed. On PostgreSQL it also
// passes the key to the next in its queue.
func (d *Driver) free(ctx context.Context, h *driver.LeaseRef) (freed bool, err error) {
	least, most := h.Fence, h.Fence
	if h.Fence == 0 { // whatever was granted
		most = driver.MaxNumber
	}
	if d.texts.handOver != "" {
		return d.handOver(ctx, h, least, most)
	}
	n, err := ask(ctx, d, func(s session) (int64, error) {
		return exec(ctx, s, d.texts.free, d.ns, h.Key, h.Owner, least, most)
	})
	return n > 0, err
}

func (d *Driver) handOver(ctx context.Context, h *driver.LeaseRef, least, most int64) (freed bool, err error) {
	var next string
	var here bool
	var g driver.Grant
	freed, err = ask(ctx, d, func(s session) (bool, error) {
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
	default: // the party may not be known
		d.waiters.wake(next)
	}
	return freed, err
}

// released reports whether there is nothing to release, and what the answer is
// then. What is kept for an owner has no fence yet. A row whose last fence was this
// owner's, and that names no owner, was freed by this one.
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
