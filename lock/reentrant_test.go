package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// A context that came from a lease acquires its key again without asking the
// store; the outermost release frees it.
func TestReentrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		outer := acquire(t, l, "k", lock.Options{})
		middle, err := l.Acquire(outer.Context(), "k", lock.Options{Reenter: true})
		wantErr(t, "acquire again", err, nil)
		inner, err := l.TryAcquire(middle.Context(), "k", lock.Options{Reenter: true})
		wantErr(t, "try again", err, nil)
		if store.acquires.Load() != 1 || inner.Fence() != outer.Fence() || inner.Deadline() != outer.Deadline() {
			t.Errorf("the store was asked %d times, the fences are %d and %d", store.acquires.Load(), outer.Fence(), inner.Fence())
		}
		wantErr(t, "extend a lease that is renewed", inner.Extend(t.Context()), lock.ErrUnsupported)
		wantErr(t, "release", middle.Release(t.Context()), nil)
		late, err := l.TryAcquire(context.WithoutCancel(middle.Context()), "k", lock.Options{Reenter: true})
		wantErr(t, "again, with a context of a lease that was released inside the outer one", err, nil)
		for _, s := range []*lock.Lease{inner, late} {
			wantErr(t, "release", s.Release(t.Context()), nil)
			wantErr(t, "release twice", s.Release(t.Context()), lock.ErrReleased)
			wantErr(t, "the cause", context.Cause(s.Context()), lock.ErrReleased)
			wantErr(t, "check", s.Check(), lock.ErrReleased)
			wantErr(t, "extend", s.Extend(t.Context()), lock.ErrReleased)
			wantErr(t, "check of the outer lease", outer.Check(), nil)
		}
		if n := store.releases.Load(); n != 0 {
			t.Errorf("the store was asked for %d releases", n)
		}
		wantErr(t, "release", outer.Release(t.Context()), nil)
		wantErr(t, "release", acquire(t, lock.New(store, "b"), "k", lock.Options{}).Release(t.Context()), nil)
	})
}

// The context of a lease inside another shares that lease too, even if the inner lease was given
// another context, and so does the context of several leases if one of them is inside another.
func TestReentrantThroughAnotherContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		other := acquire(t, l, "other", lock.Options{})
		outer := acquire(t, l, "k", lock.Options{})
		o := lock.Options{Reenter: true, Context: other.Context()}
		middle, err := l.Acquire(outer.Context(), "k", o)
		wantErr(t, "acquire again", err, nil)
		all, err := l.AcquireAll(outer.Context(), []string{"k", "more"}, o)
		wantErr(t, "acquire again with more", err, nil)
		for _, c := range []struct {
			ctx  context.Context
			keys []string
		}{{middle.Context(), []string{"k", "other"}}, {all.Context(), []string{"k", "more", "other"}}} {
			for _, key := range c.keys {
				inner, err := l.TryAcquire(c.ctx, key, lock.Options{Reenter: true})
				wantErr(t, "try "+key, err, nil)
				wantErr(t, "release "+key, inner.Release(t.Context()), nil)
			}
		}
		wantErr(t, "release", errors.Join(all.Release(t.Context()), middle.Release(t.Context())), nil)
		wantErr(t, "check", outer.Check(), nil)
		wantErr(t, "release the outer ones", errors.Join(outer.Release(t.Context()), other.Release(t.Context())), nil)
	})
}

// Extend and Abandon of a lease inside another count for the outer lease, and a context that has ended gets
// no lease.
func TestReentrantCallsOfTheInnerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		outer := acquire(t, l, "k", lock.Options{TTL: 10 * time.Second, Fixed: true})
		inner, err := l.Acquire(outer.Context(), "k", lock.Options{Reenter: true})
		wantErr(t, "acquire again", err, nil)
		time.Sleep(5 * time.Second)
		wantErr(t, "extend", inner.Extend(t.Context()), nil)
		if left := time.Until(outer.Deadline()); left != 9*time.Second { // less the margin
			t.Errorf("%v are left after the extension", left)
		}
		ended, end := context.WithCancel(outer.Context())
		end()
		_, err = l.Acquire(ended, "k", lock.Options{Reenter: true})
		wantErr(t, "acquire with a context that has ended", err, context.Canceled)
		reason := errors.New("it cannot end")
		inner.Abandon(reason)
		wantErr(t, "the cause of the inner context", context.Cause(inner.Context()), reason)
		wantErr(t, "the cause of the outer context", context.Cause(outer.Context()), reason)
	})
}

