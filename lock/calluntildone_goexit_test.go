package lock_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// exiting is a store whose driver ends the goroutine that asks, as FailNow of a test does.
type exiting struct {
	*memlock.Store
	exits atomic.Bool
}

func (s *exiting) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if s.exits.Load() {
		runtime.Goexit()
	}
	return s.Store.Acquire(ctx, a)
}

// While a caller waits, others come and go. Each is served, also after one whose driver
// has ended its goroutine; and no goroutine is left when the last one has left: the
// bubble would not end.
func TestGoexitOfADriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &exiting{Store: memlock.New(memlock.Options{})}
		l := lock.New(s, "a")
		held, err := l.TryAcquire(t.Context(), "held", lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		others.Go(func() {
			if waited, err := l.Acquire(t.Context(), "held", lock.Options{}); err != nil || waited.Release(t.Context()) != nil {
				t.Errorf("the caller that waits: %v", err)
			}
		})
		synctest.Wait()
		for n := range 5 {
			s.exits.Store(n == 2)
			served := false
			others.Go(func() {
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				lease, err := l.TryAcquire(ctx, "other", lock.Options{})
				if err != nil || lease.Release(ctx) != nil {
					t.Errorf("caller %d: %v", n, err)
				}
				served = true
			})
			synctest.Wait()
			if served == s.exits.Load() {
				t.Errorf("caller %d: served %v", n, served)
			}
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		others.Wait()
	})
}
