package sqllock

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maintenanceEvery = time.Minute
	choresSoon       = 5 * time.Second // the pause after a chore that was not completed
	choreTime        = 2 * time.Second // the time limit of each chore
	choreRows        = 500             // how many rows one transaction removes
	unused           = time.Hour       // how long the row of a key is kept after the end of its lease
)

// maintenance is the work that is done once in a while, in the background. The zero value is ready
// to use.
type maintenance struct {
	mu   sync.Mutex
	next time.Time
	busy sync.WaitGroup
	full atomic.Bool // the journals together have more bytes than their limit
}

// sweep starts the maintenance if it is due. It removes the rows of keys that no caller has used
// for a day, of places and nodes that died, and of books that are outdated, and weighs the
// journals. No request waits for it. Each chore has its own time limit, so a slow one does not keep
// the others from being done. A chore that fails is done next time.
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

// sweepBooks removes the records of leases that were taken, once they no longer count.
func (d *Driver) sweepBooks(ctx context.Context) error {
	return d.sweepRows(ctx, d.texts.outdated, func(now int64) []any { return []any{now} },
		func(s session, names []any) error {
			return d.remove(ctx, s, "cronce_taken WHERE ns = ? AND name", names)
		})
}

// sweepRows removes the rows that a query finds until none is left. The query skips rows that are
// locked: they are in use. The bounds of the query are constants, since an index cannot be used
// with the clock.
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

// remove deletes rows by the values of a column. The other arguments of the condition are the
// namespace and args.
func (d *Driver) remove(ctx context.Context, s session, where string, values []any, args ...any) error {
	for len(values) < roundUp(len(values)) { // few different texts for the database to prepare
		values = append(values, values[len(values)-1])
	}
	text := d.grammar.text("DELETE FROM " + where + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")")
	_, err := exec(ctx, s, text, slices.Concat([]any{d.ns}, args, values)...)
	return err
}

// weigh determines whether the journals of the namespace have more bytes than their limit.
func (d *Driver) weigh(ctx context.Context) error {
	bytes, err := withSession(ctx, d, func(s session) (bytes sql.NullInt64, err error) {
		err = s.QueryRowContext(ctx, d.texts.weigh, d.ns).Scan(&bytes)
		return bytes, err
	})
	if err == nil {
		d.maintenance.full.Store(bytes.Int64 > d.budget)
	}
	return err
}
