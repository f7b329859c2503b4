package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Acquire implements [driver.Driver]. An error that is no *lock.HeldError is doubt.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return d.acquire(ctx, &a)
}

func (d *Driver) acquire(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	if a.Limit > 1 {
		return d.askShared(ctx, a)
	}
	g, err := d.granted(ctx, "acquire", d.scripts.acquire, d.asking(a), a)
	if errors.Is(err, errShared) {
		return d.askShared(ctx, a)
	}
	return g, err
}

// asking returns the request of an acquisition.
func (d *Driver) asking(a *driver.Acquisition) *request {
	r := d.requestFor(a.Key)
	r.text(a.Owner)
	r.number(a.TTL.Milliseconds(), a.Fence)
	r.text(string(flag(a.Barge)))
	return r
}

// errShared is the answer of a script for locks with one owner at a time: this lock needs the
// scripts for shared locks.
var errShared = errors.New("the lock is shared")

// granted runs a script that may grant a plain lease.
func (d *Driver) granted(ctx context.Context, name string, s *script, asked *request, a *driver.Acquisition) (driver.Grant, error) {
	r, err := d.runFor(ctx, s, asked, a.Replicas, a.TTL)
	if err != nil {
		return driver.Grant{}, fmt.Errorf("redislock: %s: %w", name, err)
	}
	g, err := readAcquired(r.reply, a)
	if short := r.short(a.Key, a.Replicas); err == nil && short != nil {
		d.undo(ctx, a, g)
		return driver.Grant{}, fmt.Errorf("redislock: %s: %w", name, short)
	}
	return g, err
}

// undo releases a lease that too few replicas have, with a short timeout of its own.
func (d *Driver) undo(ctx context.Context, a *driver.Acquisition, g driver.Grant) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer stop()
	_ = d.Release(ctx, driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, Limit: a.Limit}) // its TTL ends it otherwise
}

const undoTime = 200 * time.Millisecond

// readAcquired reads the fence of a lock that was free, or one of the replies of readAsked.
func readAcquired(reply any, a *driver.Acquisition) (driver.Grant, error) {
	fence, short := reply.(int64)
	if !short {
		return readAsked(reply, a.Key)
	}
	if fence <= a.Fence {
		return driver.Grant{}, unreadable("acquire", reply)
	}
	return driver.Grant{Fence: fence, Left: a.TTL.Truncate(time.Millisecond)}, nil
}

// readAsked reads {1, fence, left}, {0, "0", left}, {2, "0", 0} or {3, fence, now}.
func readAsked(reply any, key string) (driver.Grant, error) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return driver.Grant{}, unreadable("acquire", reply)
	}
	granted, ok1 := parts[0].(int64)
	text, ok2 := parts[1].(string)
	ms, ok3 := parts[2].(int64)
	fence, err := strconv.ParseInt(text, 10, 64)
	left := time.Duration(ms) * time.Millisecond
	switch {
	case ok1 && ok2 && ok3 && granted == 3 && err == nil && driver.CheckFence(fence, ms) != nil:
		return driver.Grant{}, fmt.Errorf("redislock: acquire %q: %w", key, driver.CheckFence(fence, ms))
	case !ok1 || !ok2 || !ok3 || err != nil || ms < 0 || ms > driver.MaxTTL.Milliseconds():
	case granted == 1 && fence > 0 && ms > 0:
		return driver.Grant{Fence: fence, Left: left}, nil
	case granted == 0 && fence == 0:
		return driver.Grant{}, &driver.HeldError{Key: key, Left: left}
	case granted == 2:
		return driver.Grant{}, errShared
	}
	return driver.Grant{}, unreadable("acquire", reply)
}

// Renew implements [driver.Driver]. It works on a server at maxmemory.
func (d *Driver) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	script, asked := d.renewal(&h)
	r, err := d.runFor(ctx, script, asked, h.Replicas, h.TTL)
	if err != nil {
		return driver.Grant{}, fmt.Errorf("redislock: renew: %w", err)
	}
	if r.reply == int64(-1) {
		return d.renewShared(ctx, &h)
	}
	return d.renewed(ctx, &r, &h)
}

// renewal returns the request for the renewal of a lease, and its script, before the kind of the
// lock is known.
func (d *Driver) renewal(h *driver.LeaseRef) (*script, *request) {
	if h.Limit > 1 {
		return d.scripts.sharedRenew, d.sharedRenewal(h)
	}
	r := requestOf([]string{d.keys.lock(h.Key), d.keys.none(h.Key)})
	r.holder(h.Fence, h.Owner)
	r.number(h.TTL.Milliseconds())
	return d.scripts.renew, r
}

// renewed returns the answer to a renewal.
func (d *Driver) renewed(ctx context.Context, r *outcome, h *driver.LeaseRef) (driver.Grant, error) {
	g, err := readLeft(r, h)
	if !errors.Is(err, driver.ErrLost) {
		return g, err
	}
	if why := d.why(ctx, h, err); errors.Is(why, driver.ErrLost) {
		err = why // it is lost, even if it is not known how
	}
	return driver.Grant{}, err
}

// readLeft reads the ms left, or 0.
func readLeft(r *outcome, h *driver.LeaseRef) (driver.Grant, error) {
	switch left, ok := r.reply.(int64); {
	case ok && left == h.TTL.Milliseconds() && r.short(h.Key, h.Replicas) != nil:
		return driver.Grant{}, fmt.Errorf("redislock: renew: %w", r.short(h.Key, h.Replicas))
	case ok && left == h.TTL.Milliseconds():
		return driver.Grant{Fence: h.Fence, Left: time.Duration(left) * time.Millisecond}, nil
	case ok && left == 0:
		return driver.Grant{}, driver.ErrLost
	}
	return driver.Grant{}, unreadable("renew", r.reply)
}

// Release implements [driver.Driver]. It works on a server at maxmemory.
func (d *Driver) Release(ctx context.Context, h driver.LeaseRef) error {
	if h.Limit > 1 {
		return d.freeShared(ctx, []driver.LeaseRef{h}, "")[0]
	}
	r := d.requestFor(h.Key)
	r.once = true
	r.holder(h.Fence, h.Owner)
	reply, err := d.pipelined(ctx, d.scripts.release, r)
	if err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	if reply == int64(2) {
		return d.freeShared(ctx, []driver.LeaseRef{h}, "")[0]
	}
	return d.freed(ctx, &h, readFreed(reply))
}

// readFreed reads 1, 0 or 3.
func readFreed(reply any) error {
	switch reply {
	case int64(1):
		return nil
	case int64(0):
		return driver.ErrLost
	case int64(3):
		return driver.ErrForgotten
	}
	return unreadable("release", reply)
}
