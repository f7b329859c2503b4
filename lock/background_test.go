package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// polled is a store in which nobody can wait.
type polled struct{ f *faulty }

func (p polled) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return p.f.Acquire(ctx, a)
}
func (p polled) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return p.f.Renew(ctx, h)
}
func (p polled) Release(ctx context.Context, h driver.LeaseRef) error { return p.f.Release(ctx, h) }

// A lease that was granted by a lost answer, while a key was tried or polled, is given back when
// the caller's time is over: at once if the store answers, else in the background.
func TestLostGrantIsUndone(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := newFaulty()
			store.lose = func(op string) bool { return op == "acquire" }
			store.before = func(op string) {
				if op == "release" && hangs {
					time.Sleep(900 * time.Millisecond)
				}
			}
			l := lock.New(polled{store}, "a")
			for _, ask := range []func(context.Context, string, lock.Options) (*lock.Lease, error){l.Acquire, l.TryAcquire} {
				ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
				began := time.Now()
				_, err := ask(ctx, "k", lock.Options{TTL: time.Hour})
				stop()
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 300*time.Millisecond {
					t.Errorf("the answer came after %v: %v", took, err)
				}
				if hangs {
					soon, stop := context.WithTimeout(t.Context(), time.Millisecond)
					wantErr(t, "a short wait for what goes on behind", l.Wait(soon), context.DeadlineExceeded)
					stop()
				}
				wantErr(t, "the wait for what goes on behind", l.Wait(t.Context()), nil)
				free(t, lock.New(store.Store, "b"), "k")
			}
		})
	}
}
