package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// A prompt store returns with the deadline of a context, and notes on which goroutines it was
// asked.
type prompt struct {
	*silent
	delay time.Duration // of each answer
	lose  int           // how many replies are lost

	mu     sync.Mutex
	inline []bool // of each acquisition: the goroutine was the caller's
	owners []string
}

func (s *prompt) Prompt() bool { return true }

func (s *prompt) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.mu.Lock()
	s.inline, s.owners = append(s.inline, strings.Contains(stack(), "lock_test.acquireInTime")), append(s.owners, a.Owner)
	s.mu.Unlock()
	wait := s.delay
	if s.hangs.Load() {
		wait = time.Hour
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		if _, some := ctx.Deadline(); some && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return driver.Grant{}, ctx.Err()
		}
		time.Sleep(time.Second) // a client returns with the deadline alone
		return driver.Grant{}, ctx.Err()
	}
	g, err := s.faulty.Acquire(context.WithoutCancel(ctx), a)
	if s.lose > 0 {
		s.lose--
		<-ctx.Done()
		return driver.Grant{}, ctx.Err()
	}
	return g, err
}

func (s *prompt) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := s.Acquire(ctx, a)
	if isHeld(err) {
		return s.faulty.Wait(ctx, a)
	}
	return g, err
}

func stack() string {
	text := make([]byte, 16<<10)
	return string(text[:runtime.Stack(text, false)])
}

// acquireInTime takes a key and releases it.
func acquireInTime(t *testing.T, l *lock.Locker, ask func(context.Context, *lock.Locker) (*lock.Lease, error)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	lease, err := ask(ctx, l)
	wantErr(t, "the call", err, nil)
	wantErr(t, "the release", lease.Release(ctx), nil)
}

var takers = map[string]func(context.Context, *lock.Locker) (*lock.Lease, error){
	"TryAcquire": func(ctx context.Context, l *lock.Locker) (*lock.Lease, error) {
		return l.TryAcquire(ctx, "k", lock.Options{TTL: time.Hour})
	},
	"Acquire": func(ctx context.Context, l *lock.Locker) (*lock.Lease, error) {
		return l.Acquire(ctx, "k", lock.Options{TTL: time.Hour})
	},
}

// A request to a store that answers within 5 ms is sent by the goroutine of its caller. After one slow
// answer the next 16 are not, and then one more is tried.
func TestRequestsToAPromptStore(t *testing.T) {
	for name, ask := range takers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &prompt{silent: &silent{faulty: newFaulty()}}
				l := lock.New(store, "a")
				for i := range 20 {
					store.delay = 5 * time.Millisecond
					if i == 1 {
						store.delay++
					}
					acquireInTime(t, l, ask)
				}
				for i, inline := range store.inline {
					if want := i < 2 || i > 17; inline != want {
						t.Errorf("request %d is sent by its caller: %v, want %v", i, inline, want)
					}
				}
			})
		})
	}
}

// A prompt store that holds the key refuses a try, and lets the callers of Acquire wait in line: only the
// first of them has a place in the store. The requests after a refusal are not sent by their callers.
func TestHeldKeyOfAPromptStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &prompt{silent: &silent{faulty: newFaulty()}}
		l := lock.New(store, "a")
		held := acquire(t, lock.New(store.Store, "b"), "k", lock.Options{TTL: time.Hour})
		lease, err := l.TryAcquire(t.Context(), "k", lock.Options{})
		if !isHeld(err) || lease != nil {
			t.Errorf("the try: %+v, %v, want a HeldError", lease, err)
		}
		var wg sync.WaitGroup
		var o order
		for i, behind := range []int{0, 1, 2} {
			enter(t, &wg, l, &o, fmt.Sprint(i))
			if n := l.Behind("k"); n != behind {
				t.Errorf("%d callers are behind the first, want %d", n, behind)
			}
		}
		wantErr(t, "the release", held.Release(t.Context()), nil)
		wg.Wait()
		if want := 1 + 1 + 3; len(store.owners) != want { // the try, the first caller's own request, and the waits
			t.Errorf("%d requests, want %d", len(store.owners), want)
		}
	})
}

// A request that waits for replicas, or whose context cannot end, is not given up after 25 ms to be sent again.
func TestRequestsThatTakeTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		ctx func(t *testing.T) context.Context
		o   lock.Options
	}{
		"for replicas":              {func(t *testing.T) context.Context { return ctxFor(t, time.Minute) }, lock.Options{TTL: time.Hour, Replicas: 1}},
		"a context that cannot end": {func(*testing.T) context.Context { return context.Background() }, lock.Options{TTL: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &promptCopied{prompt{silent: &silent{faulty: newFaulty()}, delay: 40 * time.Millisecond}}
				lease, err := lock.New(store, "a").TryAcquire(c.ctx(t), "k", c.o)
				wantErr(t, "the call", err, nil)
				if len(store.owners) != 1 {
					t.Errorf("%d requests, want 1: it was given up before its answer", len(store.owners))
				}
				wantErr(t, "the release", lease.Release(t.Context()), nil)
			})
		})
	}
}

