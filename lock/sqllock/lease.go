package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/cronce/cronce/lock"
)

const (
	reserved  = 2 * time.Second  // how long a key is kept for its next owner
	stale     = 10 * time.Second // after so long unseen a place is passed over
	maxPlaces = 1000             // in the queue of one key
	day       = 24 * time.Hour
)

// A lease is the row of a key as it was found at one instant.
type lease struct {
	owner   string
	fence   int64 // the last that was granted
	until   int64 // µs
	place   int64 // not 0: only kept for the owner, who had this place
	waiting int64
	ticket  int64
	now     int64 // the database's clock, µs
}

// fields are where the columns of a query for leases go.
func (l *lease) fields() []any {
	return []any{&l.owner, &l.fence, &l.until, &l.place, &l.waiting, &l.ticket, &l.now}
}

// alive reports whether the key is held, or kept for an owner.
func (l *lease) alive() bool { return l.now < l.until }

func (l *lease) left() time.Duration {
	return time.Duration(max(0, l.until-l.now)) * time.Microsecond
}

// grantedTo reports whether the owner has the key.
func (l *lease) grantedTo(owner string) bool {
	return l.alive() && l.owner == owner && l.place == 0
}

// keptFor reports whether the key waits for the owner to take it.
func (l *lease) keptFor(owner string) bool { return l.alive() && l.owner == owner && l.place != 0 }

func (l *lease) held(key string) error { return &lock.HeldError{Key: key, Left: l.left()} }

// look reads the row of a key without locking it. The row of a key that was
// never used is free.
func (d *Driver) look(ctx context.Context, key string) (l lease, found bool, err error) {
	found, err = again(ctx, func() (bool, error) {
		return row(d.db.QueryRowContext(ctx, d.texts.look, d.ns, key), l.fields()...)
	})
	return l, found, err
}

// row scans a row and reports whether there is one.
func row(r *sql.Row, fields ...any) (found bool, err error) {
	err = r.Scan(fields...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// A turn is one transaction on the row of a key, which it has locked.
type turn struct {
	lease
	ctx     context.Context
	session session
	driver  *Driver
	key     string
	woken   string // the owner for whom the key is kept since this turn
}

// turn locks the row of a key, and makes it where there is none, before it does
// something. It returns whether that succeeded.
func (d *Driver) turn(ctx context.Context, key string, do func(*turn) error) error {
	woken, err := step(ctx, d, func(s session) (string, error) {
		t := turn{ctx: ctx, session: s, driver: d, key: key}
		if err := t.lock(); err != nil {
			return "", err
		}
		err := do(&t)
		return t.woken, err
	})
	if err == nil && woken != "" {
		d.waiters.wake(woken)
	}
	return err
}

func (t *turn) lock() error {
	found, err := row(t.session.QueryRowContext(t.ctx, t.driver.texts.lock, t.driver.ns, t.key), t.fields()...)
	if found || err != nil {
		return err
	}
	if _, err := t.exec(t.driver.texts.insert); err != nil {
		return err
	}
	found, err = row(t.session.QueryRowContext(t.ctx, t.driver.texts.lock, t.driver.ns, t.key), t.fields()...)
	if err == nil && !found {
		err = errors.New("the row of the key went away")
	}
	return err
}

// exec sends a statement whose first arguments are the namespace and the key.
func (t *turn) exec(text string, args ...any) (int64, error) {
	return exec(t.ctx, t.session, text, append([]any{t.driver.ns, t.key}, args...)...)
}

// ask grants a key that is free and that nobody waits for, or that is kept for
// the asker. Barging takes it before those who wait, also if it is kept.
func (t *turn) ask(a *lock.Acquisition) (granted bool, err error) {
	if !t.alive() && !a.Barge {
		if err := t.pass(); err != nil {
			return false, err
		}
	}
	switch {
	case t.grantedTo(a.Owner):
		return true, nil
	case !t.alive(), t.keptFor(a.Owner):
	case a.Barge && t.place != 0:
		if err := t.enter(t.place, t.owner); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	t.owner, t.place = a.Owner, 0
	t.fence = max(t.fence+1, t.now, a.Fence+1)
	t.until = t.now + micros(a.TTL)
	return true, t.save()
}

// pass keeps a free key for the first in its queue who was seen lately. Those
// before it have left without a word.
func (t *turn) pass() error {
	if t.waiting == 0 {
		return nil
	}
	var place int64
	var owner string
	first := t.session.QueryRowContext(t.ctx, t.driver.texts.first, t.driver.ns, t.key, t.now-micros(stale))
	found, err := row(first, &place, &owner)
	if err != nil {
		return err
	}
	if !found {
		t.waiting = 0
		_, err := t.exec(t.driver.texts.clear)
		return errors.Join(err, t.save())
	}
	served, err := t.exec(t.driver.texts.serve, place)
	if err != nil {
		return err
	}
	t.waiting -= served
	t.owner, t.place, t.until, t.woken = owner, place, t.now+micros(reserved), owner
	return t.save()
}

// free gives the key to the next, or to nobody.
func (t *turn) free() error {
	t.owner, t.place, t.until = "", 0, 0
	if t.waiting == 0 {
		return t.save()
	}
	if err := t.pass(); err != nil || t.owner != "" {
		return err
	}
	return t.save()
}

// enter gives an owner a place.
func (t *turn) enter(place int64, owner string) error {
	if _, err := t.exec(t.driver.texts.enter, place, owner, t.now); err != nil {
		return err
	}
	t.waiting++
	t.ticket = max(t.ticket, place)
	return t.save()
}

func (t *turn) save() error {
	_, err := exec(t.ctx, t.session, t.driver.texts.save, t.owner, t.fence, t.until, t.place, t.waiting, t.ticket,
		t.now/micros(day), t.driver.ns, t.key)
	return err
}
