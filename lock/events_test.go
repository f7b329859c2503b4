package lock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// A diary keeps the events that an observer got.
type diary struct {
	mu  sync.Mutex
	all []lock.Event
}

func (d *diary) note(e lock.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, e)
}

// take returns the events since the last call, once no event is pending.
func (d *diary) take(t *testing.T, l *lock.Locker) []lock.Event {
	t.Helper()
	wantErr(t, "the wait for the observer", l.Wait(t.Context()), nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all
	d.all = nil
	return all
}

// want fails the test unless these events were reported, with their keys and times.
func (d *diary) want(t *testing.T, l *lock.Locker, want ...string) []lock.Event {
	t.Helper()
	all := d.take(t, l)
	wantEvents(t, all, want...)
	return all
}

func wantEvents(t *testing.T, all []lock.Event, want ...string) {
	t.Helper()
	var got []string
	for _, e := range all {
		got = append(got, fmt.Sprintf("%v %s %v", e.Kind, e.Key, e.Took))
		if e.Kind != lock.EventWaits && e.Kind != lock.EventGaveUp && e.Fence == 0 {
			t.Errorf("%v of %q has no fence", e.Kind, e.Key)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the observer was called with\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// await waits for the key.
func await(t *testing.T, l *lock.Locker) *lock.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), "k", lock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// The observer gets each wait and each lease once, with how long they took.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		var d diary
		l, other := lock.New(store, "a"), lock.New(store.Store, "b")
		l.OnEvent(d.note)

		lease := acquire(t, l, "k", lock.Options{})
		time.Sleep(time.Second)
		wantErr(t, "release", lease.Release(t.Context()), nil)
		d.want(t, l, "acquired k 0s", "released k 1s")

		held := acquire(t, other, "k", lock.Options{TTL: time.Minute})
		time.AfterFunc(2*time.Second, func() { _ = held.Release(context.Background()) })
		lease = await(t, l)
		all := d.want(t, l, "waits k 0s", "acquired k 2s")
		if left := all[0].Left; left != time.Minute {
			t.Errorf("the holder has the key for %v, want a minute", left)
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
		d.want(t, l, "released k 0s")

		held = acquire(t, other, "k", lock.Options{})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := l.Acquire(ctx, "k", lock.Options{})
		wantErr(t, "a wait in vain", err, context.DeadlineExceeded)
		_, _ = l.TryAcquire(t.Context(), "k", lock.Options{})
		all = d.want(t, l, "waits k 0s", "gave up k 1s", "gave up k 0s")
		if _, refused := errors.AsType[*lock.HeldError](all[2].Err); !refused || !errors.Is(all[1].Err, context.DeadlineExceeded) {
			t.Errorf("it gave up because of %v, and of %v", all[1].Err, all[2].Err)
		}
		wantErr(t, "release", held.Release(t.Context()), nil)

		fixed := acquire(t, l, "f", lock.Options{Fixed: true, TTL: 10 * time.Second})
		time.Sleep(5 * time.Second)
		wantErr(t, "extend", fixed.Extend(t.Context()), nil)
		<-fixed.Context().Done()
		synctest.Wait() // the loss is reported behind the end of the context
		wantErr(t, "release", fixed.Release(t.Context()), lock.ErrLost)
		all = d.want(t, l, "acquired f 0s", "extended f 5s", "lost f 14s")
		wantErr(t, "why it was lost", all[2].Err, lock.ErrLost)

		both, err := l.AcquireAll(t.Context(), []string{"x", "y"}, lock.Options{})
		wantErr(t, "several", err, nil)
		wantErr(t, "release", both.Release(t.Context()), nil)
		d.want(t, l, "acquired x 0s", "acquired y 0s", "released y 0s", "released x 0s")

		l.OnEvent(nil)
		wantErr(t, "release", acquire(t, l, "k", lock.Options{}).Release(t.Context()), nil)
		d.want(t, l)
	})
}

// Callers that stand in line in this process wait as well, one event each. The events of
// each lease come in their order; a lease may begin before the release of the one before
// it has returned.
func TestEventsOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		l := lock.New(new(memlock.Store), "a")
		first := acquire(t, l, "k", lock.Options{})
		l.OnEvent(d.note)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { wantErr(t, "release", await(t, l).Release(t.Context()), nil) })
		}
		synctest.Wait()
		d.want(t, l, "waits k 0s", "waits k 0s", "waits k 0s")
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
		all := d.take(t, l)
		slices.SortStableFunc(all, func(a, b lock.Event) int { return cmp.Compare(a.Fence, b.Fence) })
		wantEvents(t, all, "acquired k 0s", "released k 0s", "acquired k 0s", "released k 0s", "acquired k 0s", "released k 0s")
	})
}

