package redislock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock"
)

// Acquire asks for the key once. An error that is neither a *lock.HeldError nor
// a *lock.ArgumentError is doubt.
func (d *Driver) Acquire(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := lock.CheckAcquisition(&a); err != nil {
		return lock.Grant{}, err
	}
	barge := "0"
	if a.Barge {
		barge = "1"
	}
	keys := []string{d.keys.lock(a.Key), d.keys.queue(a.Key)}
	reply, err := d.run(ctx, d.scripts.acquire, keys, []any{a.Owner, a.TTL.Milliseconds(), a.Fence, barge})
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: acquire: %w", err)
	}
	return readAcquired(reply, a.Key)
}

// readAcquired reads {1, fence, left} or {0, "0", left}.
func readAcquired(reply any, key string) (lock.Grant, error) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return lock.Grant{}, unreadable("acquire", reply)
	}
	granted, ok1 := parts[0].(int64)
	text, ok2 := parts[1].(string)
	ms, ok3 := parts[2].(int64)
	fence, err := strconv.ParseInt(text, 10, 64)
	left := time.Duration(ms) * time.Millisecond
	switch {
	case !ok1 || !ok2 || !ok3 || err != nil || ms < 0 || ms > lock.MaxTTL.Milliseconds():
	case granted == 1 && fence > 0 && ms > 0:
		return lock.Grant{Fence: fence, Left: left}, nil
	case granted == 0 && fence == 0:
		return lock.Grant{}, &lock.HeldError{Key: key, Left: left}
	}
	return lock.Grant{}, unreadable("acquire", reply)
}

// Renew moves the deadline to now + TTL. It works on a server at maxmemory.
func (d *Driver) Renew(ctx context.Context, h lock.Holding) (lock.Grant, error) {
	if err := lock.CheckHolding(&h); err != nil {
		return lock.Grant{}, err
	}
	keys := []string{d.keys.lock(h.Key), d.keys.none(h.Key)}
	reply, err := d.run(ctx, d.scripts.renew, keys, []any{h.Owner, h.Fence, h.TTL.Milliseconds()})
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: renew: %w", err)
	}
	switch left, ok := reply.(int64); {
	case ok && left == h.TTL.Milliseconds():
		return lock.Grant{Fence: h.Fence, Left: time.Duration(left) * time.Millisecond}, nil
	case ok && left == 0:
		return lock.Grant{}, lock.ErrLost
	}
	return lock.Grant{}, unreadable("renew", reply)
}

// Release frees the key, or gives it to the next in its queue. It works on a server at maxmemory.
func (d *Driver) Release(ctx context.Context, h lock.Holding) error {
	if err := lock.CheckRelease(&h); err != nil {
		return err
	}
	keys := []string{d.keys.lock(h.Key), d.keys.queue(h.Key), d.keys.none(h.Key)}
	reply, err := d.run(ctx, d.scripts.release, keys, []any{h.Owner, h.Fence})
	if err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	switch reply {
	case int64(1):
		return nil
	case int64(0):
		return lock.ErrLost
	}
	return unreadable("release", reply)
}
