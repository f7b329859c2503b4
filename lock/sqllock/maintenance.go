package sqllock

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maintenanceEvery = time.Minute
	choresSoon       = 5 * time.Second // when one did not get done
	choreTime        = 2 * time.Second // the budget of each
	choreRows        = 500             // that one transaction removes
	unused           = time.Hour       // after the end of its lease
)

// maintenance are what is done once in a while, in the background. The zero value
// is ready.
type maintenance struct {
	mu   sync.Mutex
	next time.Time
	busy sync.WaitGroup
	full atomic.Bool // the journals together are over their bytes
}

// sweep starts the maintenance if they are due: the removal of the rows of keys that
// no caller has used for a day, of places and nodes that died and of books, and the weighing
// of the journals. No request waits for them. Each has a time of its own, so that one that
// is slow keeps none of the others from being done; what fails is done next time.
func (d *Driver) sweep() {
	c := &d.maintenance
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.next) {
		return
	}
	c.next = time.Now().Add(maintenanceEvery)
	c.busy.Go(func() {
		for _, chore := range []func(context.Context) error{d.sweepLeases, d.sweepPlaces, d.sweepBooks, d.sweepNodes, d.weigh} {
			ctx, stop := context.WithTimeout(context.Background(), choreTime)
			if chore(ctx) != nil {
				c.mu.Lock()
				c.next = time.Now().Add(choresSoon)
				c.mu.Unlock()
			}
			stop()
		}
	})
}

// sweepLeases removes the rows of keys that were not used for a day.
func (d *Driver) sweepLeases(ctx context.Context) error {
	return d.sweepRows(ctx, d.texts.idle, func(now int64) []any { return []any{now/micros(day) - 1, now - micros(unused)} },
		func(s session, names []any) error {
			if err := d.remove(ctx, s, "cronce_places WHERE ns = ? AND name", names); err != nil {
				return err
			}
			return d.remove(ctx, s, "cronce_leases WHERE ns = ? AND name", names)
		})
}

// sweepPlaces removes the places of owners that have owed a sign of life for an hour.
func (d *Driver) sweepPlaces(ctx context.Context) error {
	return d.sweepRows(ctx, d.texts.silent, func(now int64) []any { return []any{now - micros(unused) - 1, micros(unused) - now + 1} },
		func(s session, places []any) error {
			return d.remove(ctx, s, "cronce_places WHERE ns = ? AND place", places)
		})
}

// sweepBooks removes what is kept of leases that were taken, once nothing of it counts.
func (d *Driver) sweepBooks(ctx context.Context) error {
	return d.sweepRows(ctx, d.texts.outdated, func(now int64) []any { return []any{now} },
		func(s session, names []any) error {
			return d.remove(ctx, s, "cronce_taken WHERE ns = ? AND name", names)
		})
}

// sweepRows removes what a query finds until nothing is left. The query passes rows
// that are locked: they are in use. Its bounds are constants, since an index serves no
// clock.
func (d *Driver) sweepRows(ctx context.Context, query string, bounds func(now int64) []any, remove func(session, []any) error) error {
	now, err := d.clock(ctx)
	if err != nil {
		return err
	}
	args := append(append([]any{d.ns}, bounds(now)...), choreRows)
	for {
		removed, err := step(ctx, d, func(s session) (int, error) {
			found, err := column(ctx, s, query, args...)
			if err != nil || len(found) == 0 {
				return 0, err
			}
			keys := make([]any, len(found))
			for i := range found {
				keys[i] = found[i]
			}
			return len(keys), remove(s, keys)
		})
		if err != nil || removed < choreRows {
			return err
		}
	}
}

// remove deletes rows by a column.
func (d *Driver) remove(ctx context.Context, s session, where string, keys []any) error {
	text := d.grammar.text("DELETE FROM " + where + " IN (?" + strings.Repeat(", ?", len(keys)-1) + ")")
	_, err := exec(ctx, s, text, append([]any{d.ns}, keys...)...)
	return err
}

// weigh finds out whether the journals of the namespace have too many bytes.
func (d *Driver) weigh(ctx context.Context) error {
	bytes, err := ask(ctx, d, func(s session) (bytes sql.NullInt64, err error) {
		err = s.QueryRowContext(ctx, d.texts.weigh, d.ns).Scan(&bytes)
		return bytes, err
	})
	if err == nil {
		d.maintenance.full.Store(bytes.Int64 > d.budget)
	}
	return err
}
