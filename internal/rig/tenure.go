package rig

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// A Tenure is a lease for which another owner waits.
type Tenure struct {
	Lease *lock.Lease
	Ended chan time.Time // receives the time at which the context of the lease ended
	Next  chan Granted   // receives the lease of the waiting owner
}

// A Granted is a lease with the time of its grant.
type Granted struct {
	Lease *lock.Lease
	At    time.Time
	Err   error
}

// A Queued driver also returns the number of owners that wait for a key.
type Queued interface {
	driver.Driver
	driver.Inspector
}

// StartTenure acquires a key with one driver and waits for it with another.
func StartTenure(t *testing.T, holder driver.Driver, other Queued, key string, o lock.Options) *Tenure {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), longest)
	defer stop()
	lease, err := lock.New(holder, "a").Acquire(ctx, key, o)
	if err != nil {
		t.Fatal(err)
	}
	at := &Tenure{Lease: lease, Ended: make(chan time.Time, 1), Next: make(chan Granted, 1)}
	context.AfterFunc(lease.Context(), func() { at.Ended <- time.Now() })
	waits := t.Context()
	go func() {
		next, err := lock.New(other, "b").Acquire(waits, key, lock.Options{})
		at.Next <- Granted{next, time.Now(), err}
	}()
	Eventually(t, "a place in the queue", func() bool {
		q, err := other.Inspect(t.Context(), key)
		return err == nil && q.Waiting == 1
	})
	return at
}

// Passes waits for the next grant. It checks that the first lease ended before it, and that the fence
// is higher.
func (at *Tenure) Passes(t *testing.T) {
	t.Helper()
	g := Soon(t, at.Next)
	if g.Err != nil {
		t.Fatal(g.Err)
	}
	select {
	case was := <-at.Ended:
		if !was.Before(g.At) {
			t.Errorf("the lease ended %v after the next was granted", was.Sub(g.At))
		}
	case <-time.After(longest):
		t.Error("the lease has not ended though the next was granted")
	}
	if cause := context.Cause(at.Lease.Context()); !errors.Is(cause, lock.ErrLost) {
		t.Errorf("the lease was ended by %v", cause)
	}
	if g.Lease.Fence() <= at.Lease.Fence() {
		t.Errorf("the fence is %d after %d", g.Lease.Fence(), at.Lease.Fence())
	}
	if err := g.Lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}
