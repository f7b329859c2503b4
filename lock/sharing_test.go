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

// reader and writer are how a read-write lock is asked for.
var reader, writer = lock.Options{Limit: lock.NoLimit}, lock.Options{}

// wantHeld fails the test unless the key is refused because others have it.
func wantHeld(t *testing.T, l *lock.Locker, o lock.Options) {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), "k", o)
	if _, held := errors.AsType[*lock.HeldError](err); !held {
		t.Fatalf("%+v, %v, want a HeldError", lease, err)
	}
}

// Leases that share a key are renewed, lost and released each for itself.
func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		two := lock.Options{Limit: 2, TTL: time.Second}
		renewed := acquire(t, l, "k", two)
		lost := acquire(t, l, "k", lock.Options{Limit: 2, TTL: time.Second, Fixed: true})
		wantHeld(t, l, two)
		time.Sleep(10 * time.Second)
		wantErr(t, "the one that is renewed", renewed.Check(), nil)
		wantErr(t, "the one that is not", lost.Check(), lock.ErrLost)
		third := acquire(t, l, "k", two)
		wantHeld(t, l, two)
		if all, err := l.Holders(t.Context(), "k"); err != nil || len(all) != 2 || all[0].Fence != renewed.Fence() || all[1].Fence != third.Fence() {
			t.Errorf("the holders are %+v, %v", all, err)
		}
		wantErr(t, "release", lost.Release(t.Context()), lock.ErrLost)
		wantErr(t, "release", renewed.Release(t.Context()), nil)
		wantErr(t, "release", third.Release(t.Context()), nil)
		free(t, l, "k")
	})
}

// A store with one owner per key never gets a higher limit, and cannot list holders.
func TestSharingUnsupported(t *testing.T) {
	store := newFaulty()
	l := lock.New(plainOnly{store}, "a")
	for name, err := range map[string]error{
		"try":     errOf(l.TryAcquire(t.Context(), "k", reader)),
		"acquire": errOf(l.Acquire(t.Context(), "k", lock.Options{Limit: 2})),
		"several": errOf(l.AcquireAll(t.Context(), []string{"k", "l"}, reader)),
		"holders": errOf(l.Holders(t.Context(), "k")),
	} {
		wantErr(t, name, err, lock.ErrUnsupported)
	}
	if n := store.acquires.Load(); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
	acquire(t, l, "k", lock.Options{Limit: 1})
}

func errOf[T any](_ T, err error) error { return err }

func TestSharingArguments(t *testing.T) {
	l := lock.New(&memlock.Store{}, "a")
	for _, err := range []error{
		errOf(l.TryAcquire(t.Context(), "k", lock.Options{Limit: -1})),
		errOf(l.Acquire(t.Context(), "k", lock.Options{Limit: -1})),
		errOf(l.AcquireAll(t.Context(), []string{"k", "l"}, lock.Options{Limit: -1})),
	} {
		if e, ok := errors.AsType[*lock.ArgumentError](err); !ok || e.Argument != "limit" {
			t.Errorf("%v, want a fault of the limit", err)
		}
	}
	if err := errOf(l.Holders(t.Context(), "")); err == nil {
		t.Error("a bad key has holders")
	}
}

// The context of a lease acquires its key again if the lease's limit allows it. A reader that wants
// to write is refused at once: it would wait for itself.
func TestReentrantLimits(t *testing.T) {
	for _, c := range []struct {
		outer, inner int
		ok           bool
	}{
		{0, 0, true}, {0, 1, true}, {1, 0, true}, {0, 3, true}, {1, lock.NoLimit, true},
		{3, 3, true}, {3, 5, true}, {3, lock.NoLimit, true}, {lock.NoLimit, lock.NoLimit, true},
		{3, 0, false}, {3, 2, false}, {lock.NoLimit, 1, false}, {lock.NoLimit, 3, false},
	} {
		store := newFaulty()
		l := lock.New(store, "a")
		outer := acquire(t, l, "k", lock.Options{Limit: c.outer})
		for _, ask := range []func(context.Context, string, lock.Options) (*lock.Lease, error){l.Acquire, l.TryAcquire} {
			inner, err := ask(outer.Context(), "k", lock.Options{Limit: c.inner, Reenter: true})
			upgrade, refused := errors.AsType[*lock.UpgradeError](err)
			switch {
			case c.ok && (err != nil || inner.Fence() != outer.Fence()):
				t.Errorf("%d inside %d: %v", c.inner, c.outer, err)
			case !c.ok && (!refused || *upgrade != lock.UpgradeError{Key: "k", Held: c.outer, Asked: c.inner} || upgrade.Error() == ""):
				t.Errorf("%d inside %d: %+v, %v, want an UpgradeError", c.inner, c.outer, inner, err)
			case c.ok:
				wantErr(t, "release", inner.Release(t.Context()), nil)
			}
		}
		wantErr(t, "check", outer.Check(), nil)
		if n := store.acquires.Load(); n != 1 {
			t.Errorf("the store was asked %d times", n)
		}
		wantErr(t, "release", outer.Release(t.Context()), nil)
	}
}

