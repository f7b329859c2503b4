package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
)

// Adopt gives a lock from one owner to another. It works on a server at maxmemory.
func (d *Driver) Adopt(ctx context.Context, from driver.LeaseRef, to driver.Acquisition) (driver.Grant, error) {
	reply, err := d.run(ctx, d.scripts.adopt, append(d.keys.all(to.Key), d.keys.taken(to.Key)),
		[]any{from.Owner, from.Fence, to.Owner, to.TTL.Milliseconds(), to.Fence})
	if err != nil {
		return driver.Grant{}, fmt.Errorf("redislock: adopt: %w", err)
	}
	g, err := readAsked(reply, to.Key)
	if _, held := errors.AsType[*driver.HeldError](err); held {
		err = driver.ErrLost
	}
	return g, err
}
