package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// gated is a store in which waiting begins when the gate opens.
type gated struct {
	*memlock.Store
	gate chan struct{}
}

func (s gated) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	<-s.gate
	return s.Store.Wait(ctx, a)
}

// hooked is a context that does something when a caller begins to wait for its end.
type hooked struct {
	context.Context
	once sync.Once
	hook func()
}

func (h *hooked) Done() <-chan struct{} {
	h.once.Do(h.hook)
	return h.Context.Done()
}

// The key was refused to a line of this process. Callers that still stand in it are
// overtaken by no try, nor by a request for several keys, also in the moment in
// which the store knows of none of them. Barging overtakes.
func TestLineHereIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := gated{Store: new(memlock.Store), gate: make(chan struct{}, 1)}
		l := lock.New(store, "a")
		first := acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		store.gate <- struct{}{}
		enter(t, &wg, l, &o, "refused")
		enter(t, &wg, l, &o, "behind")
		wantErr(t, "release", first.Release(t.Context()), nil)
		time.Sleep(2 * time.Millisecond) // the refused one had the key; the one behind is at the gate

		lease, err := l.TryAcquire(t.Context(), "k", lock.Options{})
		if held, ok := errors.AsType[*lock.HeldError](err); !ok || held.Key != "k" {
			t.Fatalf("a try of the key that another waits for: %+v, %v, want a HeldError", lease, err)
		}
		free(t, l, "k")
		wg.Go(func() {
			all, err := l.AcquireAll(t.Context(), []string{"j", "k"}, lock.Options{})
			if err != nil {
				t.Errorf("several: %v", err)
				return
			}
			o.add("several")
			wantErr(t, "release", all.Release(t.Context()), nil)
		})
		synctest.Wait()
		barging, err := l.TryAcquire(t.Context(), "k", lock.Options{Barge: true})
		if err != nil {
			t.Fatalf("barge: %v", err)
		}
		o.add("barging")
		wantErr(t, "release", barging.Release(t.Context()), nil)
		close(store.gate)
		wg.Wait()
		if got := fmt.Sprint(o.list); got != "[refused barging behind several]" {
			t.Errorf("served in the order %s", got)
		}
	})
}

// A caller that gives up behind others leaves the turn with the caller that has it.
func TestGivingUpLeavesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		first := acquire(t, l, "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		enter(t, &wg, l, &o, "waits in the store")
		wg.Go(func() {
			_, err := l.Acquire(ctxFor(t, time.Second), "k", lock.Options{})
			wantErr(t, "acquire", err, context.DeadlineExceeded)
		})
		synctest.Wait()
		enter(t, &wg, l, &o, "waits behind it")
		time.Sleep(time.Minute)
		if n := l.Behind("k"); n != 1 {
			t.Errorf("%d callers are behind, want 1", n)
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		wg.Wait()
	})
}

// A caller that is merely asking, and those behind it that have not been refused,
// keep no other from a key that is free.
func TestTryBesideThoseWhoAsk(t *testing.T) {
	for name, limit := range map[string]int{"a mutex": 1, "permits": 1000, "readers": lock.NoLimit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := gated{Store: new(memlock.Store), gate: make(chan struct{})}
				l := lock.New(store, "a")
				var wg sync.WaitGroup
				for range 20 {
					wg.Go(func() {
						lease, err := l.Acquire(t.Context(), "k", lock.Options{Limit: limit})
						if err != nil {
							t.Errorf("acquire: %v", err)
							return
						}
						wantErr(t, "release", lease.Release(t.Context()), nil)
					})
				}
				synctest.Wait() // they have the turn, or wait behind those that have it
				for range 5 {
					lease, err := l.TryAcquire(t.Context(), "k", lock.Options{Limit: limit})
					if err != nil {
						t.Fatalf("a try of a free key: %v", err)
					}
					wantErr(t, "release", lease.Release(t.Context()), nil)
				}
				close(store.gate)
				wg.Wait()
			})
		})
	}
}

// A line that was refused once, and then granted at once, keeps no try from the key.
func TestTryAfterRefusalIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := gated{Store: new(memlock.Store), gate: make(chan struct{}, 9)}
		l := lock.New(store, "a")
		first := acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
		var wg sync.WaitGroup
		var o order
		store.gate <- struct{}{}
		for _, name := range []string{"refused", "granted at once", "asking"} {
			enter(t, &wg, l, &o, name)
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		time.Sleep(2 * time.Millisecond) // the refused one had the key
		store.gate <- struct{}{}
		time.Sleep(2 * time.Millisecond) // so had the second
		lease, err := l.TryAcquire(t.Context(), "k", lock.Options{})
		if err != nil {
			t.Fatalf("a try beside one who has not been refused: %v", err)
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
		close(store.gate)
		wg.Wait()
	})
}

// A line whose callers were refused and gave up keeps no try from another key, though
// the next line may be made of it.
func TestTryBesideANewLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := gated{Store: new(memlock.Store), gate: make(chan struct{}, 1)}
		l := lock.New(store, "a")
		acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
		store.gate <- struct{}{}
		_, err := l.Acquire(ctxFor(t, time.Second), "k", lock.Options{})
		if !isHeld(err) || l.Lines() != 0 {
			t.Fatalf("in vain: %v, and there are %d lines", err, l.Lines())
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			lease, err := l.Acquire(t.Context(), "j", lock.Options{})
			wantErr(t, "acquire", err, nil)
			wantErr(t, "release", lease.Release(t.Context()), nil)
		})
		synctest.Wait() // it asks, and has not been refused
		lease, err := l.TryAcquire(t.Context(), "j", lock.Options{})
		if err != nil {
			t.Fatalf("a try of a free key: %v", err)
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
		close(store.gate)
		wg.Wait()
	})
}

