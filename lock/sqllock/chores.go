package sqllock

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

const (
	choresEvery = time.Minute
	choresTime  = time.Second
	unused      = time.Hour // after the end of its lease
)

// chores are what is done once in a while beside other requests. The zero value
// is ready.
type chores struct {
	mu   sync.Mutex
	last time.Time
	full atomic.Bool // the journals together are over their bytes
}

// due reports, once in a while, that it is time.
func (c *chores) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.last) < choresEvery {
		return false
	}
	c.last = time.Now()
	return true
}

// sweep removes the rows of keys that nobody has used for a day, some at a time,
// and of nodes that died, and weighs the journals. If it fails there is a next
// time.
func (d *Driver) sweep(ctx context.Context) {
	if !d.chores.due() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, choresTime)
	defer stop()
	_ = d.sweepLeases(ctx)
	_, _ = exec(ctx, d.db, d.texts.dead, d.ns)
	_ = d.weigh(ctx)
}

func (d *Driver) sweepLeases(ctx context.Context) error {
	names, err := d.strings(ctx, d.texts.idle, d.ns)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := d.turn(ctx, name, func(t *turn) error {
			if t.until > t.now-micros(unused) { // it was used meanwhile
				return nil
			}
			if _, err := t.exec(d.texts.clear); err != nil {
				return err
			}
			_, err := t.exec(d.texts.forget)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// weigh finds out whether the journals of the namespace have too many bytes.
func (d *Driver) weigh(ctx context.Context) error {
	var bytes sql.NullInt64
	if err := d.db.QueryRowContext(ctx, d.texts.weigh, d.ns).Scan(&bytes); err != nil {
		return err
	}
	d.chores.full.Store(bytes.Int64 > d.budget)
	return nil
}
