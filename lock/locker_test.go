package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

func acquire(t *testing.T, l *lock.Locker, key string, o lock.Options) *lock.Lease {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), key, o)
	if err != nil {
		t.Fatalf("TryAcquire(%q) = %v, want a lease", key, err)
	}
	return lease
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// One owner has a key; another is refused, and gets it after the release, with a
// higher fence.
func TestOneOwnerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		a, b := lock.New(store, "a"), lock.New(store, "b")
		first := acquire(t, a, "k", lock.Options{})
		_, err := b.TryAcquire(t.Context(), "k", lock.Options{})
		held, ok := errors.AsType[*lock.HeldError](err)
		if !ok || held.Key != "k" || held.Left != lock.DefaultTTL {
			t.Fatalf("the second asker got %v, want a HeldError for %v", err, lock.DefaultTTL)
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		wantErr(t, "release again", first.Release(t.Context()), lock.ErrReleased)
		wantErr(t, "check after the release", first.Check(), lock.ErrReleased)
		wantErr(t, "cause after the release", context.Cause(first.Context()), lock.ErrReleased)
		second := acquire(t, b, "k", lock.Options{})
		if second.Fence() <= first.Fence() {
			t.Errorf("fence %d after %d", second.Fence(), first.Fence())
		}
		wantErr(t, "release", second.Release(t.Context()), nil)
	})
}

// A lease is renewed as long as it is held, at a third of its TTL, and keeps its
// fence.
func TestRenewalKeepsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		lease := acquire(t, l, "k", lock.Options{TTL: 3 * time.Second})
		time.Sleep(time.Minute + 500*time.Millisecond) // between two renewals
		wantErr(t, "check after a minute", lease.Check(), nil)
		if n := store.renewals.Load(); n < 58 || n > 62 {
			t.Errorf("%d renewals in a minute, want about 60", n)
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
		before := store.renewals.Load()
		time.Sleep(time.Minute)
		if n := store.renewals.Load(); n != before {
			t.Errorf("%d renewals after the release", n-before)
		}
	})
}

// A fixed lease is not renewed: its context ends before its TTL does.
func TestFixedLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		lease := acquire(t, l, "k", lock.Options{TTL: 2 * time.Second, Fixed: true})
		began := time.Now()
		<-lease.Context().Done()
		if took := time.Since(began); took != 1800*time.Millisecond {
			t.Errorf("the context ended after %v, want the TTL less a tenth", took)
		}
		wantErr(t, "cause", context.Cause(lease.Context()), lock.ErrLost)
		wantErr(t, "check", lease.Check(), lock.ErrLost)
	})
}

// A renewal that hangs, in a driver that ignores its context, cannot keep the
// lease's context alive: it ends before another owner can be granted the key.
func TestHangingRenewalCannotKeepTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		hang := make(chan struct{})
		store.before = func(op string) {
			if op == "renew" {
				<-hang
			}
		}
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: 3 * time.Second})
		other := lock.New(store.Store, "b")
		for {
			second, err := other.TryAcquire(t.Context(), "k", lock.Options{})
			if err == nil {
				wantErr(t, "the first context when the second owner is granted", context.Cause(lease.Context()), lock.ErrLost)
				wantErr(t, "release", second.Release(t.Context()), nil)
				break
			}
			time.Sleep(time.Millisecond)
		}
		close(hang)
		time.Sleep(10 * time.Second) // requests that hung may answer now, without an effect
		wantErr(t, "check", lease.Check(), lock.ErrLost)
	})
}

// The store is gone for less than the lease lasts: renewal goes on at a faster
// pace and the lease survives.
func TestRenewalSurvivesAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		until := time.Now().Add(2500 * time.Millisecond)
		store.lose = func(op string) bool { return op == "renew" && time.Now().Before(until) }
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: 3 * time.Second})
		time.Sleep(time.Minute)
		wantErr(t, "check", lease.Check(), nil)
		wantErr(t, "release", lease.Release(t.Context()), nil)
	})
}

// A store that answers "lost" ends the context at once.
func TestLostEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: 30 * time.Second})
		store.Forget()
		began := time.Now()
		<-lease.Context().Done()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the context ended after %v, want at the next renewal", took)
		}
		wantErr(t, "cause", context.Cause(lease.Context()), lock.ErrLost)
	})
}

// The answer to an acquisition is lost: the same owner asks again and gets the
// same grant. Doubt is never taken for contention.
func TestLostAnswerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		store.lose = times(3, "acquire")
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{})
		if n := store.acquires.Load(); n != 4 {
			t.Errorf("asked %d times, want 4", n)
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
	})
}

// Every answer is lost: the caller gets the doubt, neither a lease nor a HeldError, and the granted
// lease is undone.
func TestDoubtIsReturnedAndUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		store.lose = func(op string) bool { return op == "acquire" }
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := lock.New(store, "a").TryAcquire(ctx, "k", lock.Options{})
		wantErr(t, "the doubt", err, errNetwork)
		if _, held := errors.AsType[*lock.HeldError](err); held {
			t.Errorf("doubt was reported as held: %v", err)
		}
		free := acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
		wantErr(t, "release", free.Release(t.Context()), nil)
	})
}

// A grant that arrives after its trust is over is never a lease.
func TestLateGrantIsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		slow := &slowAnswer{faulty: store, by: 950 * time.Millisecond}
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		lease, err := lock.New(slow, "a").TryAcquire(ctx, "k", lock.Options{TTL: time.Second})
		if err == nil {
			t.Fatalf("got a lease until %v from an answer that took longer", lease.Deadline())
		}
	})
}

