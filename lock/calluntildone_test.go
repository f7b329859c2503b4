package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// silent is a store that, once it hangs, delays each request for three seconds, even if its caller
// has left, and then carries it out. It notes whether a release came before the answer to a request
// for the same key.
type silent struct {
	*faulty
	hangs    atomic.Bool
	asking   atomic.Int32
	overtook atomic.Bool
}

const silence = 3 * time.Second

func (s *silent) hang() {
	if s.hangs.Load() {
		time.Sleep(silence)
	}
}

func (s *silent) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	s.hang()
	return s.faulty.Acquire(ctx, a)
}

func (s *silent) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	s.hang()
	return s.faulty.AcquireAll(ctx, as)
}

func (s *silent) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	s.hang()
	g, err := s.faulty.Wait(context.WithoutCancel(ctx), a) // granted though no caller waits for it any more
	return g, err
}

func (s *silent) Release(ctx context.Context, h driver.LeaseRef) error {
	s.overtook.CompareAndSwap(false, s.asking.Load() > 0)
	return s.faulty.Release(ctx, h)
}

func (s *silent) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	s.overtook.CompareAndSwap(false, s.asking.Load() > 0)
	return s.faulty.ReleaseAll(ctx, hs)
}

func (s *silent) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	return renewEach(ctx, hs, s.Renew)
}

func (s *silent) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	s.hang()
	return s.faulty.Renew(ctx, h)
}

func (s *silent) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	s.hang()
	return s.faulty.Holders(ctx, key)
}

func (s *silent) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	s.hang()
	return s.faulty.Inspect(ctx, key)
}

func (s *silent) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	s.hang()
	return s.faulty.Force(ctx, f)
}

func (s *silent) ForceRecords(ctx context.Context, key string) ([]driver.ForceRecord, error) {
	s.hang()
	return s.faulty.ForceRecords(ctx, key)
}

// Each way to ask about a key, or for a lease that there is.
func questions(lease *lock.Lease) map[string]func(ctx context.Context, l *lock.Locker) error {
	return map[string]func(ctx context.Context, l *lock.Locker) error{
		"Extend":   func(ctx context.Context, _ *lock.Locker) error { return lease.Extend(ctx) },
		"Holders":  func(ctx context.Context, l *lock.Locker) error { _, err := l.Holders(ctx, "k"); return err },
		"Inspect":  func(ctx context.Context, l *lock.Locker) error { _, err := l.Inspect(ctx, "k"); return err },
		"Forcings": func(ctx context.Context, l *lock.Locker) error { _, err := l.ForceRecords(ctx, "k"); return err },
		"Force": func(ctx context.Context, l *lock.Locker) error {
			_, err := l.Force(ctx, driver.ForceRequest{Key: "j", By: "alice", Reason: "gone"})
			return err
		},
	}
}

// A caller that asks a store which hangs about a key, or extends a lease, is back
// within 100 ms of the end of its context as well, and once the store has answered nothing
// goes on behind it.
func TestQuestionsToASilentStoreReturn(t *testing.T) {
	for name := range questions(nil) {
		for _, cancelled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &silent{faulty: newFaulty()}
					l := lock.New(store, "a")
					lease := acquire(t, l, "k", lock.Options{TTL: time.Hour, Fixed: true})
					store.hangs.Store(true)
					backInTime(t, l, questions(lease)[name], cancelled, nil)
					wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, time.Minute)), nil)
					store.hangs.Store(false)
					_ = lease.Release(t.Context())
					free(t, lock.New(store.Store, "b"), "k")
				})
			})
		}
	}
}