// again returns o with Reenter.
func again(o lock.Options) lock.Options {
	o.Reenter = true
	return o
}

// A lease inside a writer's lease grants as much as the writer's.
func TestReentrantReaderOfWriter(t *testing.T) {
	l := lock.New(&memlock.Store{}, "a")
	outer := acquire(t, l, "k", writer)
	middle, err := l.Acquire(outer.Context(), "k", again(reader))
	wantErr(t, "read", err, nil)
	_, err = l.Acquire(middle.Context(), "k", again(writer))
	wantErr(t, "write again", err, nil)
	wantErr(t, "release", outer.Release(t.Context()), nil)
}

// abreast counts how many wait in the store at the same time.
type abreast struct {
	*memlock.Store
	mu        sync.Mutex
	now, most int
}

func (s *abreast) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(time.Millisecond) // a round trip
	g, err := s.Store.Wait(ctx, a)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return g, err
}

// Readers of one process ask the store side by side, so many at a time; owners
// of permits, and writers, one after the other.
func TestReadersAskTogether(t *testing.T) {
	for limit, want := range map[int]int{lock.NoLimit: 16, 100: 1, 1: 1} {
		synctest.Test(t, func(t *testing.T) {
			store := &abreast{Store: &memlock.Store{}}
			l := lock.New(store, "a")
			start := time.Now()
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					lease, err := l.Acquire(t.Context(), "k", lock.Options{Limit: limit})
					wantErr(t, "acquire", err, nil)
					wantErr(t, "release", lease.Release(t.Context()), nil)
				})
			}
			wg.Wait()
			if store.most != want || time.Since(start) != 64*time.Millisecond/time.Duration(want) {
				t.Errorf("limit %d: %d asked at once, all took %v, want %d", limit, store.most, time.Since(start), want)
			}
			free(t, l, "k")
		})
	}
}

// kinds notes at each request to wait which kinds are under way, with it: r of readers,
// w of writers.
type kinds struct {
	*memlock.Store
	mu  sync.Mutex
	now []rune
	log []string
}

func (s *kinds) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	kind := 'w'
	if a.Limit == lock.NoLimit {
		kind = 'r'
	}
	s.mu.Lock()
	s.now = append(s.now, kind)
	s.log = append(s.log, string(s.now))
	s.mu.Unlock()
	time.Sleep(time.Millisecond) // a round trip
	g, err := s.Store.Wait(ctx, a)
	s.mu.Lock()
	at := slices.Index(s.now, kind)
	s.now = slices.Delete(s.now, at, at+1)
	s.mu.Unlock()
	return g, err
}

// While a writer of this process asks the store no reader asks beside it, and while
// readers ask no writer does.
func TestWritersAskAlone(t *testing.T) {
	for come, want := range map[string]string{
		"wrr":      "[w r rr]",
		"rwr":      "[r w r]",
		"wrrwwrrr": "[w r rr w w r rr rrr]",
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &kinds{Store: new(memlock.Store)}
			l := lock.New(store, "a")
			var wg sync.WaitGroup
			for _, kind := range come {
				o := map[rune]lock.Options{'r': reader, 'w': writer}[kind]
				wg.Go(func() {
					lease, err := l.Acquire(t.Context(), "k", o)
					wantErr(t, "acquire", err, nil)
					wantErr(t, "release", lease.Release(t.Context()), nil)
				})
				synctest.Wait()
			}
			wg.Wait()
			if got := fmt.Sprint(store.log); got != want {
				t.Errorf("%s asked as %s, want %s", come, got, want)
			}
		})
	}
}

