package sqllock

import (
	"context"
	"database/sql"
	"errors"
)

// A lease is the row of a key as it was found at one instant.
type lease struct {
	owner   string
	fence   int64 // the last that was granted
	until   int64 // µs
	place   int64 // not 0: only kept for the owner, who had this place
	waiting int64
	ticket  int64
	holders string
	now     int64 // the database's clock, µs

	held []holder // that are alive
}

// fields are where the columns of a query for leases go.
func (l *lease) fields() []any {
	return []any{&l.owner, &l.fence, &l.until, &l.place, &l.waiting, &l.ticket, &l.holders, (*instant)(&l.now)}
}

// look reads the row of a key without locking it. The row of a key that was
// never used is free.
func (d *Driver) look(ctx context.Context, key string) (l lease, found bool, err error) {
	found, err = ask(ctx, d, func(s session) (bool, error) {
		return row(s.QueryRowContext(ctx, d.texts.look, d.ns, key), l.fields()...)
	})
	if err == nil {
		err = l.read(key)
	}
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

// A turn is what a transaction does to the row of a key, which it has locked.
type turn struct {
	lease
	ctx     context.Context
	session session
	driver  *Driver
	key     string
	changed bool
	woken   []string // the owners for whom the key is kept since this turn
}

// turn locks the row of a key, and makes it where there is none, before it does
// something, and then writes what that changed.
func (d *Driver) turn(ctx context.Context, key string, do func(*turn) error) error {
	return d.turns(ctx, []string{key}, func(ts map[string]*turn) error { return do(ts[key]) })
}

// turns does so for several keys at one instant. They are locked in their order,
// so they come sorted.
func (d *Driver) turns(ctx context.Context, keys []string, do func(map[string]*turn) error) error {
	woken, err := step(ctx, d, func(s session) (woken []string, err error) {
		ts := make(map[string]*turn, len(keys))
		now := int64(0)
		for _, key := range keys {
			t := &turn{ctx: ctx, session: s, driver: d, key: key}
			if err := t.lock(); err != nil {
				return nil, err
			}
			ts[key], now = t, max(now, t.now)
		}
		for _, t := range ts {
			t.now = now
			if err := t.read(t.key); err != nil {
				return nil, err
			}
		}
		if err := do(ts); err != nil {
			return nil, err
		}
		for _, key := range keys {
			if err := ts[key].save(); err != nil {
				return nil, err
			}
			woken = append(woken, ts[key].woken...)
		}
		return woken, nil
	})
	for _, owner := range woken {
		d.waiters.wake(owner)
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

func (t *turn) save() error {
	if !t.changed {
		return nil
	}
	if err := t.write(); err != nil {
		return err
	}
	_, err := exec(t.ctx, t.session, t.driver.texts.save, t.owner, t.fence, t.until, t.place, t.waiting, t.ticket, t.holders,
		t.now/micros(day), t.driver.ns, t.key)
	return err
}