// promptCopied is a prompt store with a replica.
type promptCopied struct{ prompt }

func (s *promptCopied) Replicas(context.Context, string) (int, error) { return 1, nil }

func (s *promptCopied) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Replicas = 0
	return s.prompt.Acquire(ctx, a)
}

// Two concurrent requests are sent by their callers. The requests of more callers go through callUntilDone, so
// that they can share a round trip.
func TestRequestsOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &prompt{silent: &silent{faulty: newFaulty()}, delay: time.Millisecond}
		l := lock.New(store, "a")
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				acquireInTime(t, l, func(ctx context.Context, l *lock.Locker) (*lock.Lease, error) {
					return l.TryAcquire(ctx, fmt.Sprint("k", i), lock.Options{TTL: time.Hour})
				})
			})
		}
		calls.Wait()
		inline := 0
		for _, by := range store.inline {
			if by {
				inline++
			}
		}
		if len(store.inline) != 10 || inline != 2 {
			t.Errorf("%d of %d requests were sent by their callers, want 2 of 10", inline, len(store.inline))
		}
	})
}

// The reply to the first request is lost: the same owner asks again beside it, and has the lease.
func TestLostReplyOfAPromptStore(t *testing.T) {
	for name, ask := range takers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &prompt{silent: &silent{faulty: newFaulty()}, lose: 1}
				began := time.Now()
				acquireInTime(t, lock.New(store, "a"), ask)
				if took := time.Since(began); took > 50*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if len(store.owners) != 2 || store.owners[0] != store.owners[1] {
					t.Errorf("the owners that asked are %q", store.owners)
				}
			})
		})
	}
}

// The network delays the first request until the lease of its repetition was released. The store grants it, and the
// Locker gives that grant back a second after it sent the request, as Wait waits for.
func TestRequestThatArrivesLate(t *testing.T) {
	for name, ask := range takers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &promptLate{prompt: prompt{silent: &silent{faulty: newFaulty()}}}
				l := lock.New(store, "a")
				acquireInTime(t, l, ask)
				time.Sleep(300 * time.Millisecond)
				if _, err := lock.New(store.Store, "b").TryAcquire(t.Context(), "k", lock.Options{}); !isHeld(err) {
					t.Fatalf("after the request has arrived: %v, want a HeldError", err)
				}
				wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, time.Second)), nil)
				if free(t, lock.New(store.Store, "b"), "k"); t.Failed() {
					return
				}
				n := store.releases.Load()
				acquireInTime(t, l, ask)
				wantErr(t, "the wait for nothing", l.Wait(ctxFor(t, time.Second)), nil)
				if sent := store.releases.Load() - n; sent != 1 {
					t.Errorf("a lease that was granted at once is released with %d requests", sent)
				}
			})
		})
	}
}

// promptLate is a prompt store that gets the first request after 200 ms.
type promptLate struct {
	prompt
	sent     atomic.Int32
	releases atomic.Int32
}

func (s *promptLate) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if s.sent.Add(1) > 1 {
		return s.prompt.Acquire(ctx, a)
	}
	time.AfterFunc(200*time.Millisecond, func() { _, _ = s.Store.Acquire(context.Background(), a) })
	<-ctx.Done()
	return driver.Grant{}, ctx.Err()
}

func (s *promptLate) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return s.Acquire(ctx, a)
}

func (s *promptLate) Release(ctx context.Context, h driver.LeaseRef) error {
	s.releases.Add(1)
	return s.prompt.Release(ctx, h)
}

// A caller of a prompt store that hangs is back within 100 ms of the end of its context, whether that
// is its deadline or it is cancelled, and whether the store falls silent for its request or before.
func TestCallersOfASilentPromptStoreReturn(t *testing.T) {
	for _, name := range []string{"TryAcquire", "Acquire", "Acquire, barging", "Do"} {
		for _, cancelled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &prompt{silent: &silent{faulty: newFaulty()}}
					store.hangs.Store(true)
					l := lock.New(store, "a")
					backInTime(t, l, askers[name], cancelled, nil)
					wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, time.Minute)), nil)
					free(t, lock.New(store.Store, "b"), "k")
				})
			})
		}
	}
}
