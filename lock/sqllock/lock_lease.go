package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A lease is the row of a key, as it was read at one instant.
type lease struct {
	owner   string
	fence   int64 // the last fence that was granted
	until   int64 // µs
	place   int64 // not 0: the key is only kept for the owner, which had this place
	holders string
	now     int64 // the database's clock, µs

	held       []holder // the holders that are alive
	revived    bool     // the key is kept for an owner once more; must be saved
	unanswered []holder // the owners for which the key was kept and that did not take it
}

// fields returns the destinations of the columns of a query for leases.
func (l *lease) fields() []any {
	return []any{&l.owner, &l.fence, &l.until, &l.place, &l.holders, (*instant)(&l.now)}
}

// readLease reads the row of a key without locking it. A key that was never used has no row and is
// free.
func (d *Driver) readLease(ctx context.Context, key string) (l lease, found bool, err error) {
	found, err = withSession(ctx, d, func(s session) (bool, error) {
		return row(s.QueryRowContext(ctx, d.texts.lease, d.ns, key), l.fields()...)
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

// A keyTx is the work of a transaction on the row of a key, which it has locked.
type keyTx struct {
	lease
	ctx     context.Context
	session session
	driver  *Driver
	key     string
	changed bool
	queued  bool     // the first owner in the queue does not fit, as far as the queue was read
	kept    []place  // the places for whose owners this transaction keeps the key
	given   []holder // the owners of this process to which this transaction granted the key
	asked   time.Time
}

// inKeyTx locks the row of a key, which it creates if there is none, calls do, and then writes the
// changes.
func (d *Driver) inKeyTx(ctx context.Context, key string, do func(*keyTx) error) error {
	return d.inKeyTxs(ctx, []string{key}, func(ts map[string]*keyTx) error { return do(ts[key]) })
}

// inKeyTxs does the same for several keys at one instant. It locks the keys in the order of the slice,
// so the slice must be sorted.
func (d *Driver) inKeyTxs(ctx context.Context, keys []string, do func(map[string]*keyTx) error) error {
	done, err := step(ctx, d, func(s session) (map[string]*keyTx, error) {
		asked := time.Now()
		ts := make(map[string]*keyTx, len(keys))
		now := int64(0)
		for _, key := range keys {
			t := &keyTx{ctx: ctx, session: s, driver: d, key: key, asked: asked}
			if err := t.lock(); err != nil {
				return nil, err
			}
			ts[key], now = t, max(now, t.now)
		}
		for _, t := range ts {
			t.now = now
			if err := t.begin(); err != nil {
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
		}
		return ts, nil
	})
	for _, t := range done {
		t.deliver()
	}
	return err
}

// deliver wakes the owners of this process that this transaction has served.
func (t *keyTx) deliver() {
	for _, h := range t.given {
		t.driver.give(t.ctx, t.key, h.Owner, driver.Grant{Fence: h.Fence, Left: t.left(&h), Asked: t.asked})
	}
	for _, p := range t.kept {
		t.driver.waiters.wake(p.owner)
	}
}

// begin reads the row, and restores the places of owners that did not take the key. They are passed
// over until they give a sign of life; then they are first again. begin also requests a sign of
// life from the owners behind them: owners that died together are found together.
func (t *keyTx) begin() error {
	if err := t.read(t.key); err != nil {
		return err
	}
	t.changed = t.revived
	last := int64(0)
	for _, h := range t.unanswered {
		if err := t.restore(&h, micros(silence)-t.now); err != nil {
			return err
		}
		last, t.changed = max(last, h.number()), true
	}
	if last == 0 {
		return nil
	}
	return t.challenge(last + mostProbed)
}

func (t *keyTx) lock() error {
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
func (t *keyTx) exec(text string, args ...any) (int64, error) {
	return exec(t.ctx, t.session, text, append([]any{t.driver.ns, t.key}, args...)...)
}

func (t *keyTx) save() error {
	if !t.changed {
		return nil
	}
	if err := t.write(); err != nil {
		return err
	}
	for _, p := range t.kept {
		if err := t.notify(&p); err != nil {
			return err
		}
	}
	_, err := exec(t.ctx, t.session, t.driver.texts.save, t.owner, t.fence, t.until, t.place, t.holders,
		t.now/micros(day), t.driver.ns, t.key)
	return err
}