// In one process callers that wait are served in the order in which they came, also if readers and
// writers are mixed: adjacent readers are served together, and none before a writer that came
// earlier.
func TestLocalOrderAcrossKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		first := acquire(t, l, "k", writer)
		var mu sync.Mutex
		var log []string
		var wg sync.WaitGroup
		start := time.Now()
		for i, kind := range "rrwrwwrr" {
			o := map[rune]lock.Options{'r': reader, 'w': writer}[kind]
			wg.Go(func() {
				lease, err := l.Acquire(t.Context(), "k", o)
				wantErr(t, "acquire", err, nil)
				mu.Lock()
				log = append(log, fmt.Sprintf("%v:%c%d", time.Since(start), kind, i))
				mu.Unlock()
				time.Sleep(time.Second)
				wantErr(t, "release", lease.Release(t.Context()), nil)
			})
			synctest.Wait()
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
		if len(log) == 8 && log[0] > log[1] { // two that came in together
			log[0], log[1] = log[1], log[0]
		}
		if len(log) == 8 && log[6] > log[7] {
			log[6], log[7] = log[7], log[6]
		}
		if got := fmt.Sprint(log); got != "[0s:r0 0s:r1 1s:w2 2s:r3 3s:w4 4s:w5 5s:r6 5s:r7]" {
			t.Errorf("served in the order %s", got)
		}
	})
}

// A writer that stops waiting in its process's line lets the readers behind it go.
func TestWriterStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		l, b := lock.New(store, "a"), lock.New(store, "b")
		held := []*lock.Lease{acquire(t, b, "k", lock.Options{Limit: 2}), acquire(t, b, "k", lock.Options{Limit: 2})}
		var wg sync.WaitGroup
		wait := func(d time.Duration, o lock.Options, want error) {
			ctx, stop := context.WithTimeout(t.Context(), d)
			wg.Go(func() {
				defer stop()
				_, err := l.Acquire(ctx, "k", o)
				wantErr(t, fmt.Sprint(o.Limit), err, want)
			})
			synctest.Wait()
		}
		wait(time.Hour, reader, nil)
		wait(time.Minute, writer, context.DeadlineExceeded)
		wait(time.Hour, reader, nil)
		if at, err := l.Inspect(t.Context(), "k"); err != nil || at.Waiting != 1 {
			t.Errorf("the key stands at %+v, %v, want one place", at, err)
		}
		time.Sleep(2 * time.Minute)
		if at, err := l.Inspect(t.Context(), "k"); err != nil || at.Waiting != 2 {
			t.Errorf("the key stands at %+v, %v, want places for both readers", at, err)
		}
		for _, lease := range held {
			wantErr(t, "release", lease.Release(t.Context()), nil)
		}
		wg.Wait()
	})
}

// Many may read at once, and one writes alone.
func ExampleOptions_limit() {
	ctx := context.Background()
	locker := lock.New(&memlock.Store{}, "pod-1") // in a program by lock.Open

	// Readers share the key.
	one, _ := locker.Acquire(ctx, "prices", lock.Options{Limit: lock.NoLimit})
	two, _ := locker.Acquire(ctx, "prices", lock.Options{Limit: lock.NoLimit})
	_, err := locker.TryAcquire(ctx, "prices", lock.Options{}) // a writer
	fmt.Println("a writer beside readers:", err != nil)
	_, _ = one.Release(ctx), two.Release(ctx)

	// A semaphore with two permits.
	for range 3 {
		_, err = locker.TryAcquire(ctx, "gateway", lock.Options{Limit: 2})
		fmt.Println("a permit:", err == nil)
	}
	// Output:
	// a writer beside readers: true
	// a permit: true
	// a permit: true
	// a permit: false
}

// Holders lists the owners of a key, the earliest grant first.
func ExampleLocker_Holders() {
	ctx := context.Background()
	locker := lock.New(&memlock.Store{}, "pod-1") // in a program by lock.Open
	one, _ := locker.Acquire(ctx, "gateway", lock.Options{Limit: 3})
	two, _ := locker.Acquire(ctx, "gateway", lock.Options{Limit: 3})
	holders, err := locker.Holders(ctx, "gateway")
	for _, h := range holders {
		fmt.Println(driver.NodeOf(h.Owner), h.Limit)
	}
	fmt.Println(err, holders[0].Fence == one.Fence(), holders[1].Fence > one.Fence())
	_, _ = one.Release(ctx), two.Release(ctx)
	// Output:
	// pod-1 3
	// pod-1 3
	// <nil> true true
}

// A reader that would write is refused at once: it would wait for itself.
func ExampleUpgradeError() {
	locker := lock.New(&memlock.Store{}, "pod-1") // in a program by lock.Open
	err := locker.Do(context.Background(), "catalogue", lock.Options{Limit: lock.NoLimit}, func(ctx context.Context, _ *lock.Lease) error {
		_, err := locker.Acquire(ctx, "catalogue", lock.Options{Reenter: true})
		return err
	})
	upgrade, is := errors.AsType[*lock.UpgradeError](err)
	fmt.Println(is, upgrade)
	// Output:
	// true lock: "catalogue" is held by this context with the limit none, it cannot be acquired with the limit 1 before it is released
}
