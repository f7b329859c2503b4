package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// Each key counts once, in order, and all are free after the release.
func TestAcquireAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		all, err := l.AcquireAll(t.Context(), []string{"c", "a", "b", "a"}, lock.Options{})
		wantErr(t, "acquire", err, nil)
		keys := ""
		for _, lease := range all.All() {
			keys += lease.Key()
		}
		if keys != "abc" {
			t.Errorf("the leases are on %s", keys)
		}
		inner, err := l.TryAcquire(all.Context(), "a", lock.Options{Reenter: true})
		wantErr(t, "the first key again", err, nil)
		wantErr(t, "release", inner.Release(t.Context()), nil)
		wantErr(t, "check", all.Check(), nil)
		wantErr(t, "release", all.Release(t.Context()), nil)
		wantErr(t, "release twice", all.Release(t.Context()), lock.ErrReleased)
		wantErr(t, "check", all.Check(), lock.ErrReleased)
		free(t, l, "a", "b", "c")
	})
}

// The loss of any lease is the loss of the set. A store that cannot release keys together releases each.
func TestCheckOfASet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(plainOnly{store}, "a")
		all, err := l.AcquireAll(t.Context(), []string{"a", "b"}, lock.Options{TTL: time.Second})
		wantErr(t, "acquire", err, nil)
		all.All()[1].Abandon(nil)
		time.Sleep(time.Second)
		wantErr(t, "check of the first lease", all.All()[0].Check(), nil)
		wantErr(t, "check", all.Check(), lock.ErrLost)
		wantErr(t, "release", all.Release(t.Context()), lock.ErrLost)
		if n := store.releases.Load(); n != 2 {
			t.Errorf("%d releases of two leases", n)
		}
	})
}

// free fails the test unless the keys are.
func free(t *testing.T, l *lock.Locker, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if at, err := l.Inspect(t.Context(), key); err != nil || at != (driver.KeyState{}) {
			t.Errorf("%q is not free: %+v, %v", key, at, err)
		}
	}
}

// The acquired leases are given back when a later key cannot be acquired.
func TestAcquireAllIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		l := lock.New(store, "a")
		acquire(t, lock.New(store, "b"), "c", lock.Options{})
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		_, err := l.AcquireAll(ctx, []string{"a", "b", "c", "d"}, lock.Options{})
		held, ok := errors.AsType[*lock.HeldError](err)
		if !ok || held.Key != "c" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want one about c", err)
		}
		free(t, l, "a", "b", "d")
	})
}

// Losing a key while waiting for a later one ends the waiting, with nothing held.
func TestAcquireAllLosesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		l := lock.New(store, "a")
		acquire(t, lock.New(store, "b"), "b", lock.Options{})
		_, err := l.AcquireAll(t.Context(), []string{"a", "b"}, lock.Options{TTL: time.Second, Fixed: true})
		wantErr(t, "the error", err, lock.ErrLost)
		time.Sleep(time.Second)
		free(t, l, "a")
	})
}

func TestAcquireAllArguments(t *testing.T) {
	l := lock.New(&memlock.Store{}, "a")
	for argument, keys := range map[string][]string{"keys": nil, "key": {"a", ""}} {
		_, err := l.AcquireAll(t.Context(), keys, lock.Options{})
		if e, ok := errors.AsType[*lock.ArgumentError](err); !ok || e.Argument != argument {
			t.Errorf("%q: %v, want a fault of %s", keys, err, argument)
		}
	}
}

// Callers with overlapping keys, given in any order, all get through, and no key
// is ever held twice.
func TestAcquireAllOverlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		var wg sync.WaitGroup
		var mu sync.Mutex
		users := make(map[string]int)
		use := func(by int, all *lock.LeaseSet) {
			mu.Lock()
			defer mu.Unlock()
			for _, lease := range all.All() {
				if users[lease.Key()] += by; users[lease.Key()] > 1 {
					t.Errorf("%s is held twice", lease.Key())
				}
			}
		}
		for i := range 8 {
			l := lock.New(store, fmt.Sprint("pod-", i))
			wg.Go(func() {
				for range 20 {
					keys := []string{"a", "b", "c", "d"}
					rand.Shuffle(4, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
					all, err := l.AcquireAll(t.Context(), keys[:2+rand.N(2)], lock.Options{})
					if err != nil {
						t.Error(err)
						return
					}
					use(1, all)
					time.Sleep(time.Millisecond)
					use(-1, all)
					wantErr(t, "release", all.Release(t.Context()), nil)
				}
			})
		}
		wg.Wait()
	})
}

func ExampleLocker_AcquireAll() {
	locker := lock.New(&memlock.Store{}, "pod-1") // in a program by lock.Open
	ctx := context.Background()
	all, err := locker.AcquireAll(ctx, []string{"account/7", "account/3"}, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lease := range all.All() {
		fmt.Println(lease.Key())
	}
	fmt.Println(all.Release(ctx))
	// Output:
	// account/3
	// account/7
	// <nil>
}

// More keys than a store takes in one step without keeping others waiting are
// refused before anything is sent; a key that comes twice counts once.
func TestAcquireAllIsBounded(t *testing.T) {
	store := newFaulty()
	l := lock.New(store, "a")
	keys := make([]string, 0, driver.MaxKeys+2)
	for i := range driver.MaxKeys {
		keys = append(keys, fmt.Sprint("key ", i))
	}
	all, err := l.AcquireAll(t.Context(), append(keys, keys[0]), lock.Options{})
	wantErr(t, "as many as are allowed", err, nil)
	wantErr(t, "release", all.Release(t.Context()), nil)
	asked := store.acquires.Load()
	_, err = l.AcquireAll(t.Context(), append(keys, "one more"), lock.Options{})
	if e, is := errors.AsType[*lock.ArgumentError](err); !is || e.Argument != "keys" || store.acquires.Load() != asked {
		t.Errorf("one more: %v, asked %d times, want it refused at once", err, store.acquires.Load()-asked)
	}
}
