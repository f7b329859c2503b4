package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// The context of a numbered lease shows the same to each goroutine that uses it before the
// end or after it: that it ended, why, and the values of the caller's context. A context
// that comes from it ends with it.
func TestContextOfNumberedLease(t *testing.T) {
	cause := errors.New("enough")
	type key struct{}
	looks := map[string]func(context.Context) context.Context{
		"unused":     func(context.Context) context.Context { return nil },
		"at its end": func(ctx context.Context) context.Context { _ = ctx.Done(); return nil },
		"child": func(ctx context.Context) context.Context {
			child, stop := context.WithTimeout(ctx, time.Hour)
			t.Cleanup(stop)
			return child
		},
		"value": func(ctx context.Context) context.Context { return context.WithValue(ctx, "more", 1) }, //nolint:staticcheck // any key does
	}
	for name, look := range looks {
		for _, late := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := &memlock.Store{}
				l := lock.New(store, "a").Claimer()
				caller, stop := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
				lease := l.Claim(caller, openSeries(t, l, store, 1))[0].Lease
				stop() // the lease does not end with it
				ctx := lease.Context()
				wantErr(t, name+": before", ctx.Err(), nil)
				if late {
					lease.Cancel(cause)
				}
				child := look(ctx)
				if !late {
					wantErr(t, name+": looked at", ctx.Err(), nil)
					lease.Cancel(cause)
				}
				lease.Cancel(errors.New("again"))
				wantErr(t, name+": ended", ctx.Err(), context.Canceled)
				wantErr(t, name+": why", context.Cause(ctx), cause)
				<-ctx.Done()
				if v := ctx.Value(key{}); v != "v" {
					t.Errorf("%s: value %v", name, v)
				}
				if child != nil {
					<-child.Done()
					wantErr(t, name+": child", context.Cause(child), cause)
				}
			})
		}
	}
}

// A renewal that is answered when the trust has ended changes nothing any more,
// though the timer has not fired yet: a Check that has returned ErrLost returns it for good.
func TestLateRenewalRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease, err := lock.New(memlock.New(memlock.Options{}), "a").TryAcquire(t.Context(), "key", lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lease.RenewedLate()
		if err := lease.Check(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("check: %v, want lock.ErrLost", err)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the context ended with %v, want lock.ErrLost", cause)
		}
	})
}

// The context of a plain lease ends with the caller's context, too: it shows which end came
// first, and carries the lease.
func TestContextOfPlainLease(t *testing.T) {
	first := errors.New("first")
	for _, look := range []string{"never", "before", "after"} {
		for _, ends := range []string{"release", "caller", "deadline"} {
			synctest.Test(t, func(t *testing.T) {
				l := lock.New(&memlock.Store{}, "a")
				timed, end := context.WithTimeout(t.Context(), time.Second)
				defer end()
				caller, stop := context.WithCancelCause(timed)
				lease, err := l.TryAcquire(t.Context(), "k", lock.Options{Context: caller})
				wantErr(t, "acquire", err, nil)
				ctx := lease.Context()
				if look == "before" {
					child, done := context.WithCancel(ctx)
					defer done()
					wantErr(t, "child before the end", child.Err(), nil)
					defer func() { <-child.Done() }()
					again, err := l.TryAcquire(child, "k", lock.Options{Reenter: true})
					wantErr(t, "the same key inside", err, nil)
					wantErr(t, "its release", again.Release(t.Context()), nil)
				}
				_, hasDeadline := ctx.Deadline()
				wantErr(t, "before the end", ctx.Err(), nil)

				want, why := context.Canceled, lock.ErrReleased
				end1 := func() { wantErr(t, "release", lease.Release(t.Context()), nil) }
				end2 := func() { stop(first) }
				switch ends {
				case "caller":
					end1, end2, why = end2, end1, first
				case "deadline":
					end1, end2 = func() { time.Sleep(time.Second); synctest.Wait() }, end1
					want, why = context.DeadlineExceeded, context.DeadlineExceeded
				}
				end1()
				if look == "after" {
					wantErr(t, ends+" came: Err", ctx.Err(), want)
				}
				end2()
				<-ctx.Done()
				wantErr(t, ends+" came first: Err", ctx.Err(), want)
				wantErr(t, ends+" came first: cause", context.Cause(ctx), why)
				if !hasDeadline {
					t.Error("the deadline of the caller is not the lease's")
				}
			})
		}
	}
}
