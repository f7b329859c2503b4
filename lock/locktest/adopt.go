package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

var adoptTests = []test{
	{"an owner that adopts a lease has the key with a greater fence, and the old lease is lost", adoptTakes},
	{"an adoption asked again by the same owner gets the same fence", adoptAgain},
	{"a lease that is not alive is not adopted, and nothing changes", adoptLost},
	{"of several owners that adopt one lease the first has it", adoptOnce},
	{"of several adoptions at a time one has the lease", adoptRace},
	{"the adopted lease has the limit of the old one, and the other holders keep theirs", adoptShared},
	{"the fence is above the one that the new owner has seen", adoptFloor},
	{"who waits goes on waiting, and is served by the new owner's release", adoptWaiters},
	{"a lease of a Locker goes to another by its token", adoptToken},
	{"adopt: a context that has ended is doubt, and nothing is done", adoptDoubt},
	{"adopt: bad arguments are refused by name", adoptArguments},
}

func (s *stand) adopt(from driver.LeaseRef, to driver.Acquisition) (driver.Grant, error) {
	return s.driver.(driver.Adopter).Adopt(s.ctx, from, to)
}

// adopted is an adoption that is granted.
func (s *stand) adopted(from driver.LeaseRef, to driver.Acquisition) driver.LeaseRef {
	s.Helper()
	g, err := s.adopt(from, to)
	if err != nil {
		s.Fatalf("adopt: %v", err)
	}
	s.within("left", g.Left, to.TTL)
	return driver.LeaseRef{Key: to.Key, Owner: to.Owner, Fence: g.Fence, TTL: to.TTL, Limit: from.Limit}
}

// handedOver fails the test unless the lease is lost because it was adopted.
func (s *stand) handedOver(h driver.LeaseRef) {
	s.Helper()
	if _, err := s.driver.Renew(s.ctx, h); !errors.Is(err, lock.ErrHandedOver) || !errors.Is(err, lock.ErrLost) {
		s.Fatalf("the renewal of the old lease says %v, want lock.ErrHandedOver", err)
	}
	for range 2 {
		if err := s.driver.Release(s.ctx, h); !errors.Is(err, lock.ErrHandedOver) {
			s.Fatalf("the release of the old lease says %v, want lock.ErrHandedOver", err)
		}
	}
}

func adoptTakes(s *stand) {
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		_, old := s.acquire(a)
		old.Limit = limit
		h := s.adopted(old, s.acquisition(long))
		if h.Fence <= old.Fence {
			s.Fatalf("the fence is %d after %d", h.Fence, old.Fence)
		}
		for range 2 {
			s.handedOver(old)
		}
		if _, err := s.driver.Renew(s.ctx, h); err != nil {
			s.Fatalf("the new owner: %v", err)
		}
		_ = s.held(s.acquisition(long))
		s.release(h)
		s.handedOver(old)
		a.Owner = s.owner()
		g, next := s.acquire(a)
		next.Limit = limit
		if g.Fence <= h.Fence {
			s.Fatalf("the fence is %d after %d", g.Fence, h.Fence)
		}
		s.release(next)
	}
}

func adoptAgain(s *stand) {
	_, old := s.acquire(s.acquisition(long))
	to := s.acquisition(long)
	first := s.adopted(old, to)
	s.env.Wait(100 * time.Millisecond)
	g, err := s.adopt(old, to)
	if err != nil || g.Fence != first.Fence || g.Left > long-100*time.Millisecond {
		s.Fatalf("asked again the answer is %+v, %v, the fence was %d", g, err, first.Fence)
	}
}

func adoptLost(s *stand) {
	refused := func(what string, from driver.LeaseRef) {
		s.Helper()
		if g, err := s.adopt(from, s.acquisition(long)); !errors.Is(err, lock.ErrLost) {
			s.Fatalf("%s: %+v, %v, want lock.ErrLost", what, g, err)
		}
	}
	_, h := s.acquire(s.acquisition(long))
	for what, change := range map[string]func(h *driver.LeaseRef){
		"a lower fence":  func(h *driver.LeaseRef) { h.Fence-- },
		"a higher fence": func(h *driver.LeaseRef) { h.Fence++ },
		"another owner":  func(h *driver.LeaseRef) { h.Owner = s.owner() },
	} {
		other := h
		change(&other)
		refused(what, other)
		if _, err := s.driver.Renew(s.ctx, h); err != nil {
			s.Fatalf("%s: the holder: %v", what, err)
		}
	}
	s.release(h)
	refused("released", h)
	_, h = s.acquire(s.acquisition(short))
	s.env.Wait(short + slack)
	refused("expired", h)
	_, next := s.acquire(s.acquisition(long))
	refused("expired, and another has it", h)
	s.release(next)
}

func adoptOnce(s *stand) {
	_, old := s.acquire(s.acquisition(long))
	h := s.adopted(old, s.acquisition(long))
	if g, err := s.adopt(old, s.acquisition(long)); !errors.Is(err, lock.ErrLost) {
		s.Fatalf("the second: %+v, %v, want lock.ErrLost", g, err)
	}
	h = s.adopted(h, s.acquisition(long)) // it is handed on
	s.handedOver(old)
	s.release(h)
}

