package main

import (
	"context"
	"errors"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// acquire is one acquisition of a key that no other owner has, and its release, on the store in memory.
func acquire(ctx context.Context, measure measure) error {
	locker := lock.New(memlock.New(memlock.Options{}), "node")
	once := func() error {
		lease, err := locker.Acquire(ctx, "key", lock.Options{})
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
	return errors.Join(once(), locker.Wait(ctx), measure(once))
}
