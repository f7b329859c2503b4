package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// ErrNoQuorum is doubt: too few servers answered, or too late, or the votes
// stayed split between owners. No owner is known to have the key.
var ErrNoQuorum = errors.New("no majority")

const maxSplit = 5 * time.Second

// Acquire asks a majority at once, and the other servers as soon as these do not
// agree, or after a millisecond; if they were not needed, they get the
// lease then, unless it is released before. It returns a *lock.HeldError only if a
// majority says that one other owner has the key. Asked again by the same owner while a
// server is late, it may grant a greater fence than before. Any other error
// is doubt. What was granted without a majority is undone, on servers that do not answer in the background.
//
// While votes are split between owners that ask at once, Acquire asks again: the
// owner with the most votes keeps them and asks soon, the others give theirs back
// and wait longer each time. A split that lasts longer than a quarter of the TTL,
// or 5 s if that is less, is doubt: owners that died may have the votes between them.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("redlock: acquire: %w", err)
	}
	proposed := time.Now()
	fence, err := d.propose(ctx, &a)
	if err != nil {
		return driver.Grant{}, err
	}
	give := time.Now().Add(min(a.TTL/4, maxSplit))
	for lost, first := 0, d.first(a.Key); ; lost, first = lost+1, d.all() {
		sent, attempt := time.Now(), d.attempts.Add(1)
		g, b, err := d.vote(ctx, &a, attempt, fence, proposed, first)
		again := err != nil && b.split() && time.Now().Before(give)
		keeps := again && b.leads(a.Owner)
		if err != nil && !keeps {
			d.undo(ctx, &a, attempt, fence, b)
			proposed, fence = time.Now(), d.fences.next(a.Fence) // a server that undid what comes late knows it by its fence
		}
		if !again {
			return g, err
		}
		if keeps {
			lost = -1 // it may wait least again
		}
		if !sleep(ctx, min(backoff(lost, time.Since(sent)), time.Until(give))) {
			d.undo(ctx, &a, attempt, fence, b)
			return g, fmt.Errorf("redlock: acquire: %w", ctx.Err())
		}
	}
}

// vote asks once, with a fence of the time proposed, and says what the answers mean.
func (d *Driver) vote(ctx context.Context, a *driver.Acquisition, attempt, fence int64, proposed time.Time, first servers) (driver.Grant, ballot, error) {
	sent := time.Now()
	r := d.give(acquireScript, a.Key, a.Owner, attempt, a.TTL, fence)
	b := d.ask(ctx, d.patience(a.TTL), r, question{first: first, rest: d.all() &^ first, enough: ballot.decided, gives: lease{a.Key, a.Owner}})
	switch {
	case b.count(yes) >= d.majority:
		g, err := d.grant(ctx, a, attempt, b, sent, proposed)
		return g, b, err
	case b.held() >= d.majority:
		return driver.Grant{}, b, &driver.HeldError{Key: a.Key, Left: b.freed()}
	}
	return driver.Grant{}, b, d.doubt(ctx, "acquire", b)
}

// grant is a grant with a fence that stands on a majority, if its time is not
// over by then. Servers that have answered with another fence are given this one.
// While the fence was on its way, the servers may have given a higher one and
// forgotten it.
func (d *Driver) grant(ctx context.Context, a *driver.Acquisition, attempt int64, b ballot, sent, proposed time.Time) (driver.Grant, error) {
	fence := b.fence()
	if err := driver.CheckFence(fence, d.fences.now()); err != nil {
		return driver.Grant{}, fmt.Errorf("redlock: acquire: %w", err)
	}
	if unlike := b.unlike(fence); unlike != 0 {
		written := d.ask(ctx, d.patience(a.TTL), d.give(putScript, a.Key, a.Owner, attempt, a.TTL, fence), question{first: unlike, gives: lease{a.Key, a.Owner}})
		if b.with(fence)+written.count(yes) < d.majority {
			return driver.Grant{}, d.doubt(ctx, "acquire", written)
		}
	}
	if time.Since(proposed) > d.options.FenceMemory/2 {
		return driver.Grant{}, fmt.Errorf("redlock: acquire: %w in time: the answers took longer than half of the memory for fences", ErrNoQuorum)
	}
	g, err := valid("acquire", fence, sent, b.left(), a.TTL)
	if err == nil {
		d.sendRest(a, attempt, fence, b)
	}
	return g, err
}

// valid is a grant, unless nothing is left of it. Clocks may drift apart by 1 %
// of the TTL, and servers cut times to the millisecond.
func valid(operation string, fence int64, sent time.Time, left, ttl time.Duration) (driver.Grant, error) {
	left -= time.Since(sent) + ttl/100 + 2*time.Millisecond
	if left <= 0 {
		return driver.Grant{}, fmt.Errorf("redlock: %s: %w in time: the answers took longer than the lease", operation, ErrNoQuorum)
	}
	return driver.Grant{Fence: fence, Left: left}, nil
}

