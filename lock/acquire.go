package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// TryAcquire acquires key if it is free, and does not wait for another owner. It returns a
// *HeldError if another owner has the key, or if the key is free and others wait for it. An *ArgumentError
// or ErrUnsupported refuses the call before a request is sent: a key has 1 to 200 bytes of printable UTF-8.
//
// After doubt TryAcquire repeats the request with the same owner until ctx ends, but for no longer
// than 3 seconds or the TTL, if that is shorter. It then undoes the grant that it may have got and
// returns the doubt, with the cause of ctx's end. It returns within 100 ms of that end, however
// long the store takes: the undoing continues in the background, see [Locker.Wait].
//
// Ctx bounds the requests only: the lease is held until Release, or until it is lost, and its
// context comes from Options.Context.
func (l *Locker) TryAcquire(ctx context.Context, key string, o Options) (*Lease, error) {
	if lease, err := l.reenter(ctx, key, &o); lease != nil || err != nil {
		return lease, err
	}
	a := l.acquisition(key, o)
	if err := l.check(ctx, &a, &o); err != nil {
		return nil, err
	}
	a.Barge = o.Barge
	behind := !a.Barge && l.local.waited(key)
	w := l.wants(key)
	lease, err := l.try(ctx, a, &o, l.driver.Acquire)
	if err == nil && behind {
		l.giveBack(ctx, lease)
		lease, err = nil, &HeldError{Key: key}
	}
	return w.has(lease, err)
}

// giveBack releases a lease that a try was granted while other callers of this process wait for the
// key: the store does not know all of them. The try sends its request all the same, since doubt
// must not be returned as held.
func (l *Locker) giveBack(ctx context.Context, lease *Lease) {
	l.background.do(ctx, func(ctx context.Context) { _ = lease.Release(ctx) }) // its TTL ends it otherwise
}

// Acquire waits for key until ctx ends. The order is first come, first served if the store is a
// [driver.Waiter]; otherwise Acquire repeats its request, with pauses of up to half a second.
//
// The callers of one Locker that wait for one key form a local queue. Only its first caller, or the
// readers at its head together, have a place in the store's queue, so a process with many waiting
// callers gets the key no more often than any other process.
//
// When ctx ends, Acquire returns within 100 ms, however long the store takes. Its place in the
// queue, and the grant that it may have got, are given up in the background, see [Locker.Wait]. The
// error wraps the cause of that end and the last answer: a *HeldError, or the doubt. A caller that
// was not at the head of the local queue has sent no request: its error wraps the cause alone,
// since nothing is known of the store.
//
// Ctx bounds the wait only: the lease has the same life as one from [Locker.TryAcquire]. See
// [Options].Reenter for a key that the caller may hold already.
func (l *Locker) Acquire(ctx context.Context, key string, o Options) (*Lease, error) {
	if lease, err := l.reenter(ctx, key, &o); lease != nil || err != nil {
		return lease, err
	}
	a := l.acquisition(key, o)
	if err := l.check(ctx, &a, &o); err != nil {
		return nil, err
	}
	w := l.wants(key)
	return w.has(l.acquire(ctx, a, &o, w))
}

// acquire is Acquire after its arguments were checked.
func (l *Locker) acquire(ctx context.Context, a driver.Acquisition, o *Options, w *wanting) (*Lease, error) {
	key := a.Key
	if o.Barge {
		a.Barge = true
		lease, err := l.try(ctx, a, o, l.driver.Acquire)
		switch {
		case isHeld(err) && ctx.Err() != nil:
			return nil, failed(ctx, key, err)
		case !isHeld(err) && !doubtful(err) || ctx.Err() != nil:
			return lease, err
		}
		a.Owner, a.Barge = l.owner(o.Note), false // the first is undone, or was never granted
	}
	turn, err := l.local.waitTurn(ctx, key, a.Limit == NoLimit, w)
	if err != nil {
		return nil, fmt.Errorf("lock: acquire %q: %w", key, err)
	}
	var givenUp time.Time
	if l.inline.may(ctx, &a) {
		var lease *Lease
		if lease, givenUp = l.acquireInline(ctx, &a, o, turn); lease != nil {
			return lease, nil
		}
	}
	return l.callUntilDone(ctx, key, func(latest *noted) (*Lease, error) {
		var waited atomic.Bool
		a.Answered = latest.note
		a.Refused = func(held *HeldError) {
			w.mustWait(held.Left)
			waited.Store(true)
			turn.waits.Store(true)
		}
		granted := false
		defer func() { l.local.pass(key, turn, !granted || waited.Load()) }() // also when the driver panics
		lease, err := l.wait(ctx, a, o)
		granted = err == nil
		return lease.repeated(givenUp), err
	})
}

