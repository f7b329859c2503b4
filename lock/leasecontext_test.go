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
