package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock"
)

// Adopt gives a lock from one owner to another. It works on a server at maxmemory.
func (d *Driver) Adopt(ctx context.Context, from lock.Holding, to lock.Acquisition) (lock.Grant, error) {
	if err := lock.CheckAdoption(&from, &to); err != nil {
		return lock.Grant{}, err
	}
	reply, err := d.run(ctx, d.scripts.adopt, append(d.keys.all(to.Key), d.keys.taken(to.Key)),
		[]any{from.Owner, from.Fence, to.Owner, to.TTL.Milliseconds(), to.Fence})
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: adopt: %w", err)
	}
	g, err := readAsked(reply, to.Key)
	if _, held := errors.AsType[*lock.HeldError](err); held {
		err = lock.ErrLost
	}
	return g, err
}
