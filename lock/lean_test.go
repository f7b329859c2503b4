package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// A lean store grants at most a second, even if the request has a longer TTL.
type lean struct{ *faulty }

func (s lean) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.TTL = min(a.TTL, time.Second)
	return s.faulty.Acquire(ctx, a)
}

func (s lean) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	return renewEach(ctx, hs, s.Renew)
}

func (s lean) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	h.TTL = min(h.TTL, time.Second)
	return s.faulty.Renew(ctx, h)
}

// If a store grants a shorter time than requested, the next request is sent after a third of the
// granted time, and the lease is trusted for no longer.
func TestLeanStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lean{newFaulty()}
		var slow atomic.Bool
		store.before = func(string) {
			if slow.Load() {
				time.Sleep(time.Minute)
			}
		}
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: time.Minute})
		time.Sleep(10*time.Second + 100*time.Millisecond)
		wantErr(t, "check after ten seconds", lease.Check(), nil)
		if n := store.renewals.Load(); n < 29 || n > 36 {
			t.Errorf("%d renewals in ten seconds, want about 30", n)
		}
		slow.Store(true)
		begin := time.Now()
		<-lease.Context().Done()
		if took := time.Since(begin); took > 900*time.Millisecond {
			t.Errorf("believed in for %v after the last renewal of a second", took)
		}
		time.Sleep(2 * time.Minute) // requests that hang end
	})
}

// An asking store notes the fence that the last plain acquisition came with.
type asking struct {
	*faulty
	floor int64
}

func (s *asking) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.floor = a.Fence
	return s.faulty.Acquire(ctx, a)
}

func (s *asking) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.floor = a.Fence
	return s.faulty.Wait(ctx, a)
}

func (s *asking) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	s.floor = as[0].Fence
	return s.faulty.AcquireAll(ctx, as)
}

// The fence of a key is a floor for the next grant of that key, and for no other, which another
// server may judge by another clock. Fences of series are no floors for plain keys, which a store
// may count apart.
func TestFloorsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &asking{faulty: newFaulty()}
		l := lock.New(store, "a")
		mark := store.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "a"}})[0].Mark
		a := claimer.New(store, "a").Claim(t.Context(), []series.Claim{{Key: "job", Owner: l.Owner(), Number: mark + 1, After: mark, TTL: time.Minute,
			Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("the claim: %+v", a)
		}
		first := acquire(t, l, "job", lock.Options{})
		if store.floor != 0 {
			t.Errorf("the first plain acquisition came with the floor %d", store.floor)
		}
		acquire(t, l, "other", lock.Options{})
		if store.floor != 0 {
			t.Errorf("the first of another key came with the floor %d", store.floor)
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		second := acquire(t, l, "job", lock.Options{})
		if store.floor != first.Fence() {
			t.Errorf("the second came with the floor %d, the first had the fence %d", store.floor, first.Fence())
		}
		wantErr(t, "release", second.Release(t.Context()), nil)
		third, err := l.Acquire(t.Context(), "job", lock.Options{})
		wantErr(t, "acquire", err, nil)
		if store.floor != second.Fence() {
			t.Errorf("the third, which waited, came with the floor %d, the second had the fence %d", store.floor, second.Fence())
		}
		wantErr(t, "release", third.Release(t.Context()), nil)
		_, err = l.AcquireAll(t.Context(), []string{"job", "more"}, lock.Options{})
		wantErr(t, "acquire with another key", err, nil)
		if store.floor != third.Fence() {
			t.Errorf("the fourth, with another key, came with the floor %d, the third had the fence %d", store.floor, third.Fence())
		}
	})
}
