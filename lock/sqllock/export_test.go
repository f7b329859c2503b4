package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock"
)

// ClockFrom makes the driver read its clock, in µs, from an expression.
func (d *Driver) ClockFrom(expression string) {
	d.grammar.clock = expression
	d.texts = d.grammar.texts()
}

// Desert takes a place for an owner that never answers.
func (d *Driver) Desert(ctx context.Context, a lock.Acquisition) error {
	w := waiter{driver: d, a: &a}
	_, _, err := w.enter(ctx)
	return err
}
