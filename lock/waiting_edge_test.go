package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// gated is a store in which waiting begins when the gate opens.
type gated struct {
	*memlock.Store
	gate chan struct{}
}

func (s gated) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	<-s.gate
	return s.Store.Wait(ctx, a)
}

// hooked is a context that does something when somebody begins to wait for its end.
type hooked struct {
	context.Context
	once sync.Once
	hook func()
}

func (h *hooked) Done() <-chan struct{} {
	h.once.Do(h.hook)
	return h.Context.Done()
}

// Who waits in the line of this process is overtaken by nobody who tries, nor by
// who asks for several keys, before the store knows of it. Barging overtakes.
func TestLineHereIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := gated{Store: new(memlock.Store), gate: make(chan struct{})}
		l := lock.New(store, "a")
		var wg sync.WaitGroup
		var o order
		enter(t, &wg, l, &o, "waiter")
		_, err := l.TryAcquire(t.Context(), "k", lock.Options{})
		if held, ok := errors.AsType[*lock.HeldError](err); !ok || held.Key != "k" {
			t.Errorf("the key of who waits: %v, want a HeldError", err)
		}
		free(t, l, "k")
		wg.Go(func() {
			all, err := l.AcquireAll(t.Context(), []string{"j", "k"}, lock.Options{})
			wantErr(t, "several", err, nil)
			o.add("several")
			wantErr(t, "release", all.Release(t.Context()), nil)
		})
		synctest.Wait()
		barging, err := l.TryAcquire(t.Context(), "k", lock.Options{Barge: true})
		wantErr(t, "barge", err, nil)
		o.add("barging")
		wantErr(t, "release", barging.Release(t.Context()), nil)
		close(store.gate)
		wg.Wait()
		if got := fmt.Sprint(o.list); got != "[barging waiter several]" {
			t.Errorf("served in the order %s", got)
		}
	})
}

// A turn that comes in the very moment in which its waiter gives up is passed on:
// who stands behind is served.
func TestTurnComesAtTheEnd(t *testing.T) {
	for range 20 { // which of the two is noticed is left to chance
		synctest.Test(t, func(t *testing.T) {
			store := gated{&memlock.Store{}, make(chan struct{})}
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
		})
	}
}

// A grant that arrives when the caller's context has just ended is no lease: it
// is given back, and the caller is told that it did not get the key.
func TestGrantComesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		store := &atTheEnd{Store: &memlock.Store{}, end: end}
		l := lock.New(store, "a")
		lease, err := l.Acquire(ctx, "k", lock.Options{})
		wantErr(t, "acquire", err, context.Canceled)
		if lease != nil {
			t.Errorf("there is a lease: %+v", lease)
		}
		free(t, l, "k")
	})
}

// atTheEnd is a store whose grants come as the caller's context ends.
type atTheEnd struct {
	*memlock.Store
	end func()
}

func (s *atTheEnd) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	defer s.end()
	return s.Store.Wait(ctx, a)
}

// A refusal that arrives as the caller's context ends: the caller is told of both,
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

// Who cannot have keys in one step is told of the end of its context alone.
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

func (s *refusing) Acquire(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	defer s.end()
	return s.Store.Acquire(ctx, a)
}

func (s *refusing) AcquireSeveral(ctx context.Context, as []lock.Acquisition) ([]lock.Grant, error) {
	defer s.end()
	if s.apart {
		return nil, lock.ErrUnsupported
	}
	return s.Store.AcquireSeveral(ctx, as)
}

// lateUndo is a store whose first grant comes too late, as does what undoes it:
// after the next grant.
type lateUndo struct {
	*memlock.Store
	grants []string // to whom
	undone []lock.Holding
}

func (s *lateUndo) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	return s.Acquire(ctx, a)
}

func (s *lateUndo) Acquire(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	first := len(s.grants) == 0
	if first {
		defer time.Sleep(2 * a.TTL)
	}
	s.grants = append(s.grants, a.Owner)
	g, err := s.Store.Acquire(ctx, a)
	if !first {
		for _, h := range s.undone {
			_ = s.Store.Release(ctx, h)
		}
	}
	return g, err
}

func (s *lateUndo) Release(ctx context.Context, h lock.Holding) error {
	if len(s.grants) == 1 {
		s.undone = append(s.undone, h)
		return errNetwork
	}
	return s.Store.Release(ctx, h)
}

// Who asks again after a grant that came too late is a new owner: what undoes the
// old grant may come late too, and must not free the new one.
func TestLateUndo(t *testing.T) {
	for name, ask := range map[string]func(*lock.Locker, context.Context, string, lock.Options) (*lock.Lease, error){
		"acquire": (*lock.Locker).Acquire,
		"barging": func(l *lock.Locker, ctx context.Context, key string, o lock.Options) (*lock.Lease, error) {
			o.Barge = true
			return l.Acquire(ctx, key, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &lateUndo{Store: &memlock.Store{}}
				lease, err := ask(lock.New(store, "a"), t.Context(), "k", lock.Options{TTL: time.Second})
				wantErr(t, "acquire", err, nil)
				if len(store.undone) == 0 || store.grants[0] == store.grants[1] {
					t.Fatalf("granted to %q, undone %+v", store.grants, store.undone)
				}
				at, err := store.Inspect(t.Context(), "k")
				if err != nil || at.Fence != lease.Fence() {
					t.Errorf("the key stands at %+v, %v, the lease has the fence %d", at, err, lease.Fence())
				}
			})
		})
	}
}

// A grant within the time of a try that came too late is asked for by somebody new.
func TestLateTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lateTry{Store: &memlock.Store{}}
		lease, err := lock.New(store, "a").TryAcquire(t.Context(), "k", lock.Options{TTL: time.Second})
		wantErr(t, "try", err, nil)
		wantErr(t, "check", lease.Check(), nil)
		if len(store.owners) != 2 || store.owners[0] == store.owners[1] {
			t.Errorf("asked by %q, want two owners", store.owners)
		}
	})
}

// lateTry says of its first grant that it was asked for long ago.
type lateTry struct {
	*memlock.Store
	owners []string
}

func (s *lateTry) Acquire(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	g, err := s.Store.Acquire(ctx, a)
	if s.owners = append(s.owners, a.Owner); len(s.owners) == 1 {
		g.Asked = time.Now().Add(-a.TTL)
	}
	return g, err
}

// What a release answers when the store says that the lease is lost: nothing was
// lost if an earlier request, whose answer was, may have freed the key in time.
func TestReleaseOfLost(t *testing.T) {
	for name, c := range map[string]struct {
		lost int32         // answers to the release
		wait time.Duration // until the release
		slow time.Duration // until it reaches the store
		want error
	}{
		"at once":                   {want: lock.ErrLost},
		"asked again":               {lost: 1},
		"asked again twice":         {lost: 2},
		"asked again, but too late": {lost: 1, wait: 800 * time.Millisecond, slow: 300 * time.Millisecond, want: lock.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: time.Second, Fixed: true})
				store.before = func(string) {
					time.Sleep(c.slow)
					store.Forget()
					_, err := store.Store.Acquire(t.Context(), lock.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute})
					wantErr(t, "another", err, nil)
				}
				store.lose = times(c.lost, "release")
				time.Sleep(c.wait)
				if err := lease.Release(context.WithoutCancel(t.Context())); !errors.Is(err, c.want) {
					t.Errorf("the release says %v, want %v", err, c.want)
				}
			})
		})
	}
}