// Renew moves the deadline to now + TTL on a majority. Servers beside it that
// have lost the key, or have it under another fence, get it again. It works on
// servers at maxmemory.
func (d *Driver) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("redlock: renew: %w", err)
	}
	d.deferred.take(&h) // all servers are asked here
	sent, attempt := time.Now(), d.attempts.Add(1)
	r := d.give(renewScript, h.Key, h.Owner, attempt, h.TTL, h.Fence)
	b := d.ask(ctx, d.patience(h.TTL), r, question{first: d.all()})
	switch {
	case b.count(no) >= d.majority:
		return driver.Grant{}, driver.ErrLost
	case b.count(yes) < d.majority:
		return driver.Grant{}, d.doubt(ctx, "renew", b)
	case b.count(no) > 0: // what it answers changes nothing
		d.ask(ctx, d.patience(h.TTL), d.give(putScript, h.Key, h.Owner, attempt, h.TTL, h.Fence), question{first: b.voted(no), gives: lease{h.Key, h.Owner}})
	}
	return valid("renew", h.Fence, sent, b.left(), h.TTL)
}

// Release frees the key on all servers that may know of it, and returns when it is
// free on a majority, of which those that were never asked are a part; the rest is
// done in the background, where servers that do not answer are asked again. It is
// lock.ErrForgotten if so many servers had forgotten the lease that another owner may
// have had the key meanwhile. It works on servers at maxmemory.
func (d *Driver) Release(ctx context.Context, h driver.LeaseRef) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redlock: release: %w", err)
	}
	most := max(d.fences.last(), h.Fence)
	r := d.takeBack(h.Key, h.Owner, d.attempts.Add(1), h.Fence, most)
	// A server that voted late, or will when it goes on, has the owner's lease
	// under a fence that was never a grant's.
	rest := d.takeBack(h.Key, h.Owner, d.attempts.Add(1), 0, most)
	deferred := d.deferred.take(&h)
	d.outstanding.free(lease{h.Key, h.Owner}, rest, h.TTL)
	q := question{first: d.all() &^ deferred, rest: deferred, enough: ballot.released, late: func(n *node, a *answer) {
		if a.err != nil || a.code == odd {
			d.sweepNode(n, rest, h.TTL)
		}
	}}
	b := d.ask(ctx, d.patience(h.TTL), r, q)
	if b.count(no)+b.count(odd) >= d.majority {
		return driver.ErrLost
	}
	if !b.freeing() {
		d.sweep(r, h.TTL, b.waitedFor())
		return d.doubt(ctx, "release", b)
	}
	d.sweep(rest, h.TTL, b.waitedFor())
	if b.count(odd) > 0 {
		d.sweep(rest, h.TTL, d.ask(ctx, d.patience(h.TTL), rest, question{first: b.voted(odd)}))
	}
	if b.vanished() {
		return driver.ErrForgotten
	}
	return nil
}

// undo takes back what an attempt may have been given, from all servers but those
// that refused it. Those that did not answer are left to the background, so that no caller
// waits for them twice.
func (d *Driver) undo(ctx context.Context, a *driver.Acquisition, attempt, fence int64, b ballot) {
	r := d.takeBack(a.Key, a.Owner, attempt, 0, fence)
	d.outstanding.free(lease{a.Key, a.Owner}, r, a.TTL)
	undone := d.ask(ctx, d.patience(a.TTL), r, question{first: b.voted(yes)})
	for i := range undone.answers {
		if err := b.answers[i].err; err != nil {
			undone.answers[i].err = err
		}
	}
	d.sweep(r, a.TTL, undone)
}

func (d *Driver) count(answers []answer) ballot {
	return ballot{answers: answers, majority: d.majority}
}

// doubt is the error when the answers decide nothing.
func (d *Driver) doubt(ctx context.Context, operation string, b ballot) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redlock: %s: %w", operation, err)
	}
	said := len(d.nodes) - b.silent()
	err := fmt.Errorf("redlock: %s: %w: %d of %d servers answered, %d of them with yes", operation, ErrNoQuorum, said, len(d.nodes), b.count(yes))
	if errs := b.errs(); errs != nil {
		err = fmt.Errorf("%w: %w", err, errs)
	}
	return err
}

const (
	minPause = 2 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// backoff is a random pause before votes that were split are asked for again, by
// an owner that gave its votes back lost+1 times in a row and needed took for the
// last time; lost is -1 for an owner that keeps its votes.
//
// An owner that asks takes votes from the owner that is ahead for as long as it needs
// to ask and to give back. So the times to choose from double with each loss until
// they exceed what all the others need together, however slow the servers are,
// while the owner that is ahead comes back at once for what has become free.
func backoff(lost int, took time.Duration) time.Duration {
	if lost < 0 {
		return rand.N(minPause)
	}
	took = min(max(took, minPause), maxPause)
	return minPause + rand.N(min(took<<min(lost+1, 8), maxPause))
}
