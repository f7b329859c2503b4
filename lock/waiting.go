package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
)

// wait gets a lease for the caller that has the turn in the local queue. The turn ends with the
// grant and not with the release, so that the next caller has a place in the store's queue while
// the key is held. A release then wakes the first owner in the store's queue, of any process.
func (l *Locker) wait(ctx context.Context, a driver.Acquisition, o *Options) (*Lease, error) {
	for {
		a.Fence = l.floors.Of(a.Key)
		sent := time.Now()
		g, err := l.queue(ctx, a)
		if err != nil {
			return nil, failed(ctx, a.Key, err)
		}
		lease, err := l.keep(o.base(ctx), a, o.Fixed, g, sent)
		switch {
		case err != nil && ctx.Err() == nil: // too late: try again as a new owner
			a.Owner = l.owner(o.Note)
		case err == nil && ctx.Err() != nil:
			l.giveBack(ctx, lease)
			return nil, failed(ctx, a.Key, ctx.Err())
		default:
			return lease, err
		}
	}
}

// failed returns the error of an acquisition that ended without a grant. An *ArgumentError stays as
// it is: nothing was sent.
func failed(ctx context.Context, key string, err error) error {
	if _, bad := errors.AsType[*ArgumentError](err); bad {
		return err
	}
	return fmt.Errorf("lock: acquire %q: %w", key, withCause(ctx, err))
}

// withCause returns err, with the cause of ctx's end if ctx has ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// queue waits in the store, or polls a store that has no queue.
func (l *Locker) queue(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if w, ok := l.driver.(driver.Waiter); ok {
		return w.Wait(ctx, a)
	}
	var last error
	for n := 1; ; n++ {
		sent := time.Now()
		g, err := l.driver.Acquire(ctx, a)
		if err == nil && g.Asked.IsZero() {
			g.Asked = sent
		}
		if !isHeld(err) && !doubtful(err) {
			return g, err
		}
		a.NoteRefusal(err)
		last = latest(ctx, last, err)
		if wait.Sleep(ctx, polls.After(n)) != nil {
			if !isHeld(err) {
				l.undo(ctx, a)
			}
			return driver.Grant{}, last // the caller adds the end of ctx
		}
	}
}

// polls are the pauses between polls of a store that has no queue.
var polls = wait.Backoff{First: 20 * time.Millisecond, Longest: 350 * time.Millisecond, Spread: true}
