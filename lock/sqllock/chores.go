package sqllock

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock"
)

const (
	choresEvery = time.Minute
	choresSoon  = 5 * time.Second // when one did not get done
	choreTime   = 2 * time.Second // the budget of each
	choreRows   = 500             // that one transaction removes
	unused      = time.Hour       // after the end of its lease
)

// chores are what is done once in a while, in the background. The zero value
// is ready.
type chores struct {
	mu   sync.Mutex
	next time.Time
	busy sync.WaitGroup
	full atomic.Bool // the journals together are over their bytes
}

// sweep starts the chores if they are due: the removal of the rows of keys that
// nobody has used for a day and of nodes that died, and the weighing of the
// journals. No request waits for them. Each has a time of its own, so that one that
// is slow keeps none of the others from being done; what fails is done next time.
func (d *Driver) sweep() {
	c := &d.chores
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.next) {
		return
	}
	c.next = time.Now().Add(choresEvery)
	c.busy.Go(func() {
		for _, chore := range []func(context.Context) error{d.sweepLeases, d.sweepNodes, d.weigh} {
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

// sweepLeases removes rows until none are left to remove. It passes those that are
// locked: they are in use.
func (d *Driver) sweepLeases(ctx context.Context) error {
	now, err := d.clock(ctx) // once: an index serves a constant, and not a clock
	for err == nil {
		var removed int64
		removed, err = step(ctx, d, func(s session) (int64, error) {
			names, err := column(ctx, s, d.texts.idle, d.ns, now/micros(day)-1, now-micros(unused), choreRows)
			if err != nil || len(names) == 0 {
				return 0, err
			}
			for _, table := range []string{"cronce_places", "cronce_leases"} {
				if err := d.remove(ctx, s, table, names); err != nil {
					return 0, err
				}
			}
			return int64(len(names)), nil
		})
		if removed < choreRows {
			break
		}
	}
	return err
}

// remove deletes the rows of some keys.
func (d *Driver) remove(ctx context.Context, s session, table string, names []string) error {
	args := []any{d.ns}
	for _, name := range names {
		args = append(args, name)
	}
	text := d.grammar.text("DELETE FROM " + table + " WHERE ns = ? AND name IN (?" + strings.Repeat(", ?", len(names)-1) + ")")
	_, err := exec(ctx, s, text, args...)
	return err
}

// sweepNodes removes the nodes that left or fell silent long ago, and times that no
// beat can have written.
func (d *Driver) sweepNodes(ctx context.Context) error {
	now, err := d.clock(ctx)
	if err != nil {
		return err
	}
	over, latest := now-micros(lock.GoneFor), now+micros(lock.MaxTTL)
	_, err = ask(ctx, d, func(s session) (int64, error) { return exec(ctx, s, d.texts.dead, d.ns, -over, over, latest, -latest) })
	return err
}

// weigh finds out whether the journals of the namespace have too many bytes.
func (d *Driver) weigh(ctx context.Context) error {
	bytes, err := ask(ctx, d, func(s session) (bytes sql.NullInt64, err error) {
		err = s.QueryRowContext(ctx, d.texts.weigh, d.ns).Scan(&bytes)
		return bytes, err
	})
	if err == nil {
		d.chores.full.Store(bytes.Int64 > d.budget)
	}
	return err
}
