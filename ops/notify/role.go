package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
)

// A role of a replica decides whether it sends the events in its queue.
type role uint8

const (
	second role = iota // another replica sends, or the store has not answered yet
	first              // this replica holds the lock
	free               // the lock does not answer: each replica sends
)

const (
	lockKey   = "cronce ops: alerts" // in the namespace of the store
	lockTTL   = 15 * time.Second
	lockEvery = 5 * time.Second  // between two attempts while another replica holds it
	lockRest  = 30 * time.Second // after an attempt without an answer, as of a user that may not write
	lockTry   = 3 * time.Second
	lockEnd   = 2 * time.Second // for the release of the lock
)

// elect holds the lock for as long as it can, and tries to acquire it otherwise. A new replica does not
// know the episodes that have just ended. It leaves the lock of a dead sender to a replica that knows them.
func (n *Notifier) elect(ctx context.Context) {
	_ = wait.Sleep(ctx, n.tracker.settle) // longer than that lock lasts; no episode is triggered earlier
	var lease *lock.Lease
	every := lockEvery
	defer func() {
		bound, stop := context.WithTimeout(context.WithoutCancel(ctx), lockEnd)
		defer stop()
		if lease != nil {
			_ = lease.Release(bound) // its TTL ends it otherwise
		}
		_ = n.o.Locker.Wait(bound)
	}()
	for ctx.Err() == nil {
		if lease == nil || lease.Check() != nil {
			lease, every = n.acquire(ctx)
		}
		var lost <-chan struct{}
		if lease != nil {
			lost = lease.Context().Done()
		}
		wait.Woken(ctx, every, lost)
	}
}

// acquire tries once to acquire the lock, and sets the role by the answer. It returns the time until
// the next attempt.
func (n *Notifier) acquire(ctx context.Context) (*lock.Lease, time.Duration) {
	bound, stop := context.WithTimeout(ctx, lockTry)
	defer stop()
	lease, err := n.o.Locker.TryAcquire(bound, lockKey, lock.Options{TTL: lockTTL})
	if ctx.Err() != nil {
		return lease, 0
	}
	_, held := errors.AsType[*lock.HeldError](err)
	switch {
	case err == nil:
		n.become(first)
	case held:
		n.become(second)
	default:
		if n.become(free) {
			n.o.Log.Warn("alerts are sent by each replica", slog.String("err", err.Error()))
		}
		return nil, lockRest
	}
	return lease, lockEvery
}

// become sets the role, and reports whether it has changed. A replica that got the lock sends the
// open episodes that it had left to another one, which may have died with them.
func (n *Notifier) become(r role) bool {
	n.mu.Lock()
	changed := n.role != r
	n.role = r
	var lost []event
	if r == first {
		lost = n.queue.add(time.Now(), n.tracker.taken()...)
	}
	n.queue.notify()
	n.mu.Unlock()
	n.drop(lost, "the queue is full")
	return changed
}
