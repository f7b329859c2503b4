package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// plainOnly hides the abilities of a store beyond plain leases.
type plainOnly struct{ driver.Driver }

// An order records the owners of the key, in turn.
type order struct {
	mu   sync.Mutex
	list []string
}

func (o *order) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, name)
}

// enter starts a caller that waits for the key, has it for a millisecond, and records that.
func enter(t *testing.T, wg *sync.WaitGroup, l *lock.Locker, o *order, name string) {
	wg.Go(func() {
		lease, err := l.Acquire(t.Context(), "k", lock.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		o.add(name)
		time.Sleep(time.Millisecond)
		wantErr(t, name, lease.Release(t.Context()), nil)
	})
	synctest.Wait()
}

// In one process callers that wait are served in the order in which they came.
func TestLocalOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		first := acquire(t, l, "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		for i := range 20 {
			enter(t, &wg, l, &o, fmt.Sprintf("%02d", i))
		}
		if at, err := l.Inspect(t.Context(), "k"); err != nil || at.Waiting != 1 || at.Owner == "" {
			t.Errorf("the store has %+v, %v, want one place for all", at, err)
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
		if len(o.list) != 20 || !slices.IsSorted(o.list) {
			t.Errorf("served in the order %v", o.list)
		}
	})
}

// Many callers in one process take turns with another process: while a caller of the other process
// waits, the key never goes twice in a row to callers of one process.
func TestProcessesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		a, b := lock.New(store, "a"), lock.New(store, "b")
		first := acquire(t, a, "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		for range 20 {
			enter(t, &wg, a, &o, "a")
		}
		for range 3 {
			enter(t, &wg, b, &o, "b")
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
		if got := fmt.Sprint(o.list[:6]); got != "[a b a b a b]" {
			t.Errorf("the key went to %s", got)
		}
	})
}

// A caller that stops waiting leaves its local queue, from any place, and the others are served. A
// caller that was not at the head does not know the state of the store, and does not report held.
func TestStopWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		first := acquire(t, l, "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		for i := range 6 {
			ctx, stop := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
			defer stop()
			wg.Go(func() {
				_, err := l.Acquire(ctx, "k", lock.Options{})
				wantErr(t, "the end of waiting", err, context.DeadlineExceeded)
				if _, held := errors.AsType[*lock.HeldError](err); held != (i == 0) {
					t.Errorf("the end of waiting in place %d is %v: only the first has an answer of the store", i, err)
				}
			})
			synctest.Wait()
			enter(t, &wg, l, &o, fmt.Sprint(i))
		}
		time.Sleep(10 * time.Second)
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
		if got := fmt.Sprint(o.list); got != "[0 1 2 3 4 5]" {
			t.Errorf("served in the order %s", got)
		}
		if at, err := l.Inspect(t.Context(), "k"); err != nil || at != (driver.KeyState{}) {
			t.Errorf("left behind: %+v, %v", at, err)
		}
	})
}

// The end of waiting says whether the key was held.
func TestEndOfWaitingHasItsCause(t *testing.T) {
	for name, wrap := range map[string]func(driver.Driver) driver.Driver{
		"queued": func(d driver.Driver) driver.Driver { return d },
		"polled": func(d driver.Driver) driver.Driver { return plainOnly{d} },
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &memlock.Store{}
			acquire(t, lock.New(store, "a"), "k", lock.Options{})
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
			defer stop()
			_, err := lock.New(wrap(store), "b").Acquire(ctx, "k", lock.Options{})
			wantErr(t, name, err, context.DeadlineExceeded)
			if held, ok := errors.AsType[*lock.HeldError](err); !ok || held.Key != "k" {
				t.Errorf("%s: the error is %v, want one with a HeldError", name, err)
			}
		})
	}
}

// A store without a queue is asked again and again, with pauses, and doubt is no
// end.
func TestPolledStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		first := acquire(t, lock.New(store, "a"), "k", lock.Options{})
		before := store.acquires.Load()
		time.AfterFunc(10*time.Second, func() { wantErr(t, "release", first.Release(t.Context()), nil) })
		store.lose = times(3, "acquire")
		lease, err := lock.New(plainOnly{store}, "b").Acquire(t.Context(), "k", lock.Options{TTL: 5 * time.Second})
		wantErr(t, "acquire", err, nil)
		if n := store.acquires.Load() - before; n < 15 || n > 80 {
			t.Errorf("asked %d times in 10 seconds, want about 30", n)
		}
		if n := store.releases.Load(); n != 1 {
			t.Errorf("%d releases, want one: a grant after a long wait is not late", n)
		}
		if lease.Fence() <= first.Fence() {
			t.Errorf("the fence is %d, the one before was %d", lease.Fence(), first.Fence())
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
	})
}