// slowAnswer answers late, after the store has granted.
type slowAnswer struct {
	*faulty
	by time.Duration
}

func (s *slowAnswer) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := s.faulty.Acquire(ctx, a)
	time.Sleep(s.by)
	return g, err
}

// Bad arguments are refused by name, and nothing is sent twice for them.
func TestBadArguments(t *testing.T) {
	l := lock.New(&memlock.Store{}, "a")
	for _, c := range []struct {
		key, argument string
		ttl           time.Duration
	}{
		{"", "key", 0},
		{"a\x00b", "key", 0},
		{string(make([]byte, 201)), "key", 0},
		{"k", "TTL", 499 * time.Millisecond},
		{"k", "TTL", 25 * time.Hour},
	} {
		_, err := l.TryAcquire(t.Context(), c.key, lock.Options{TTL: c.ttl})
		bad, ok := errors.AsType[*lock.ArgumentError](err)
		if !ok || bad.Argument != c.argument {
			t.Errorf("TryAcquire(%q, %v) = %v, want a fault of %s", c.key, c.ttl, err, c.argument)
		}
	}
	_, inspect := l.Inspect(t.Context(), "a\x00b")
	_, holders := l.Holders(t.Context(), "a\x00b")
	_, records := l.ForceRecords(t.Context(), "a\x00b")
	_, force := l.Force(t.Context(), driver.ForceRequest{Key: "a\x00b", By: "alice", Reason: "gone"})
	for name, err := range map[string]error{"Inspect": inspect, "Holders": holders, "ForceRecords": records, "Force": force} {
		if bad, ok := errors.AsType[*lock.ArgumentError](err); !ok || bad.Argument != "key" {
			t.Errorf("%s: %v, want a fault of key", name, err)
		}
	}
}

// Do releases when the function returns and when it panics.
func TestDoReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		boom := errors.New("boom")
		err := l.Do(t.Context(), "k", lock.Options{}, func(ctx context.Context, lease *lock.Lease) error { return boom })
		wantErr(t, "Do", err, boom)
		func() {
			defer func() { _ = recover() }()
			_ = l.Do(t.Context(), "k", lock.Options{}, func(context.Context, *lock.Lease) error { panic("boom") })
		}()
		wantErr(t, "release", acquire(t, l, "k", lock.Options{}).Release(t.Context()), nil)
	})
}

// Without a function Do acquires no key.
func TestDoWithoutAFunction(t *testing.T) {
	l := lock.New(&memlock.Store{}, "a")
	held := acquire(t, l, "k", lock.Options{})
	err := l.Do(t.Context(), "k", lock.Options{}, nil)
	if bad, ok := errors.AsType[*lock.ArgumentError](err); !ok || bad.Argument != "function" {
		t.Errorf("Do returned %v, want an error about its function", err)
	}
	wantErr(t, "release", held.Release(t.Context()), nil)
}

// Without a context no call acquires a key, and none waits for its turn after it.
func TestWithoutAContext(t *testing.T) {
	l := lock.New(memlock.New(memlock.Options{}), "a")
	var none context.Context
	for name, call := range map[string]func(o lock.Options) error{
		"TryAcquire": func(o lock.Options) error { _, err := l.TryAcquire(none, "k", o); return err },
		"Acquire":    func(o lock.Options) error { _, err := l.Acquire(none, "k", o); return err },
		"AcquireAll": func(o lock.Options) error { _, err := l.AcquireAll(none, []string{"k", "other"}, o); return err },
		"Do": func(o lock.Options) error {
			return l.Do(none, "k", o, func(context.Context, *lock.Lease) error { return errors.New("called") })
		},
	} {
		for _, o := range []lock.Options{{}, {Reenter: true}} {
			if bad, ok := errors.AsType[*lock.ArgumentError](call(o)); !ok || bad.Argument != "context" {
				t.Errorf("%s with %+v: %v, want an error about the context", name, o, bad)
			}
			wantErr(t, "release", acquire(t, l, "k", o).Release(t.Context()), nil)
		}
	}
}

func ExampleLocker_Do() {
	locker := lock.New(&memlock.Store{}, "pod-1") // in a program by lock.Open
	err := locker.Do(context.Background(), "report", lock.Options{}, func(ctx context.Context, lease *lock.Lease) error {
		fmt.Println("holding", lease.Key(), lease.Fence() > 0)
		return lease.Check()
	})
	fmt.Println(err)
	// Output:
	// holding report true
	// <nil>
}

// An alarm that a released lease has left is no harm to the next ones: neither to
// one that is due earlier, nor to one that is taken long after it, or that is due
// later than any alarm is set.
func TestAlarmsOfEarlierLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		for _, ttl := range []time.Duration{time.Minute, 3 * time.Second, time.Minute, time.Hour} {
			lease := acquire(t, l, "k", lock.Options{TTL: ttl})
			wantErr(t, "release", lease.Release(t.Context()), nil)
			lease = acquire(t, l, "k", lock.Options{TTL: ttl})
			before := store.renewals.Load()
			time.Sleep(10*ttl + ttl/10)
			if n := store.renewals.Load() - before; n < 29 || n > 31 {
				t.Errorf("a TTL of %v: %d renewals in ten of it, want about 30", ttl, n)
			}
			wantErr(t, "release", lease.Release(t.Context()), nil)
		}
	})
}