// Each way to ask for keys.
var askers = map[string]func(ctx context.Context, l *lock.Locker) error{
	"TryAcquire": func(ctx context.Context, l *lock.Locker) error {
		_, err := l.TryAcquire(ctx, "k", lock.Options{TTL: time.Hour})
		return err
	},
	"Acquire": func(ctx context.Context, l *lock.Locker) error {
		_, err := l.Acquire(ctx, "k", lock.Options{TTL: time.Hour})
		return err
	},
	"Acquire, barging": func(ctx context.Context, l *lock.Locker) error {
		_, err := l.Acquire(ctx, "k", lock.Options{TTL: time.Hour, Barge: true})
		return err
	},
	"AcquireAll": func(ctx context.Context, l *lock.Locker) error {
		_, err := l.AcquireAll(ctx, []string{"j", "k"}, lock.Options{TTL: time.Hour})
		return err
	},
	"Do": func(ctx context.Context, l *lock.Locker) error {
		return l.Do(ctx, "k", lock.Options{TTL: time.Hour}, func(context.Context, *lock.Lease) error { return nil })
	},
}

// A caller of a store that hangs returns within 100 ms of the end of its context, also if the
// context is cancelled, however long the driver takes. A lease that the store grants later is given
// back in the background, and not before the store has answered.
func TestCallersOfASilentStoreReturn(t *testing.T) {
	for name, ask := range askers {
		for _, cancelled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &silent{faulty: newFaulty()}
					store.hangs.Store(true)
					l := lock.New(store, "a")
					backInTime(t, l, ask, cancelled, nil)
					wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, time.Minute)), nil)
					for _, key := range []string{"j", "k"} {
						free(t, lock.New(store.Store, "b"), key)
					}
					if store.overtook.Load() {
						t.Error("a release was sent while the request that it undoes had no answer")
					}
				})
			})
		}
	}
}

// The same of callers that stand in line when the store falls silent, or in the line of
// their process.
func TestWaitersOfASilentStoreReturn(t *testing.T) {
	for _, name := range []string{"Acquire", "AcquireAll", "Do"} {
		for _, cancelled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &silent{faulty: newFaulty()}
					first := acquire(t, lock.New(store.Store, "b"), "k", lock.Options{TTL: time.Hour})
					l := lock.New(store, "a")
					released := make(chan error, 1)
					backInTime(t, l, askers[name], cancelled, func() {
						store.hangs.Store(true)
						time.AfterFunc(silence, func() { released <- first.Release(t.Context()) })
					})
					wantErr(t, "the release of the holder", <-released, nil)
					wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, time.Minute)), nil)
					free(t, lock.New(store.Store, "b"), "k")
				})
			})
		}
	}
}

// backInTime asks with a context that ends after a second, 100 ms after which the
// caller must be back. Meanwhile is called after half a second, if at all.
func backInTime(t *testing.T, l *lock.Locker, ask func(context.Context, *lock.Locker) error, cancelled bool, meanwhile func()) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	want := context.DeadlineExceeded
	if cancelled {
		ctx, stop = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		want = context.Canceled
	}
	defer stop()
	if meanwhile != nil {
		time.AfterFunc(time.Second/2, meanwhile)
	}
	began := time.Now()
	err := ask(ctx, l)
	if took := time.Since(began) - time.Second; took > 100*time.Millisecond {
		t.Errorf("it was back %v after the end of its context", took)
	}
	_, held := errors.AsType[*lock.HeldError](err)
	if !errors.Is(err, want) || held != (meanwhile != nil) {
		t.Errorf("it returned: %v", err)
	}
}

// panicky is a store whose driver panics, after a second.
type panicky struct {
	*faulty
	prompt bool
}

func (p *panicky) Prompt() bool { return p.prompt }

func (p *panicky) Acquire(context.Context, driver.Acquisition) (driver.Grant, error) {
	time.Sleep(time.Second)
	panic("the driver")
}

func (p *panicky) AcquireAll(context.Context, []driver.Acquisition) ([]driver.Grant, error) {
	time.Sleep(time.Second)
	panic("the driver")
}

func (p *panicky) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return p.Acquire(ctx, a)
}

