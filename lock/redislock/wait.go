package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock"
)

const (
	maxPlaces   = 1000                   // in the queue of one lock
	queueExpiry = 10 * time.Second       // after the last look of a waiter
	relook      = time.Second            // how often, and up to 1/8 later, a waiter looks for itself
	minRelook   = 10 * time.Millisecond  // after the deadline of a holder
	subscribed  = 500 * time.Millisecond // how long the first waiter waits for its inbox
	leaveTime   = time.Second            // for giving a place up
)

// Wait takes a place in the queue of the lock and returns when the lock was
// granted. After doubt it asks again. When ctx ends it gives the place up, for
// which it may take a second; a place that it cannot give up is passed over.
func (d *Driver) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := lock.CheckAcquisition(&a); err != nil {
		return lock.Grant{}, err
	}
	a.Barge = false
	var err error
	if !d.inbox.open() { // most locks are free
		var g lock.Grant
		if g, err = d.acquire(ctx, &a); err == nil {
			return g, nil
		}
	}
	a.NoteRefusal(err)
	woken, ready := d.inbox.join(a.Owner)
	defer d.inbox.leave(a.Owner)
	pause(ctx, subscribed, ready)
	return d.waitInLine(ctx, a, woken, err)
}

// waitInLine asks until it is granted. Last is the answer so far.
func (d *Driver) waitInLine(ctx context.Context, a lock.Acquisition, woken <-chan struct{}, last error) (lock.Grant, error) {
	for ctx.Err() == nil {
		asked := time.Now()
		g, err := d.askInLine(ctx, &a)
		if err == nil {
			g.Asked = asked
			return g, nil
		}
		a.NoteRefusal(err)
		if last == nil || ctx.Err() == nil { // else the end of ctx may have cut it off
			last = err
		}
		pause(ctx, untilLook(err), woken)
	}
	d.giveUp(ctx, &a)
	return lock.Grant{}, fmt.Errorf("redislock: wait: %w", ended(ctx, last))
}

// ended is the error of ctx with the last answer or doubt.
func ended(ctx context.Context, last error) error {
	if last == nil || errors.Is(last, ctx.Err()) {
		return cmp.Or(last, ctx.Err())
	}
	return fmt.Errorf("%w: %w", ctx.Err(), last)
}

// untilLook is when a waiter that nobody wakes looks again: soon after the
// holder's deadline, and soon after doubt.
func untilLook(err error) time.Duration {
	wait := relook / 4
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		wait = min(relook, held.Left+minRelook)
	}
	return wait + rand.N(relook/8)
}

// pause returns when d has passed, or earlier when ctx ends or it is woken.
func pause(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-woken:
	case <-ctx.Done():
	}
}

// askInLine asks, and takes a place if the answer is no.
func (d *Driver) askInLine(ctx context.Context, a *lock.Acquisition) (lock.Grant, error) {
	if a.Limit > 1 {
		return d.askShared(ctx, a, d.place(a))
	}
	r := d.asking(a)
	r.text(d.inbox.channel)
	r.number(maxPlaces, queueExpiry.Milliseconds())
	g, err := d.granted(ctx, "wait", d.scripts.wait, nil, r, a)
	if errors.Is(err, errShared) {
		return d.askShared(ctx, a, d.place(a))
	}
	return g, err
}

// place is what stands in the queue for an owner.
func (d *Driver) place(a *lock.Acquisition) string {
	place := d.inbox.channel + "|" + a.Owner
	if a.Limit > 1 {
		place += "|" + strconv.Itoa(a.Limit)
	}
	return place
}

// giveUp takes the place, and what was granted, out of the store.
func (d *Driver) giveUp(ctx context.Context, a *lock.Acquisition) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer stop()
	h := []lock.Holding{{Key: a.Key, Owner: a.Owner}}
	for {
		err := d.freeShared(ctx, h, d.place(a))[0]
		if err == nil || errors.Is(err, lock.ErrLost) || ctx.Err() != nil {
			return // else its place is passed over, and its lease expires
		}
		pause(ctx, leaveTime/10, nil)
	}
}
