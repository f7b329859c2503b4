package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
)

// ErrNoQuorum is doubt: too few servers answered in time, or the votes stayed split between owners.
// No owner is known to have the key.
var ErrNoQuorum = errors.New("no majority")

const maxSplit = 5 * time.Second

// Acquire sends a request to all servers at once. It returns a *lock.HeldError only if a majority
// answers that one other owner has the key. If the same owner repeats the request while a server is
// late, the grant may have a greater fence than before. Any other error is doubt. Votes that did
// not become a majority are undone, in the background on servers that do not answer.
//
// While votes are split between owners that send requests at once, Acquire repeats its request: the
// owner with the most votes keeps them and repeats soon, the others give theirs back and wait
// longer each time. A split that lasts longer than a quarter of the TTL, or 5 s if that is less, is
// doubt: owners that died may have the votes between them.
func (d *Driver) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("redlock: acquire: %w", err)
	}
	proposed := d.now()
	fence, err := d.propose(ctx, &a)
	if err != nil {
		return driver.Grant{}, err
	}
	give := time.Now().Add(min(a.TTL/4, maxSplit))
	for lost := 0; ; lost++ {
		sent, attempt := time.Now(), d.attempts.Add(1)
		g, b, err := d.vote(ctx, &a, attempt, fence, proposed)
		again := err != nil && b.split() && time.Now().Before(give)
		keeps := again && b.leads(a.Owner)
		if err != nil && !keeps {
			d.undo(ctx, &a, attempt, fence, b)
		}
		if !again {
			return g, err
		}
		if keeps {
			lost = -1 // it may pause least again
		}
		if wait.Sleep(ctx, min(backoff(lost, time.Since(sent)), time.Until(give))) != nil {
			d.undo(ctx, &a, attempt, fence, b)
			return g, fmt.Errorf("redlock: acquire: %w", ctx.Err())
		}
		if keeps {
			continue
		}
		// Servers recognise an undone request by its fence, too: this one needs another. The machine
		// may have been suspended since the time of the servers was read.
		proposed = d.now()
		if fence, err = d.propose(ctx, &a); err != nil {
			return driver.Grant{}, err
		}
	}
}

// vote sends one request, with a fence proposed at the given moment, and evaluates the answers.
func (d *Driver) vote(ctx context.Context, a *driver.Acquisition, attempt, fence int64, proposed moment) (driver.Grant, ballot, error) {
	sent := time.Now()
	r := d.give(acquireScript, a.Key, a.Owner, attempt, a.TTL, fence)
	b := d.sendAll(ctx, d.patience(a.TTL), r, question{to: d.all, enough: ballot.decided, gives: lease{a.Key, a.Owner}})
	switch {
	case b.count(yes) >= d.majority:
		g, err := d.grant(ctx, a, attempt, b, sent, proposed)
		return g, b, err
	case b.held() >= d.majority:
		return driver.Grant{}, b, &driver.HeldError{Key: a.Key, Left: b.freed()}
	}
	return driver.Grant{}, b, d.doubt(ctx, "acquire", b)
}

// grant returns a grant with a fence that a majority has stored, if its time is not over by then.
// Servers that have answered with another fence get this one.
func (d *Driver) grant(ctx context.Context, a *driver.Acquisition, attempt int64, b ballot, sent time.Time, proposed moment) (driver.Grant, error) {
	fence := b.fence()
	if err := driver.CheckFence(fence, d.fences.now()); err != nil {
		return driver.Grant{}, fmt.Errorf("redlock: acquire: %w", err)
	}
	if unlike := b.unlike(fence); len(unlike) > 0 {
		written := d.sendAll(ctx, d.patience(a.TTL), d.give(putScript, a.Key, a.Owner, attempt, a.TTL, fence), question{to: unlike, gives: lease{a.Key, a.Owner}})
		if b.with(fence)+written.count(yes) < d.majority {
			return driver.Grant{}, d.doubt(ctx, "acquire", written)
		}
	}
	// While the request was on its way, the servers may have granted a higher fence, and forgotten
	// it.
	if d.now().since(proposed) > d.options.FenceMemory/2 {
		return driver.Grant{}, fmt.Errorf("redlock: acquire: %w in time: the answers took longer than half of the memory for fences", ErrNoQuorum)
	}
	return valid("acquire", fence, sent, b.left(), a.TTL)
}

// valid returns a grant, unless no time is left. Clocks may drift apart by 1 % of the TTL, and
// servers truncate times to milliseconds.
func valid(operation string, fence int64, sent time.Time, left, ttl time.Duration) (driver.Grant, error) {
	left -= time.Since(sent) + ttl/100 + 2*time.Millisecond
	if left <= 0 {
		return driver.Grant{}, fmt.Errorf("redlock: %s: %w in time: the answers took longer than the lease", operation, ErrNoQuorum)
	}
	return driver.Grant{Fence: fence, Left: left}, nil
}

