package redlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/locktest"
	"github.com/cronce/cronce/lock/redlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler"
)

// Three real servers keep the contract of plain leases.
func TestContractReal(t *testing.T) {
	t.Parallel() // it waits for leases to expire
	_, cs := servers(t, 3)
	contract(t, cs, func(d time.Duration) { waitOn(t, cs, d) })
}

// Three simulated servers whose clocks differ by more than any lease keep it too.
func TestContractSimulated(t *testing.T) {
	sims, cs := simulated(t, 3, time.Hour)
	contract(t, cs, func(d time.Duration) {
		for _, s := range sims {
			s.wait(d)
		}
	})
}

func contract(t *testing.T, cs []redis.UniversalClient, wait func(time.Duration)) {
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) driver.Driver {
			d := newDriver(t, cs, redlock.Options{Namespace: fresh(), NodeTimeout: slow})
			d.AgreeWithin(slow) // the contract does not cover a server that is late on a busy machine
			return patient{d}
		},
		Wait: wait,
	})
}

// patient repeats a request after doubt: on a loaded machine too many servers may take longer than
// the driver waits. A repeated request of the same owner is answered as if nothing had happened.
type patient struct{ driver.Driver }

func (p patient) Acquire(ctx context.Context, a driver.Acquisition) (g driver.Grant, err error) {
	err = insist(func() error { g, err = p.Driver.Acquire(ctx, a); return err })
	return g, err
}

func (p patient) Renew(ctx context.Context, h driver.LeaseRef) (g driver.Grant, err error) {
	err = insist(func() error { g, err = p.Driver.Renew(ctx, h); return err })
	return g, err
}

func (p patient) RenewAll(ctx context.Context, hs []driver.LeaseRef) (answers []driver.Renewal) {
	_ = insist(func() (err error) {
		answers = p.Driver.(driver.MultiRenewer).RenewAll(ctx, hs)
		for _, a := range answers {
			if errors.Is(a.Err, redlock.ErrNoQuorum) {
				err = a.Err
			}
		}
		return err
	})
	return answers
}

func (p patient) Release(ctx context.Context, h driver.LeaseRef) error {
	return insist(func() error { return p.Driver.Release(ctx, h) })
}

// insist repeats a request until the error is not ErrNoQuorum.
func insist(ask func() error) (err error) {
	for range 50 {
		if err = ask(); !errors.Is(err, redlock.ErrNoQuorum) {
			break
		}
	}
	return err
}

// simulated returns servers in this process whose clocks stand still, each
// ahead of the one before it by skew.
func simulated(t testing.TB, n int, skew time.Duration) ([]*sim, []redis.UniversalClient) {
	sims, addrs := make([]*sim, n), make([]string, n)
	for i := range sims {
		m := miniredis.RunT(t)
		sims[i] = &sim{Miniredis: m, now: time.UnixMilli(1_795_207_852_937).Add(time.Duration(i) * skew)}
		m.ClockTTL(true)
		sims[i].wait(0)
		addrs[i] = m.Addr()
	}
	return sims, clients(t, addrs...)
}

// A sim is a miniredis whose clock is moved by hand.
type sim struct {
	*miniredis.Miniredis
	mu  sync.Mutex
	now time.Time
}

func (s *sim) wait(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
	s.SetTime(s.now)
}

// A Redlock has no numbers, so it cannot be used for a scheduler: the compiler refuses it. A claim
// through a Claimer is refused without a request.
func TestNoStoreForSchedulers(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{})
	if _, is := any(d).(series.Numbered); is {
		t.Error("it is a lock.Numbered")
	}
	if _, is := any(d).(scheduler.Store); is {
		t.Error("it is a scheduler.Store")
	}
	got := claimer.New(d, "").Claim(t.Context(), []series.Claim{{Key: "job", Number: 1}})
	if len(got) != 1 || !errors.Is(got[0].Err, lock.ErrUnsupported) || got[0].Lease != nil {
		t.Errorf("the claim is answered with %+v, want lock.ErrUnsupported", got)
	}
}