// acquireInline returns a lease on a key that is free, and passes the turn on. If it returns nil,
// the caller still has the turn and must wait. After it found the key held, the next calls of this
// Locker go directly to the store's queue. GivenUp is the one of askInline.
func (l *Locker) acquireInline(ctx context.Context, a *driver.Acquisition, o *Options, turn *localQueue) (lease *Lease, givenUp time.Time) {
	panicked := true
	defer func() {
		if panicked || lease != nil {
			l.local.pass(a.Key, turn, lease == nil)
		}
	}()
	lease, givenUp, err := l.askInline(ctx, a, o, l.driver.Acquire)
	panicked = false
	if err != nil {
		l.inline.postpone()
	}
	return lease, givenUp
}

// callUntilDone calls the function callUntilDone for one key.
func (l *Locker) callUntilDone(ctx context.Context, key string, ask func(*noted) (*Lease, error)) (*Lease, error) {
	return callUntilDone(ctx, l, func(err error) error { return failed(ctx, key, err) }, ask)
}

func (l *Locker) acquisition(key string, o Options) driver.Acquisition {
	return o.acquisition(key, l.owner(o.Note))
}

// check rejects an acquisition that no store, or not this one, supports.
func (l *Locker) check(ctx context.Context, a *driver.Acquisition, o *Options) error {
	if ctx == nil { // its first use would panic in the turn of this caller, which then would never end
		return driver.Refuse("context", "nil", "a context")
	}
	if err := o.check(a); err != nil {
		return err
	}
	if a.Limit > 1 && !l.shares {
		return fmt.Errorf("lock: acquire %q with the limit %s: %w", a.Key, limitText(a.Limit), ErrUnsupported)
	}
	return driver.Front{Driver: l.driver}.CheckReplicas(a.Replicas)
}

// An asking is a method of a driver that may grant a key.
type asking func(ctx context.Context, a driver.Acquisition) (driver.Grant, error)

// try repeats the request until the store answers, ctx ends, or tryTime has passed.
func (l *Locker) try(ctx context.Context, a driver.Acquisition, o *Options, send asking) (*Lease, error) {
	var givenUp time.Time
	if l.inline.may(ctx, &a) {
		var lease *Lease
		var err error
		if lease, givenUp, err = l.askInline(ctx, &a, o, send); givenUp.IsZero() {
			return lease, err
		}
	}
	return l.callUntilDone(ctx, a.Key, func(latest *noted) (lease *Lease, err error) {
		err = retry(ctx, tryTime(a.TTL), func(bound context.Context) error {
			lease, err = l.request(ctx, bound, &a, o, send)
			latest.note(err)
			return err
		})
		if doubtful(err) {
			l.undo(ctx, a)
			return nil, failed(ctx, a.Key, err)
		}
		return lease.repeated(givenUp), err
	})
}

// tryTime returns how long a try is repeated after doubt: its caller needs an answer soon, however
// long the lease will be.
func tryTime(ttl time.Duration) time.Duration { return min(ttl, 3*time.Second) }

// retry calls ask until its answer is no doubt, ctx ends, or d has passed. It returns the last
// answer that is more than the end of ctx.
func retry(ctx context.Context, d time.Duration, ask func(bound context.Context) error) error {
	bound, stop := context.WithTimeout(ctx, d)
	defer stop()
	var last error
	for n := 1; ; n++ {
		err := ask(bound)
		last = latest(bound, last, err)
		if !doubtful(err) || wait.Sleep(bound, wait.Backoff{First: firstRetry, Longest: maxRetry}.After(n)) != nil {
			return last
		}
	}
}