// A panic of the driver reaches the caller, which may recover it, whether its context can end or
// not, and also in the short time that the caller waits after that end. The keys can be acquired
// afterwards: no local queue is left behind.
func TestPanicsOfADriverReachTheCaller(t *testing.T) {
	for name, ask := range askers {
		for limit, ctx := range map[string]func(context.Context) (context.Context, context.CancelFunc){
			"none": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithoutCancel(ctx), func() {}
			},
			"later": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Minute)
			},
			"earlier": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 970*time.Millisecond)
			},
		} {
			for _, prompt := range []bool{false, true} {
				t.Run(name+"/"+limit, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l := lock.New(&panicky{newFaulty(), prompt}, "a")
						ctx, stop := ctx(t.Context())
						defer stop()
						for n := 0; n < 2 && (n == 0 || ctx.Err() == nil); n++ {
							if p := panicOf(func() { _ = ask(ctx, l) }); p != "the driver" {
								t.Errorf("recovered %v", p)
							}
						}
						if n := l.Lines(); n != 0 {
							t.Errorf("%d lines are left", n)
						}
					})
				})
			}
		}
	}
}

// panicOf returns the value that f panics with.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// remarks is a store that notes some answers, and doubts, before the end of its caller's
// context, some after it, and then is silent for an hour.
type remarks struct {
	*memlock.Store
	before, after []error
}

func (s *remarks) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	for _, err := range s.before {
		a.NoteRefusal(err)
	}
	<-ctx.Done()
	for _, err := range s.after {
		a.NoteRefusal(err)
	}
	time.Sleep(time.Hour)
	return driver.Grant{}, ctx.Err()
}

// A caller that leaves a silent store gets the latest answer with the end of its context.
// A doubt that comes after that end replaces no answer, and no doubt from before it: the
// end alone may have caused it.
func TestLatestAnswerCounts(t *testing.T) {
	held, cut := &lock.HeldError{Key: "k"}, context.DeadlineExceeded
	for name, c := range map[string]struct {
		before, after []error
		held, network bool
	}{
		"nothing":                     {},
		"held, then cut off":          {before: []error{held}, after: []error{cut}, held: true},
		"held, then doubt at the end": {before: []error{held}, after: []error{errNetwork}, held: true},
		"held, then doubt before it":  {before: []error{held, errNetwork}, network: true},
		"doubt, then held":            {before: []error{errNetwork, held}, after: []error{cut}, held: true},
		"doubt, then cut off":         {before: []error{errNetwork}, after: []error{cut}, network: true},
		"doubt at the end alone":      {after: []error{errNetwork, cut}, network: true},
		"held at the end":             {before: []error{errNetwork}, after: []error{held, cut}, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := lock.New(&remarks{Store: new(memlock.Store), before: c.before, after: c.after}, "a")
				_, err := l.Acquire(ctxFor(t, time.Second), "k", lock.Options{})
				wantErr(t, "acquire", err, context.DeadlineExceeded)
				if isHeld(err) != c.held || errors.Is(err, errNetwork) != c.network {
					t.Errorf("the answer is %v", err)
				}
				if silent := strings.Contains(err.Error(), "has not answered"); silent == (c.held || c.network) {
					t.Errorf("the store noted %d answers, and the caller got: %v", len(c.before)+len(c.after), err)
				}
				wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, 2*time.Hour)), nil)
			})
		})
	}
}

// An answer that comes within 40 ms of the end of its caller's context is the caller's, also after a reply
// that was lost; after 40 ms the caller is back without one.
func TestAnswerAfterTheEnd(t *testing.T) {
	const grace = 40 * time.Millisecond
	for _, after := range []time.Duration{time.Microsecond, grace - time.Microsecond, grace + time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			store := newFaulty()
			acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
			store.lose = times(1, "acquire")
			store.before = func(string) { time.Sleep((time.Second + after - 20*time.Millisecond) / 2) } // there is a pause between the two requests
			l := lock.New(store, "a")
			began := time.Now()
			_, err := l.TryAcquire(ctxFor(t, time.Second), "k", lock.Options{})
			if took := time.Since(began) - time.Second; took != min(after, grace) {
				t.Errorf("an answer %v after the end: the caller is back after %v", after, took)
			}
			if in := after < grace; isHeld(err) != in || errors.Is(err, context.DeadlineExceeded) == in {
				t.Errorf("an answer %v after the end: %v", after, err)
			}
			wantErr(t, "the wait for what goes on behind", l.Wait(ctxFor(t, time.Minute)), nil)
		})
	}
}
