package lock_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// Two Lockers that were given one name, as two pods of a misconfigured set, exclude
// each other, and their owners begin with that name.
func TestLockersOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlock.Store)
		a, b := lock.New(store, "pod-0"), lock.New(store, "pod-0")
		acquire(t, a, "k", lock.Options{})
		if _, err := b.TryAcquire(t.Context(), "k", lock.Options{}); !isHeld(err) {
			t.Errorf("the second of the name: %v, want a *HeldError", err)
		}
		one, two := a.Owner(), b.Owner()
		form := regexp.MustCompile(`^pod-0/[A-Z2-7]{13}\.[0-9a-z]+$`) // 13 letters of 5 bits
		if !form.MatchString(one) || !form.MatchString(two) || one == two || driver.NodeOf(one) != "pod-0" {
			t.Errorf("the owners are %q and %q", one, two)
		}
	})
}

func isHeld(err error) bool {
	_, held := errors.AsType[*lock.HeldError](err)
	return held
}

// A store whose clock was put back says that an hour is left of a lease of two
// seconds: it is believed in for no longer than was asked for, when it is granted,
// claimed and renewed.
func TestTrustIsNoLongerThanAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 2 * time.Second
		store := generous{newFaulty()}
		l := lock.New(store, "a")
		lease := acquire(t, l, "k", lock.Options{TTL: ttl})
		atMost(t, "when it was granted", lease, ttl)
		time.Sleep(ttl/3 + time.Millisecond)
		if store.renewals.Load() == 0 {
			t.Fatal("it was not renewed")
		}
		atMost(t, "when it was renewed", lease, ttl)
		mark := store.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "a"}})[0].Mark
		run := claimer.New(store, "a").Claim(t.Context(), []series.Claim{{Key: "job", Owner: l.Owner(), Number: mark + 1, After: mark, TTL: ttl,
			Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}})[0]
		if run.Kind != series.KindGranted {
			t.Fatalf("the claim: %+v", run)
		}
		atMost(t, "when it was claimed", run.Lease, ttl)
	})
}

func atMost(t *testing.T, when string, lease kept, ttl time.Duration) {
	t.Helper()
	if left := time.Until(lease.Deadline()); left <= 0 || left > ttl {
		t.Errorf("%s: believed in for %v, asked for were %v", when, left, ttl)
	}
}

// A generous store answers that an hour is left, even if the request has a shorter TTL.
type generous struct{ *faulty }

func (s generous) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := s.faulty.Acquire(ctx, a)
	g.Left = time.Hour
	return g, err
}

func (s generous) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	return renewEach(ctx, hs, s.Renew)
}

func (s generous) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	g, err := s.faulty.Renew(ctx, h)
	g.Left = time.Hour
	return g, err
}

func (s generous) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	answers := s.Store.Claim(ctx, cs)
	for i := range answers {
		answers[i].Left = time.Hour
	}
	return answers
}

// A machine that was suspended for longer than a lease lasts knows by its wall
// clock that it is over, though the monotonic clock stood still; shorter, or with a
// wall clock that is put back, nothing has ended.
func TestCheckNoticesASuspendedMachine(t *testing.T) {
	for _, c := range []struct {
		slept time.Duration
		want  error
	}{{1700 * time.Millisecond, nil}, {1800 * time.Millisecond, lock.ErrLost}, {time.Hour, lock.ErrLost}, {-time.Hour, nil}} {
		t.Run(c.slept.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := lock.New(new(memlock.Store), "a")
				slept := l.Suspended()
				lease := acquire(t, l, "k", lock.Options{TTL: 2 * time.Second})
				slept.Store(int64(c.slept))
				wantErr(t, "check", lease.Check(), c.want)
				wantErr(t, "cause", context.Cause(lease.Context()), c.want)
			})
		})
	}
}

// The context of a lease ends, too, when its renewal would be due and the wall clock
// says that it is over.
func TestContextEndsAfterASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		slept := l.Suspended()
		lease := acquire(t, l, "k", lock.Options{TTL: 3 * time.Second})
		slept.Store(int64(time.Minute))
		began := time.Now()
		<-lease.Context().Done()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the context ended after %v", took)
		}
		if n := store.renewals.Load(); n > 0 {
			t.Errorf("%d renewals of a lease that was over", n)
		}
	})
}