// A caller that stands in line here, and is then refused by the store, reports one wait;
// so does a caller that polls and is refused again and again.
func TestOneEventForAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		other := lock.New(store.Store, "b")
		for name, driver := range map[string]driver.Driver{"a queue": store, "polled": polled{store}} {
			var d diary
			l := lock.New(driver, "a")
			l.OnEvent(d.note)
			held := acquire(t, other, "k", lock.Options{TTL: time.Minute})
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					lease := await(t, l)
					time.Sleep(3 * time.Second) // the next one is refused as well
					wantErr(t, "release", lease.Release(t.Context()), nil)
				})
				synctest.Wait()
			}
			time.Sleep(3 * time.Second)
			wantErr(t, "release", held.Release(t.Context()), nil)
			wg.Wait()
			counts := make(map[lock.EventKind]int)
			for _, e := range d.take(t, l) {
				counts[e.Kind]++
			}
			if want := map[lock.EventKind]int{lock.EventWaits: 2, lock.EventAcquired: 2, lock.EventReleased: 2}; !maps.Equal(counts, want) {
				t.Errorf("%s: the reported events are %v, want %v", name, counts, want)
			}
		}
	})
}

// Each event has the time at which it happened, however late it is reported, and the
// fence of its own lease.
func TestEventsNameTimeAndLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		l := lock.New(new(memlock.Store), "a")
		gate := make(chan struct{})
		l.OnEvent(func(e lock.Event) { <-gate; d.note(e) })
		began := time.Now()
		var fences []int64
		step := func(lease *lock.Lease, err error) *lock.Lease {
			t.Helper()
			wantErr(t, "a step", err, nil)
			fences = append(fences, lease.Fence())
			time.Sleep(time.Second)
			return lease
		}
		fixed := step(l.TryAcquire(t.Context(), "f", lock.Options{Fixed: true}))
		plain := step(l.TryAcquire(t.Context(), "k", lock.Options{}))
		step(fixed, fixed.Extend(t.Context()))
		step(fixed, fixed.Release(t.Context()))
		step(plain, plain.Release(t.Context()))
		given := step(l.TryAcquire(t.Context(), "k", lock.Options{}))
		given.Abandon(lock.ErrLost)
		step(given, nil)
		close(gate)
		all := d.want(t, l, "acquired f 0s", "acquired k 0s", "extended f 2s", "released f 3s", "released k 3s", "acquired k 0s", "lost k 1s")
		for i, e := range all {
			if at := began.Add(time.Duration(i) * time.Second); !e.At.Equal(at) || e.Fence != fences[i] {
				t.Errorf("%v %s at %v with the fence %d, want %v and %d", e.Kind, e.Key, e.At, e.Fence, at, fences[i])
			}
		}
		if a, b := fences[1], fences[5]; a == b {
			t.Errorf("both leases of the key have the fence %d", a)
		}
	})
}

