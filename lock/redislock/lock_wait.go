package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
)

const (
	maxPlaces     = 1000                   // in the queue of one lock
	unseen        = 10 * time.Second       // how long a queue stays after its waiters would have probed
	probeEvery    = time.Second            // how often a waiter probes its lock; a probe is up to 1/8 later
	longestProbe  = 10 * time.Second       // how often a waiter probes that gets its wake-ups
	afterDeadline = 10 * time.Millisecond  // after the deadline of a holder
	reserved      = 2 * time.Second        // how long a lock is reserved for an owner that does not answer
	subscribed    = 500 * time.Millisecond // how long the first waiter waits for its inbox
	leaveTime     = time.Second            // for giving up a place
)

// Wait implements [driver.Waiter]. After doubt it repeats the request. When ctx ends it gives up
// its place, which may take a second; a place that it cannot give up is passed over.
func (d *Driver) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Barge = false
	var err error
	if !d.inbox.open() { // most locks are free
		var g driver.Grant
		if g, err = d.acquire(ctx, &a); err == nil {
			return g, nil
		}
	}
	a.NoteRefusal(err)
	notices, ready := d.inbox.join(a.Owner)
	defer d.inbox.leave(a.Owner)
	wait.Woken(ctx, subscribed, ready)
	w := waiter{driver: d, a: &a, notices: notices, listing: d.listing(ready)}
	return w.wait(ctx, err)
}

// A queueListing is how a waiter is listed in queues. It does not change while the caller waits.
type queueListing struct {
	inbox string // as the queue has it
	sure  bool   // wake-ups arrive, or the server knows that they do not
}

// listing returns the listing of a waiter that joined the inbox. In a Cluster no server knows whether
// another has a subscription.
func (d *Driver) listing(ready <-chan struct{}) queueListing {
	if _, single := d.client.(*redis.Client); single {
		select {
		case <-ready:
			return queueListing{"+" + d.inbox.channel, true}
		default:
		}
	}
	return queueListing{d.inbox.channel, false}
}

// expiry returns how long a queue is kept after a probe of a waiter that is listed so.
func (s queueListing) expiry() time.Duration {
	if s.sure {
		return longestProbe + unseen
	}
	return unseen
}

// A waiter is one call of Wait.
type waiter struct {
	driver  *Driver
	a       *driver.Acquisition
	notices *notices
	listing queueListing
	first   bool // of the queue of a shared lock: it must probe
}

// wait repeats the request until it is granted. Last is the answer so far.
func (w *waiter) wait(ctx context.Context, last error) (driver.Grant, error) {
	for ctx.Err() == nil {
		asked := time.Now()
		g, err := w.request(ctx)
		if err == nil {
			g.Asked = asked
			return g, nil
		}
		w.a.NoteRefusal(err)
		if last == nil || !wait.Ended(ctx) { // else the end of ctx may have cut it off
			last = err
		}
		w.sleep(ctx, w.untilProbe(err))
	}
	w.giveUp(ctx)
	return driver.Grant{}, fmt.Errorf("redislock: wait: %w", contextError(ctx, last))
}

// contextError returns the error of ctx with the last answer or doubt.
func contextError(ctx context.Context, last error) error {
	if last == nil || errors.Is(last, ctx.Err()) {
		return cmp.Or(last, ctx.Err())
	}
	return fmt.Errorf("%w: %w", ctx.Err(), last)
}

// untilProbe returns when a waiter that is not woken probes again: soon after the holder's
// deadline, and soon after doubt. In between it probes rarely if its wake-ups arrive.
func (w *waiter) untilProbe(err error) time.Duration {
	wait := probeEvery / 4
	if held, ok := errors.AsType[*driver.HeldError](err); ok {
		most := probeEvery
		if w.listing.sure && !w.first {
			most = longestProbe
		}
		wait = min(most, held.Left+afterDeadline)
	}
	return wait + rand.N(probeEvery/8)
}

// sleep returns when d has passed, or earlier when ctx ends or the waiter is woken. If the lock is
// reserved for the owner before it, the waiter probes when that reservation ends.
func (w *waiter) sleep(ctx context.Context, d time.Duration) {
	until := time.Now().Add(d)
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return
		case <-w.notices.woken:
			return
		case <-w.notices.next:
			t.Reset(min(time.Until(until), reserved+afterDeadline))
		case <-ctx.Done():
			return
		}
	}
}

// request requests the lock, and takes a place if the lock is held.
func (w *waiter) request(ctx context.Context) (driver.Grant, error) {
	w.first = false
	if w.a.Limit > 1 {
		return w.askShared(ctx)
	}
	r := w.driver.asking(w.a)
	r.text(w.listing.inbox)
	r.number(maxPlaces, w.listing.expiry().Milliseconds())
	g, err := w.driver.granted(ctx, "wait", w.driver.scripts.wait, r, w.a)
	if errors.Is(err, errShared) {
		return w.askShared(ctx)
	}
	return g, err
}

func (w *waiter) askShared(ctx context.Context) (driver.Grant, error) {
	grants, err := w.driver.askAll(ctx, []driver.Acquisition{*w.a}, w)
	if err != nil {
		return driver.Grant{}, err
	}
	return grants[0], nil
}

// queueEntry returns the owner's entry in the queue.
func (w *waiter) queueEntry() string {
	place := w.listing.inbox + "|" + w.a.Owner
	if w.a.Limit > 1 {
		place += "|" + strconv.Itoa(w.a.Limit)
	}
	return place
}

// giveUp removes the place, and the lease that may have been granted, from the store.
func (w *waiter) giveUp(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer stop()
	h := []driver.LeaseRef{{Key: w.a.Key, Owner: w.a.Owner}}
	for {
		err := w.driver.freeShared(ctx, h, w.queueEntry())[0]
		if err == nil || errors.Is(err, driver.ErrLost) || ctx.Err() != nil {
			return // else the place is passed over, and the lease expires
		}
		_ = wait.Sleep(ctx, leaveTime/10)
	}
}