// Only the context of the lease, of the same Locker and key, shares it: neither
// the process nor the Locker is enough.
func TestReentrantOnlyByContext(t *testing.T) {
	store := &memlock.Store{}
	l := lock.New(store, "a")
	outer := acquire(t, l, "k", lock.Options{})
	for name, try := range map[string]func() (*lock.Lease, error){
		"another context":                     func() (*lock.Lease, error) { return l.TryAcquire(t.Context(), "k", lock.Options{Reenter: true}) },
		"the context, and no wish to reenter": func() (*lock.Lease, error) { return l.TryAcquire(outer.Context(), "k", lock.Options{}) },
		"another Locker": func() (*lock.Lease, error) {
			return lock.New(store, "b").TryAcquire(outer.Context(), "k", lock.Options{Reenter: true})
		},
	} {
		_, err := try()
		if _, held := errors.AsType[*lock.HeldError](err); !held {
			t.Errorf("%s: %v, want a HeldError", name, err)
		}
	}
	other, err := l.TryAcquire(outer.Context(), "other", lock.Options{})
	wantErr(t, "another key", err, nil)
	inner, err := l.TryAcquire(other.Context(), "k", lock.Options{Reenter: true}) // through the lease on another key
	wantErr(t, "the key again", err, nil)
	if inner.Fence() != outer.Fence() {
		t.Errorf("the fence is %d, want %d", inner.Fence(), outer.Fence())
	}
}

// The child of a lost lease gets ErrLost, not a count, also where its context no
// longer ends with the lease; one that lives ends with it.
func TestReentrantLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		outer := acquire(t, l, "k", lock.Options{TTL: time.Second, Fixed: true})
		detached := context.WithoutCancel(outer.Context())
		inner, err := l.Acquire(detached, "k", lock.Options{Reenter: true})
		wantErr(t, "acquire again", err, nil)
		time.Sleep(2 * time.Second)
		wantErr(t, "the cause", context.Cause(inner.Context()), lock.ErrLost)
		wantErr(t, "check", inner.Check(), lock.ErrLost)
		wantErr(t, "release", inner.Release(t.Context()), lock.ErrLost)
		for _, ctx := range []context.Context{outer.Context(), detached} {
			_, err := l.Acquire(ctx, "k", lock.Options{Reenter: true})
			wantErr(t, "acquire after the loss", err, lock.ErrLost)
		}
	})
}

// The release of the outermost ends all inside it; a context that outlived it
// asks the store again.
func TestReentrantAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		outer := acquire(t, l, "k", lock.Options{})
		detached := context.WithoutCancel(outer.Context())
		inner, err := l.Acquire(detached, "k", lock.Options{Reenter: true})
		wantErr(t, "acquire again", err, nil)
		wantErr(t, "release", outer.Release(t.Context()), nil)
		synctest.Wait()
		wantErr(t, "the cause", context.Cause(inner.Context()), lock.ErrReleased)
		wantErr(t, "check", inner.Check(), lock.ErrReleased)
		next, err := l.Acquire(detached, "k", lock.Options{Reenter: true})
		wantErr(t, "acquire anew", err, nil)
		if next.Fence() <= outer.Fence() {
			t.Errorf("the fence is %d, the one before was %d", next.Fence(), outer.Fence())
		}
		wantErr(t, "release", next.Release(t.Context()), nil)
	})
}

// A function that needs the key can call another that needs it too.
func Example_reentrant() {
	locker := lock.New(&memlock.Store{}, "pod-1") // in a program by lock.Open
	book := func(ctx context.Context) error {
		return locker.Do(ctx, "account", lock.Options{Reenter: true}, func(ctx context.Context, lease *lock.Lease) error {
			fmt.Println("booked")
			return lease.Check()
		})
	}
	err := locker.Do(context.Background(), "account", lock.Options{}, func(ctx context.Context, _ *lock.Lease) error {
		return book(ctx)
	})
	fmt.Println(err)
	// Output:
	// booked
	// <nil>
}
