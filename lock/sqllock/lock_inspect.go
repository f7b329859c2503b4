package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

// Holders returns the owners that hold a key, with one statement.
func (d *Driver) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	l, _, err := d.readLease(ctx, key)
	if err != nil {
		return nil, failed("holders", err)
	}
	return l.report(), nil
}

// report lists the owners that hold the key, and then the owners for which the key is kept.
func (l *lease) report() []driver.Holder {
	var all, kept []driver.Holder
	for i := range l.held {
		h := &l.held[i]
		one := driver.Holder{Owner: h.Owner, Fence: h.Fence, Left: l.left(h), Limit: max(h.Limit, 1)}
		if h.Place != 0 {
			one.Fence = 0
			kept = append(kept, one)
		} else {
			all = append(all, one)
		}
	}
	return append(all, kept...)
}

// Inspect reads the state of a key, with two statements.
func (d *Driver) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	l, _, err := d.readLease(ctx, key)
	if err != nil {
		return driver.KeyState{}, failed("inspect", err)
	}
	waiting, err := withSession(ctx, d, func(s session) (n int, err error) {
		err = s.QueryRowContext(ctx, d.texts.count, d.ns, key, l.now).Scan(&n)
		return n, err
	})
	if err != nil {
		return driver.KeyState{}, failed("inspect", err)
	}
	at := driver.KeyState{Waiting: waiting}
	if all := l.report(); len(all) > 0 {
		at.Owner, at.Fence, at.Left = all[0].Owner, all[0].Fence, all[0].Left
	}
	return at, nil
}