func adoptShared(s *stand) {
	if _, shares := s.driver.(driver.Sharer); !shares {
		return
	}
	for _, limit := range []int{2, lock.NoLimit} {
		one, two := s.taken(limit), s.taken(limit)
		h := s.adopted(one, s.acquisition(long))
		for _, held := range s.holders() {
			if held.Limit != limit || held.Owner == one.Owner {
				s.Fatalf("the holders are %+v", s.holders())
			}
		}
		equal(s, "holders", len(s.holders()), 2)
		if h.Fence <= two.Fence {
			s.Fatalf("the fence is %d, beside %d", h.Fence, two.Fence)
		}
		s.notRenewed(one)
		s.renewed(two)
		s.renewed(h)
		_ = s.held(s.sharing(1))
		s.release(two)
		_ = s.held(s.sharing(1))
		s.release(h)
		s.release(s.taken(1))
	}
}

func adoptFloor(s *stand) {
	_, old := s.acquire(s.acquisition(long))
	to := s.acquisition(long)
	to.Fence = s.time() + hour
	h := s.adopted(old, to)
	if h.Fence <= to.Fence {
		s.Fatalf("the fence is %d, its owner had seen %d", h.Fence, to.Fence)
	}
	far := s.acquisition(long)
	far.Fence = s.time() + day + hour
	if g, err := s.adopt(h, far); !errors.Is(err, driver.ErrFence) {
		s.Fatalf("with a floor of more than a day ahead: %+v, %v, want lock.ErrFence", g, err)
	}
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the holder: %v", err)
	}
}

func adoptWaiters(s *stand) {
	_, waits := s.driver.(driver.Waiter)
	if _, tells := s.driver.(driver.Inspector); !waits || !tells {
		return
	}
	for _, renewed := range []string{"never", "before it waits", "while it waits"} {
		_, old := s.acquire(s.acquisition(long))
		if renewed == "before it waits" {
			s.renewed(old)
		}
		w := s.queued(s.acquisition(long))
		if renewed == "while it waits" {
			s.renewed(old)
		}
		h := s.adopted(old, s.acquisition(long))
		s.waiting(w)
		s.lost(s.driver.Release(s.ctx, old))
		s.waiting(w)
		s.release(h)
		next := s.served(w)
		if next.Fence <= h.Fence {
			s.Fatalf("renewed %s: the fence is %d after %d", renewed, next.Fence, h.Fence)
		}
		s.release(next)
	}
}

func adoptToken(s *stand) {
	one, two := lock.New(s.driver, "node 1/a"), lock.New(s.driver, "node 2")
	for _, limit := range s.limits() {
		key := fmt.Sprint("a {key} | of ", limit)
		old, err := one.TryAcquire(s.ctx, key, lock.Options{TTL: 3 * short, Limit: limit, Note: longNote})
		if err != nil {
			s.Fatalf("acquire: %v", err)
		}
		s.Cleanup(func() { _ = old.Release(context.Background()) })
		lease, err := two.Adopt(s.ctx, old.Token(), lock.Options{})
		if err != nil {
			s.Fatalf("adopt: %v", err)
		}
		if lease.Key() != key || lease.Fence() <= old.Fence() || lease.Check() != nil {
			s.Fatalf("the lease on %q has the fence %d after %d: %v", lease.Key(), lease.Fence(), old.Fence(), lease.Check())
		}
		select {
		case <-old.Context().Done():
		case <-time.After(patience):
			s.Fatalf("the old lease goes on")
		}
		if err := context.Cause(old.Context()); !errors.Is(err, lock.ErrHandedOver) {
			s.Fatalf("the cause is %v, want lock.ErrHandedOver", err)
		}
		s.lost(old.Release(s.ctx))
		if _, err := two.Adopt(s.ctx, old.Token(), lock.Options{}); !errors.Is(err, lock.ErrLost) {
			s.Fatalf("adopted again: %v, want lock.ErrLost", err)
		}
		if err := lease.Release(s.ctx); err != nil {
			s.Fatalf("release: %v", err)
		}
	}
}

func adoptDoubt(s *stand) {
	_, h := s.acquire(s.acquisition(long))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.driver.(driver.Adopter).Adopt(ctx, h, s.acquisition(long)); !errors.Is(err, context.Canceled) {
		s.Errorf("the error is %v, want one that wraps context.Canceled", err)
	}
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the holder: %v", err)
	}
}

func adoptArguments(s *stand) {
	_, h := s.acquire(s.acquisition(long))
	for _, c := range []struct {
		argument string
		change   func(from *driver.LeaseRef, to *driver.Acquisition)
	}{
		{"key", func(from *driver.LeaseRef, _ *driver.Acquisition) { from.Key = "other" }},
		{"key", func(from *driver.LeaseRef, to *driver.Acquisition) { from.Key, to.Key = "", "" }},
		{"owner", func(from *driver.LeaseRef, to *driver.Acquisition) { to.Owner = from.Owner }},
		{"owner", func(from *driver.LeaseRef, _ *driver.Acquisition) { from.Owner = "a|b" }},
		{"owner", func(_ *driver.LeaseRef, to *driver.Acquisition) { to.Owner = "a|b" }},
		{"fence", func(from *driver.LeaseRef, _ *driver.Acquisition) { from.Fence = 0 }},
		{"fence", func(_ *driver.LeaseRef, to *driver.Acquisition) { to.Fence = -1 }},
		{"TTL", func(_ *driver.LeaseRef, to *driver.Acquisition) { to.TTL = driver.MinTTL - 1 }},
	} {
		from, to := h, s.acquisition(long)
		c.change(&from, &to)
		_, err := s.front().Adopt(s.ctx, from, to)
		s.refused(err, c.argument)
	}
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the holder: %v", err)
	}
}
