package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock"
)

// Inspect looks at a key, with one statement.
func (d *Driver) Inspect(ctx context.Context, key string) (lock.Standing, error) {
	if err := lock.CheckKey(key); err != nil {
		return lock.Standing{}, err
	}
	l, _, err := d.look(ctx, key)
	if err != nil {
		return lock.Standing{}, failed("inspect", err)
	}
	at := lock.Standing{Waiting: int(l.waiting)}
	if l.alive() {
		at.Owner, at.Left = l.owner, l.left()
		if l.place == 0 {
			at.Fence = l.fence
		}
	}
	return at, nil
}