// Renew moves the deadline to now + TTL on a majority. Other servers that have lost the key, or
// have it with another fence, get it again. It works on servers at maxmemory.
func (d *Driver) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("redlock: renew: %w", err)
	}
	sent, attempt := time.Now(), d.attempts.Add(1)
	b := d.sendAll(ctx, d.patience(h.TTL), d.give(renewScript, h.Key, h.Owner, attempt, h.TTL, h.Fence), question{to: d.all})
	return d.renewal(ctx, &h, attempt, sent, b)
}

// renewal returns the result of a renewal that was sent at a time.
func (d *Driver) renewal(ctx context.Context, h *driver.LeaseRef, attempt int64, sent time.Time, b ballot) (driver.Grant, error) {
	switch {
	case b.count(no) >= d.majority:
		return driver.Grant{}, driver.ErrLost
	case b.count(yes) < d.majority:
		return driver.Grant{}, d.doubt(ctx, "renew", b)
	}
	// A majority has the lease already: the answers to this request change nothing.
	d.sendAll(ctx, d.patience(h.TTL), d.give(putScript, h.Key, h.Owner, attempt, h.TTL, h.Fence), question{to: b.voted(no), gives: lease{h.Key, h.Owner}})
	return valid("renew", h.Fence, sent, b.left(), h.TTL)
}

// Release frees the key on all servers, and returns when it is free on a majority. The rest is done
// in the background, where the release is sent again to servers that do not answer. The error is
// lock.ErrForgotten if so many servers had forgotten the lease that another owner may have had the
// key meanwhile. Release works on servers at maxmemory.
func (d *Driver) Release(ctx context.Context, h driver.LeaseRef) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redlock: release: %w", err)
	}
	most := max(d.fences.last(), h.Fence)
	r := d.takeBack(h.Key, h.Owner, d.attempts.Add(1), h.Fence, most)
	// A server that voted late, or will do so when it continues, has the owner's lease with a fence
	// that was never granted.
	rest := d.takeBack(h.Key, h.Owner, d.attempts.Add(1), 0, most)
	b := d.sendAll(ctx, d.patience(h.TTL), r, question{to: d.all, enough: ballot.released, late: func(n *node, a answer) {
		if a.err != nil || a.code == odd {
			d.follow(n, release{rest, time.Now().Add(max(h.TTL, minSweep))})
		}
	}})
	if b.count(no)+b.count(odd) >= d.majority {
		return driver.ErrLost
	}
	if !b.freeing() {
		d.sweep(b.failed(), r, h.TTL)
		return d.doubt(ctx, "release", b)
	}
	d.sweep(b.failed(), rest, h.TTL)
	d.sweep(d.sendAll(ctx, d.patience(h.TTL), rest, question{to: b.voted(odd)}).silent(), rest, h.TTL)
	if b.vanished() {
		return driver.ErrForgotten
	}
	return nil
}

// undo takes back the votes that an attempt may have got, from all servers except those that
// refused it. Servers that did not answer are left to the background, so that no caller waits for
// them twice.
func (d *Driver) undo(ctx context.Context, a *driver.Acquisition, attempt, fence int64, b ballot) {
	r := d.takeBack(a.Key, a.Owner, attempt, 0, fence)
	undone := d.sendAll(ctx, d.patience(a.TTL), r, question{to: b.voted(yes)})
	d.sweep(append(b.silent(), undone.silent()...), r, a.TTL)
}

// doubt returns the error for answers that decide nothing.
func (d *Driver) doubt(ctx context.Context, operation string, b ballot) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redlock: %s: %w", operation, err)
	}
	said := 0
	var errs []error
	for i := range b.answers {
		if err := b.answers[i].err; err != nil {
			errs = append(errs, err)
		} else {
			said++
		}
	}
	err := fmt.Errorf("redlock: %s: %w: %d of %d servers answered, %d of them with yes", operation, ErrNoQuorum, said, len(d.nodes), b.count(yes))
	if len(errs) > 0 {
		err = fmt.Errorf("%w: %w", err, errors.Join(errs...))
	}
	return err
}

const (
	minPause = 2 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// backoff returns a random pause before a repetition after split votes, for an owner that gave its
// votes back lost+1 times in a row and whose last attempt took a given time; lost is -1 for an
// owner that keeps its votes.
//
// A repetition takes votes from the owner that leads for as long as it needs to get them and to
// give them back. So the range of pauses doubles with each loss until it exceeds the time that all
// other owners need together, however slow the servers are. The owner that leads repeats at once
// for the votes that have become free.
func backoff(lost int, took time.Duration) time.Duration {
	if lost < 0 {
		return rand.N(minPause)
	}
	took = max(took, minPause)
	return minPause + rand.N(wait.Backoff{First: took, Longest: maxPause}.After(lost+2))
}