// retryAfterCancel is retry for requests that must be sent even if ctx has ended, such as the
// release after work that was cancelled: it sends those with a short timeout of their own.
func retryAfterCancel(ctx context.Context, d time.Duration, ask func(bound context.Context) error) error {
	if ctx.Err() == nil {
		if err := retry(ctx, d, ask); !doubtful(err) || ctx.Err() == nil {
			return err
		}
	}
	return retry(context.WithoutCancel(ctx), min(d, lastTime), ask)
}

const lastTime = time.Second

// latest returns the answer to keep when err came after last. A doubt that comes with the end of
// ctx shows only that the request was cut off: the doubt before it shows the fault of the store.
func latest(ctx context.Context, last, err error) error {
	if last != nil && wait.Ended(ctx) && doubtful(err) {
		return last
	}
	return err
}

// The pauses between two requests after doubt.
const (
	firstRetry = 20 * time.Millisecond
	maxRetry   = time.Second
)

// request sends one acquisition. After a grant that came too late the next request has a new owner,
// because the store may receive the undoing of the late grant after that request.
func (l *Locker) request(ctx, bound context.Context, a *driver.Acquisition, o *Options, send asking) (*Lease, error) {
	a.Fence = l.floors.Of(a.Key)
	sent := time.Now()
	g, err := send(bound, *a)
	if err != nil {
		return nil, err
	}
	lease, err := l.keep(o.base(ctx), *a, o.Fixed, g, sent)
	if err != nil {
		a.Owner = l.owner(o.Note)
	}
	return lease, err
}

// keep makes a lease of a grant whose request was sent at the time sent, and renews the lease. The
// lease's context comes from base. A grant that took longer than its trust is undone.
func (l *Locker) keep(base context.Context, a driver.Acquisition, fixed bool, g driver.Grant, sent time.Time) (*Lease, error) {
	if !g.Asked.IsZero() {
		sent = g.Asked
	}
	l.floors.Raise(a.Key, g.Fence)
	lease := &Lease{locker: l, ref: driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL, Limit: a.Limit, Replicas: a.Replicas}}
	l.keeper.Begin(&lease.kept, lease.carry(base), lease, renew.Grant{TTL: a.TTL, Left: g.Left, Sent: sent, Fixed: fixed})
	now := l.keeper.Now()
	if lease.kept.Over(now) {
		lease.kept.End()
		l.undo(base, a)
		return nil, fmt.Errorf("lock: acquire %q: the answer took longer than the lease: %w", a.Key, context.DeadlineExceeded)
	}
	l.keeper.Add(now, &lease.kept)
	return lease, nil
}

// undo releases the lease that a request without an answer may have been granted.
func (l *Locker) undo(ctx context.Context, a driver.Acquisition) {
	h := driver.LeaseRef{Key: a.Key, Owner: a.Owner, TTL: a.TTL, Limit: a.Limit}
	l.background.do(ctx, func(ctx context.Context) { _ = l.driver.Release(ctx, h) }) // its TTL ends it otherwise
}

// Do waits for key, as [Locker.Acquire] does, calls f while it holds the key, and releases the key.
// The context of f ends with the lease and with ctx, and with Options.Context if that is set. Do
// returns f's error, joined with the error of the release.
func (l *Locker) Do(ctx context.Context, key string, o Options, f func(ctx context.Context, lease *Lease) error) error {
	if f == nil {
		return driver.Refuse("function", "nil", "a function")
	}
	given := o.Context != nil
	if !given {
		o.Context = ctx
	}
	lease, err := l.Acquire(ctx, key, o)
	if err != nil {
		return err
	}
	if given {
		defer context.AfterFunc(ctx, func() { lease.Cancel(context.Cause(ctx)) })()
	}
	defer func() { _ = lease.Release(ctx) }() // when f panics; otherwise it is released already
	err = f(lease.Context(), lease)
	return errors.Join(err, lease.Release(ctx))
}

// isHeld reports whether err is the answer that another owner has the key.
func isHeld(err error) bool {
	_, is := errors.AsType[*HeldError](err)
	return is
}
