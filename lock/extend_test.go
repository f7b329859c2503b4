package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
)

// A fixed lease ends after its TTL, counted from when it was last extended, and is
// not renewed by itself after that either.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: 10 * time.Second, Fixed: true})
		for range 3 {
			time.Sleep(6 * time.Second)
			wantErr(t, "extend", lease.Extend(t.Context()), nil)
		}
		if left := time.Until(lease.Deadline()); left != 9*time.Second { // less the margin
			t.Errorf("%v are left after the extension", left)
		}
		fence := lease.Fence()
		time.Sleep(9*time.Second - 1)
		wantErr(t, "check", lease.Check(), nil)
		time.Sleep(time.Nanosecond)
		wantErr(t, "check at the end", lease.Check(), lock.ErrLost)
		wantErr(t, "extend what is lost", lease.Extend(t.Context()), lock.ErrLost)
		if n := store.renewals.Load(); n != 3 || lease.Fence() != fence {
			t.Errorf("%d renewals for three extensions, fence %d after %d", n, lease.Fence(), fence)
		}
	})
}

// A lease that cannot be extended is refused by name, and doubt leaves the lease unchanged.
func TestExtendRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		renewed := acquire(t, l, "renewed", lock.Options{})
		wantErr(t, "extend what is renewed", renewed.Extend(t.Context()), lock.ErrUnsupported)
		wantErr(t, "release", renewed.Release(t.Context()), nil)

		var d diary
		l.OnEvent(d.note)
		lease := acquire(t, l, "k", lock.Options{TTL: 10 * time.Second, Fixed: true})
		before := lease.Deadline()
		store.lose = func(op string) bool { return op == "renew" }
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err := lease.Extend(ctx)
		wantErr(t, "extend in doubt", err, errNetwork)
		wantErr(t, "extend in doubt", err, context.DeadlineExceeded)
		if !lease.Deadline().Equal(before) || lease.Check() != nil {
			t.Errorf("after doubt: %v, the deadline moved by %v", lease.Check(), lease.Deadline().Sub(before))
		}
		d.want(t, l, "acquired k 0s") // and not extended
		store.lose = times(2, "renew")
		time.Sleep(time.Second)
		wantErr(t, "extend after two lost replies", lease.Extend(t.Context()), nil)
		store.Forget()
		if err := lease.Extend(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("extend what the store forgot: %v", err)
		}
		wantErr(t, "the cause", context.Cause(lease.Context()), lock.ErrForgotten)
		late := acquire(t, l, "late", lock.Options{TTL: 10 * time.Second, Fixed: true})
		store.lose = func(string) bool { time.Sleep(4500 * time.Millisecond); return false }
		time.Sleep(5 * time.Second)
		wantErr(t, "extend with an answer that comes after the end of trust", late.Extend(t.Context()), lock.ErrLost)
		store.lose = func(string) bool { return false }
		other := acquire(t, l, "other", lock.Options{Fixed: true})
		wantErr(t, "release", other.Release(t.Context()), nil)
		wantErr(t, "extend what is released", other.Extend(t.Context()), lock.ErrReleased)
	})
}
