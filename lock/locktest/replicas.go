package locktest

import (
	"context"
	"errors"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// short fails the test unless err is the store's answer to a request for more replicas than it has.
// That is doubt with the number of replicas, or driver.ErrUnsupported from a store that cannot wait
// for any. short reports whether the store waited.
func (s *fixture) short(err error) (waited bool) {
	s.Helper()
	if errors.Is(err, driver.ErrUnsupported) {
		return false
	}
	e, ok := errors.AsType[*driver.ReplicasError](err)
	if !ok || e.Want != driver.MaxReplicas || e.Acked >= e.Want || e.Key == "" {
		s.Fatalf("asked for %d replicas it answers %v, want a *lock.ReplicasError, or lock.ErrUnsupported", driver.MaxReplicas, err)
	}
	return true
}

func plainReplicas(s *fixture) {
	a := s.acquisition(long)
	a.Replicas = driver.MaxReplicas
	_, err := s.front().Acquire(s.ctx, a)
	s.short(err)
	s.acquire(s.acquisition(long)) // the request left nothing behind
	if _, waits := s.driver.(driver.Waiter); waits {
		b := s.acquisition(long)
		b.Key, b.Replicas = "another", driver.MaxReplicas
		ctx, stop := context.WithTimeout(s.ctx, short)
		defer stop()
		if g, err := s.front().Wait(ctx, b); err == nil {
			s.Fatalf("waiting with replicas that are not there it is granted %+v", g)
		}
		b = s.acquisition(long)
		b.Key = "another"
		s.acquire(b)
	}
}

func claimReplicas(s *fixture) {
	s.open()
	c := s.next(1)
	c.Replicas = driver.MaxReplicas
	a := s.front().Claim(s.ctx, []series.Claim{c})[0]
	equal(s, "the kind", name(a.Kind), name(series.KindUnknown))
	if !s.short(a.Err) {
		s.claimed(s.next(1), series.KindGranted)
		return
	}
	left := s.claimed(s.next(1), series.KindPassed)
	if left.State != series.RunUnstarted {
		s.Fatalf("of the claim is left %+v, want a run that was never started", left)
	}
	again := s.next(1)
	again.From = left.Fence
	_, run := s.granted(again)
	if run.Fence <= left.Fence {
		s.Fatalf("the fence is %d after %d", run.Fence, left.Fence)
	}
}