// A try of a store that does not answer ends after seconds, however long the lease
// was to be.
func TestTryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		store.lose = func(op string) bool { return op == "acquire" }
		began := time.Now()
		_, err := lock.New(store, "a").TryAcquire(t.Context(), "k", lock.Options{TTL: time.Hour})
		wantErr(t, "try", err, errNetwork)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
		began = time.Now()
		_, err = lock.New(store, "a").TryAcquire(t.Context(), "k", lock.Options{TTL: driver.MinTTL})
		wantErr(t, "try", err, errNetwork)
		if took := time.Since(began); took > driver.MinTTL+time.Second {
			t.Errorf("a short lease: it took %v", took)
		}
	})
}

// A turn that comes in the very moment in which its waiter gives up is passed on:
// the caller that stands behind is served. The store is asked for nothing on behalf of the caller
// that gave up.
func TestTurnComesAtTheEnd(t *testing.T) {
	for range 20 { // which of the two is noticed is left to chance
		synctest.Test(t, func(t *testing.T) {
			store := &counted{gated: gated{&memlock.Store{}, make(chan struct{})}}
			l := lock.New(store, "a")
			var wg sync.WaitGroup
			enter := func() {
				wg.Go(func() {
					ctx, stop := context.WithTimeout(t.Context(), time.Minute)
					defer stop()
					lease, err := l.Acquire(ctx, "k", lock.Options{})
					if err != nil {
						t.Errorf("waited in vain: %v", err)
						return
					}
					wantErr(t, "release", lease.Release(t.Context()), nil)
				})
				synctest.Wait()
			}
			enter() // it has the turn
			ctx, end := context.WithCancel(t.Context())
			if lease, err := l.Acquire(&hooked{Context: ctx, hook: func() {
				enter() // it stands behind
				end()
				close(store.gate)
				synctest.Wait() // now the turn has come
			}}, "k", lock.Options{}); err == nil {
				t.Errorf("there is a lease: %+v", lease)
			}
			wg.Wait()
			free(t, l, "k")
			if n := store.asked.Load(); n != 2 {
				t.Errorf("the store was asked %d times, want once for each of the two that did not give up", n)
			}
		})
	}
}

// counted counts the requests to wait.
type counted struct {
	gated
	asked atomic.Int32
}

func (s *counted) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.asked.Add(1)
	return s.gated.Wait(ctx, a)
}

// A grant that arrives when the caller's context has just ended is no lease: it
// is given back, and the caller's error says that it did not get the key. So it is if the grant took longer
// than the lease.
func TestGrantComesAtTheEnd(t *testing.T) {
	for took, want := range map[time.Duration]error{0: context.Canceled, 2 * time.Second: context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			store := &atTheEnd{Store: &memlock.Store{}, took: took, end: end}
			l := lock.New(store, "a")
			lease, err := l.Acquire(ctx, "k", lock.Options{TTL: time.Second})
			wantErr(t, "acquire", err, want)
			if lease != nil {
				t.Errorf("there is a lease: %+v", lease)
			}
			free(t, l, "k")
		})
	}
}

// atTheEnd is a store whose grants come as the caller's context ends.
type atTheEnd struct {
	*memlock.Store
	took time.Duration
	end  func()
}

func (s *atTheEnd) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	defer s.end()
	defer time.Sleep(s.took)
	return s.Store.Wait(ctx, a)
}

// A refusal that arrives as the caller's context ends: the caller's error has both,
// whichever way the store was asked.
func TestRefusalComesAtTheEnd(t *testing.T) {
	for name, ask := range map[string]func(ctx context.Context, l *lock.Locker) error{
		"barging": func(ctx context.Context, l *lock.Locker) error {
			_, err := l.Acquire(ctx, "k", lock.Options{Barge: true})
			return err
		},
		"several": func(ctx context.Context, l *lock.Locker) error {
			_, err := l.AcquireAll(ctx, []string{"j", "k"}, lock.Options{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			store := &refusing{Store: &memlock.Store{}, end: end}
			acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
			err := ask(ctx, lock.New(store, "a"))
			if held, is := errors.AsType[*lock.HeldError](err); !is || held.Key != "k" || !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that k is held, and the end", err)
			}
		})
	}
}

// A caller that cannot have keys in one step gets the end of its context alone.
func TestUnsupportedAtTheEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	store := &refusing{Store: &memlock.Store{}, end: end, apart: true}
	_, err := lock.New(store, "a").AcquireAll(ctx, []string{"j", "k"}, lock.Options{})
	if !errors.Is(err, context.Canceled) || errors.Is(err, lock.ErrUnsupported) {
		t.Errorf("%v, want the end", err)
	}
}

// refusing is a store whose answers come as the caller's context ends.
type refusing struct {
	*memlock.Store
	end   func()
	apart bool // it takes no two keys in one step
}

func (s *refusing) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	defer s.end()
	return s.Store.Acquire(ctx, a)
}

func (s *refusing) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	defer s.end()
	if s.apart {
		return nil, lock.ErrUnsupported
	}
	return s.Store.AcquireAll(ctx, as)
}
