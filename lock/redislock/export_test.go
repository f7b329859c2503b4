package redislock

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// ClockFrom makes the scripts on series read the clock from the fields s and u
// of a hash instead of asking the server.
func (d *Driver) ClockFrom(key string) {
	d.scripts = load(func(name string) string {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		return strings.Replace(string(src), "call('TIME')", "call('HMGET', '"+key+"', 's', 'u')", 1)
	})
}

// Names for the tests of the formats.
var (
	Escape   = escape
	Unescape = driver.Unescape
	ReadLine = readLine

	ReadAcquired = readAcquired
	ReadGrants   = readGrants
	ReadReplies  = readReplies
	Answered     = answered
	ReadHolders  = readHolders
)

// ReadRenewed reads the reply to the renewal of a run.
func ReadRenewed(text string, ref *series.RunRef) (series.RenewAnswer, bool) {
	return readRenewed(0, text, ref)
}

// ReadAnswer reads the claim script's answer to one claim, at a time in ms.
func ReadAnswer(now int64, text string, c *series.Claim) series.Answer {
	return claims.answer(instant(now*1000), text, c)
}

// LockKey is the key that a plain lock is kept under.
func (d *Driver) LockKey(key string) string { return d.keys.lock(key) }

// Abandon takes a place for an owner that never answers.
func (d *Driver) Abandon(ctx context.Context, a driver.Acquisition) error {
	_, err := d.LookInLine(ctx, a)
	return err
}

// LookInLine asks as a waiter does each time it looks, without a subscription.
func (d *Driver) LookInLine(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return d.unsure(&a).request(ctx)
}

// AbandonSure is Abandon of a process whose subscription was confirmed, and is no more.
func (d *Driver) AbandonSure(ctx context.Context, a driver.Acquisition) error {
	w := d.unsure(&a)
	w.listing = queueListing{"+" + w.listing.inbox, true}
	_, err := w.request(ctx)
	return err
}

func (d *Driver) unsure(a *driver.Acquisition) *waiter {
	return &waiter{driver: d, a: a, listing: queueListing{inbox: d.inbox.channel}}
}

// UntilProbe returns when a waiter probes again whose lock is held for a minute.
func UntilProbe(sure, first bool) time.Duration {
	w := waiter{listing: queueListing{sure: sure}, first: first}
	return w.untilProbe(&driver.HeldError{Left: time.Minute})
}

// Inbox is the channel on which waiters are notified.
func (d *Driver) Inbox() string { return d.inbox.channel }

// GiveUp does the same as a waiter that gives up.
func (d *Driver) GiveUp(ctx context.Context, a driver.Acquisition) { d.unsure(&a).giveUp(ctx) }

// Enqueued is how many calls are in the queue.
func (d *Driver) Enqueued() int {
	p := d.pipelines.only
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// LateAfter sets the time after which a batch no longer counts. With NeverLate it always counts.
func (d *Driver) LateAfter(late time.Duration) { d.pipelines.only.late = late }
func (d *Driver) NeverLate()                   { d.LateAfter(1000 * time.Hour) }

// AcquireHash names the script that serves calls that ask for a lock.
func AcquireHash() string { return embedded().acquire.hash }

// Acquire runs the script for some locks, with four arguments for each, and returns its
// reply to each.
func AcquireReplies(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) ([]any, error) {
	return client.Eval(ctx, embedded().acquire.source, keys, args...).Slice()
}

// The bounds of batches in flight.
const (
	LateAfter = lateAfter
	MaxLate   = maxLate
)

// InFlight is how many batches are in flight and count.
func (d *Driver) InFlight() int {
	p := d.pipelines.only
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counting()
}