// 1,024 events wait for the observer, beside the one it was called with: the oldest and the
// last. The last has the number of those that were dropped before it.
func TestEventsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		l := lock.New(new(memlock.Store), "a")
		acquire(t, l, "k", lock.Options{})
		gate := make(chan struct{})
		l.OnEvent(func(e lock.Event) { <-gate; d.note(e) })
		refused := func(times int) {
			for range times {
				_, _ = l.TryAcquire(t.Context(), "k", lock.Options{})
			}
			synctest.Wait()
		}
		refused(1) // the observer is called with it
		refused(1024 + 3)
		close(gate)
		synctest.Wait()
		refused(2)
		all := d.take(t, l)
		if len(all) != 1+1024+2 {
			t.Fatalf("%d events were reported, want 1,024, the one before them and the two after", len(all))
		}
		for i, e := range all {
			if want := map[int]int{1024: 3}[i]; e.Dropped != want {
				t.Errorf("event %d reports %d as dropped, want %d", i, e.Dropped, want)
			}
		}
	})
}

// An observer that is slow, uses the Locker, panics or ends its goroutine holds up no
// lease, and loses no more than it must.
func TestBadObservers(t *testing.T) {
	use := func(t *testing.T, l *lock.Locker, times int) {
		t.Helper()
		began := time.Now()
		for range times {
			wantErr(t, "release", acquire(t, l, "k", lock.Options{}).Release(t.Context()), nil)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the observer held leases up for %v", took)
		}
	}
	for name, bad := range map[string]func(){"panics": func() { panic("no") }, "ends its goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				l := lock.New(new(memlock.Store), "a")
				l.OnEvent(func(e lock.Event) { d.note(e); bad() })
				use(t, l, 2)
				for i, e := range d.want(t, l, "acquired k 0s", "released k 0s", "acquired k 0s", "released k 0s") {
					if e.Dropped != i {
						t.Errorf("event %d: %d were dropped before it, want each that the observer did not return from", i, e.Dropped)
					}
				}
			})
		})
	}
	t.Run("uses the Locker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			l := lock.New(new(memlock.Store), "a")
			l.OnEvent(func(e lock.Event) {
				d.note(e)
				if e.Key == "k" && e.Kind == lock.EventAcquired {
					_ = l.Do(context.Background(), "inner", lock.Options{}, func(context.Context, *lock.Lease) error { return nil })
				}
			})
			use(t, l, 1)
			all := d.take(t, l) // the observer's own lease may be over before the other, or not
			for _, key := range []string{"k", "inner"} {
				of := slices.DeleteFunc(slices.Clone(all), func(e lock.Event) bool { return e.Key != key })
				wantEvents(t, of, "acquired "+key+" 0s", "released "+key+" 0s")
			}
		})
	})
	t.Run("is slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			l := lock.New(new(memlock.Store), "a")
			l.OnEvent(func(e lock.Event) { time.Sleep(time.Millisecond); d.note(e) })
			use(t, l, 1000)
			all := d.take(t, l)
			use(t, l, 1)
			dropped := 0
			for _, e := range append(all, d.take(t, l)...) {
				dropped += e.Dropped
			}
			if len(all) < 1024 || dropped != 2000-len(all) {
				t.Errorf("%d of 2000 events were reported, and %d as dropped", len(all), dropped)
			}
		})
	})
	t.Run("of troubles", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := newFaulty()
			l := lock.New(store, "a")
			l.OnStoreEvent(func(lock.StoreEvent) { panic("no") })
			lease := acquire(t, l, "k", lock.Options{TTL: 3 * time.Second})
			store.Forget()
			<-lease.Context().Done()
			time.Sleep(time.Minute)
			wantErr(t, "release", acquire(t, l, "k", lock.Options{}).Release(t.Context()), nil)
		})
	})
}

// A line of a log for each wait and each lease.
func ExampleLocker_OnEvent() {
	ctx := context.Background()
	locker := lock.New(new(memlock.Store), "pod-1")                   // in a program by lock.Open
	locker.OnEvent(func(e lock.Event) { fmt.Println(e.Key, e.Kind) }) // e.Took is for how long
	lease, err := locker.Acquire(ctx, "invoice/4711", lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = locker.TryAcquire(ctx, "invoice/4711", lock.Options{}) // refused
	_ = lease.Release(ctx)
	_ = locker.Wait(ctx) // until all is printed
	// Output:
	// invoice/4711 acquired
	// invoice/4711 gave up
	// invoice/4711 released
}
