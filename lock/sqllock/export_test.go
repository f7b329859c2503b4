package sqllock

import (
	"context"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
)

// ClockFrom makes the driver read its clock, in µs, from an expression, in which
// {clock} is what it was.
func (d *Driver) ClockFrom(expression string) {
	d.grammar.clock = strings.NewReplacer("{clock}", d.grammar.clock, "{divide}", d.grammar.divide).Replace(expression)
	d.texts = d.grammar.texts()
}

// Desert takes a place for an owner that never answers.
func (d *Driver) Desert(ctx context.Context, a lock.Acquisition) error {
	w := waiter{driver: d, a: &a}
	_, _, err := w.enter(ctx)
	return err
}

// TakenBack reports whether the database did nothing of what was asked.
func TakenBack(err error) bool { return takenBack(err) }

// ChoresDue makes the chores due with the next request that does them.
func (d *Driver) ChoresDue() {
	d.chores.mu.Lock()
	defer d.chores.mu.Unlock()
	d.chores.last = time.Time{}
}

// Turn does something while the row of a key is locked, and saves the row.
func (d *Driver) Turn(ctx context.Context, key string, do func()) error {
	return d.turn(ctx, key, func(t *turn) error { do(); t.changed = true; return nil })
}

// Clock is the expression that reads the clock.
func (d *Driver) Clock() string { return d.grammar.clock }