// A store without a queue that refuses a request for good is not asked again.
func TestPolledStoreThatRefuses(t *testing.T) {
	lease, err := lock.New(plainOnly{refusesAll{new(memlock.Store)}}, "a").Acquire(t.Context(), "k", lock.Options{})
	if wantErr(t, "acquire", err, lock.ErrUnsupported); lease != nil {
		t.Errorf("there is a lease: %+v", lease)
	}
}

type refusesAll struct{ *memlock.Store }

func (refusesAll) Acquire(context.Context, driver.Acquisition) (driver.Grant, error) {
	return driver.Grant{}, lock.ErrUnsupported
}

// A grant that was asked for long ago is no lease: the waiter asks again.
func TestStaleHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stale{Store: &memlock.Store{}, by: 2 * time.Second}
		l := lock.New(store, "a")
		lease, err := l.Acquire(t.Context(), "k", lock.Options{TTL: time.Second})
		wantErr(t, "acquire", err, nil)
		wantErr(t, "check", lease.Check(), nil)
		if store.waits != 2 {
			t.Errorf("asked %d times, want 2", store.waits)
		}
		if left := time.Until(lease.Deadline()); left != 900*time.Millisecond {
			t.Errorf("trusted for %v, want 900ms from when it was asked for", left)
		}
	})
}

// stale is a store whose first grant is old when it arrives; the second waited
// for long and was confirmed just now.
type stale struct {
	*memlock.Store
	by    time.Duration
	waits int
}

func (s *stale) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if s.waits++; s.waits > 1 {
		time.Sleep(s.by)
		return s.Store.Wait(ctx, a)
	}
	g, err := s.Store.Wait(ctx, a)
	time.Sleep(s.by)
	return g, err
}

// Barging takes a key that is reserved for a waiter, and the waiter gets it next.
func TestBarging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		l := lock.New(store, "a")
		first := acquire(t, l, "k", lock.Options{})
		wait := driver.Acquisition{Key: "k", Owner: "x/1", TTL: time.Minute}
		awake := make(chan struct{}) // the waiter has a place, and does not take the key before this ends
		wait.Answered = func(error) { <-awake }
		var fence int64
		var wg sync.WaitGroup
		wg.Go(func() {
			g, err := store.Wait(t.Context(), wait)
			wantErr(t, "wait", err, nil)
			fence = g.Fence
		})
		synctest.Wait()
		wantErr(t, "release", first.Release(t.Context()), nil)
		if g, err := store.Acquire(t.Context(), driver.Acquisition{Key: "k", Owner: "x/2", TTL: time.Minute}); err == nil {
			t.Fatalf("not reserved for the waiter: %+v", g)
		}
		began := time.Now()
		barging, err := l.Acquire(t.Context(), "k", lock.Options{Barge: true})
		wantErr(t, "barge", err, nil)
		if d := time.Since(began); d != 0 {
			t.Errorf("barging waited for %v", d)
		}
		close(awake)
		synctest.Wait()
		if fence != 0 {
			t.Errorf("the waiter got fence %d while the key was held with %d", fence, barging.Fence())
		}
		wantErr(t, "release", barging.Release(t.Context()), nil)
		wg.Wait()
		if fence <= barging.Fence() {
			t.Errorf("the waiter got fence %d after %d", fence, barging.Fence())
		}
	})
}

// A lost answer to a release, after which the key went on, is no loss.
func TestReleaseAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		first := acquire(t, lock.New(store, "a"), "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		enter(t, &wg, lock.New(store.Store, "b"), &o, "b")
		store.lose = times(1, "release")
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
	})
}

func ExampleLocker_Acquire() {
	locker := lock.New(&memlock.Store{}, "pod-1")                       // in a program by lock.Open
	ctx, stop := context.WithTimeout(context.Background(), time.Second) // how long to wait at most
	defer stop()
	lease, err := locker.Acquire(ctx, "stock/4711", lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("holding", lease.Key())
	fmt.Println(lease.Release(context.WithoutCancel(ctx)))
	// Output:
	// holding stock/4711
	// <nil>
}

// A caller that barges in vain, because the key is held or the store in doubt for long, waits in
// line like others.
func TestBargingInVain(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := newFaulty()
			first := acquire(t, lock.New(store, "a"), "k", lock.Options{})
			store.lose = func(op string) bool { return doubt && op == "acquire" }
			time.AfterFunc(10*time.Second, func() { wantErr(t, "release", first.Release(t.Context()), nil) })
			lease, err := lock.New(store, "b").Acquire(t.Context(), "k", lock.Options{TTL: time.Second, Barge: true})
			if err != nil {
				t.Fatalf("acquire, in doubt %v: %v", doubt, err)
			}
			wantErr(t, "check", lease.Check(), nil)
			wantErr(t, "release", lease.Release(t.Context()), nil)
		})
	}
}
