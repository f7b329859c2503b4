package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var plainTests = []test{
	{"a free key is granted for its time to live", plainFree},
	{"another owner is refused with how long the key is held", plainHeld},
	{"the same owner asking again gets the same fence and no longer lease", plainAgain},
	{"a released key is free at once", plainReleased},
	{"a key is free when its deadline has passed", plainExpired},
	{"a renewal moves the deadline", plainRenewed},
	{"a renewal after the deadline is lost and does not revive the lease", plainRenewedLate},
	{"a renewal under another owner or fence is lost and changes nothing", plainRenewedByOther},
	{"a release by another owner is lost and changes nothing", plainReleasedByOther},
	{"a release asked again is no error, or the key is forgotten", plainReleasedTwice},
	{"the release of a key that the store forgot reports that", plainReleasedForgotten},
	{"the release of an expired key frees nothing, and reports that unless no other owner had it", plainReleasedExpired},
	{"a release that knows no fence frees what its owner was granted", plainReleasedUnknown},
	{"an old renewal or release touches nothing of the next owner's lease", plainABA},
	{"a context that has ended is doubt, and nothing is done", plainDoubt},
	{"keys differ by every byte", plainKeys},
	{"bad arguments are refused by name", plainArguments},
	{"a grant that too few replicas have is undone, or refused where none can be waited for", plainReplicas},
	{"what is granted to a Locker whose caller has left is given back", plainLeft},
}

func (s *fixture) acquisition(ttl time.Duration) driver.Acquisition {
	return driver.Acquisition{Key: "key", Owner: s.owner(), TTL: ttl}
}

// acquire takes a key and returns the grant and the reference to its lease.
func (s *fixture) acquire(a driver.Acquisition) (driver.Grant, driver.LeaseRef) {
	s.Helper()
	g, err := s.driver.Acquire(s.ctx, a)
	if err != nil {
		s.Fatalf("acquire %q: %v", a.Key, err)
	}
	return g, driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}
}

// held fails the test unless the key is refused to a, and returns the refusal.
func (s *fixture) held(a driver.Acquisition) *driver.HeldError {
	s.Helper()
	g, err := s.driver.Acquire(s.ctx, a)
	held, ok := errors.AsType[*driver.HeldError](err)
	if !ok {
		s.Fatalf("acquire %q: %+v, %v, want a *lock.HeldError", a.Key, g, err)
	}
	return held
}

func (s *fixture) lost(err error) {
	s.Helper()
	if !errors.Is(err, driver.ErrLost) {
		s.Fatalf("the error is %v, want lock.ErrLost", err)
	}
}

func (s *fixture) release(h driver.LeaseRef) {
	s.Helper()
	if err := s.driver.Release(s.ctx, h); err != nil {
		s.Fatalf("release: %v", err)
	}
}

// within fails the test unless got is want. If the clock runs by itself, got may be lower by the
// time that an answer may take on a loaded machine.
func (s *fixture) within(what string, got, want time.Duration) {
	s.Helper()
	least := want
	if !s.env.exact() {
		least = max(want-patience, 1)
	}
	if got < least || got > want {
		s.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func plainFree(s *fixture) {
	g, _ := s.acquire(s.acquisition(long))
	s.within("left", g.Left, long)
	if g.Fence <= 0 {
		s.Fatalf("the fence is %d", g.Fence)
	}
}

func plainHeld(s *fixture) {
	s.acquire(s.acquisition(long))
	held := s.held(s.acquisition(long))
	equal(s, "the key of the refusal", held.Key, "key")
	s.within("left", held.Left, long)
}

func plainAgain(s *fixture) {
	a := s.acquisition(long)
	first, _ := s.acquire(a)
	s.env.Wait(100 * time.Millisecond)
	second, _ := s.acquire(a)
	equal(s, "the fence asked for again", second.Fence, first.Fence)
	if second.Left > long-100*time.Millisecond {
		s.Fatalf("asking again after 100ms left %v of %v", second.Left, long)
	}
}

func plainReleased(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	s.release(h)
	s.acquire(s.acquisition(long))
}

func plainExpired(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	_ = s.held(s.acquisition(short))
	s.expires(h)
	s.acquire(s.acquisition(short))
}

// expires lets a lease end soon, and waits for that. The steps before may have taken any time.
func (s *fixture) expires(h driver.LeaseRef) {
	s.Helper()
	h.TTL = short
	s.renewed(h)
	s.env.Wait(short + slack)
}

func plainRenewed(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	h.TTL = longer
	g := s.renewed(h)
	equal(s, "the fence of a renewal", g.Fence, h.Fence)
	s.within("left", g.Left, longer)
	if left := s.held(s.acquisition(short)).Left; left <= long {
		s.Fatalf("%v are left of a lease that was renewed for %v", left, longer)
	}
}

func plainRenewedLate(s *fixture) {
	_, h := s.acquire(s.acquisition(short))
	s.env.Wait(short + slack)
	_, err := s.driver.Renew(s.ctx, h)
	s.lost(err)
	s.acquire(s.acquisition(short))
}

func plainRenewedByOther(s *fixture) {
	_, h := s.acquire(s.acquisition(short))
	for _, other := range []driver.LeaseRef{
		{Key: h.Key, Owner: "other/1", Fence: h.Fence, TTL: long},
		{Key: h.Key, Owner: h.Owner, Fence: h.Fence + 1, TTL: long},
		{Key: h.Key, Owner: h.Owner, Fence: h.Fence - 1, TTL: long},
		{Key: "free", Owner: h.Owner, Fence: h.Fence, TTL: long},
	} {
		_, err := s.driver.Renew(s.ctx, other)
		s.lost(err)
	}
	s.env.Wait(short + slack)
	s.acquire(s.acquisition(short))
}

func plainReleasedByOther(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	s.lost(s.driver.Release(s.ctx, driver.LeaseRef{Key: h.Key, Owner: "other/1", Fence: h.Fence}))
	s.lost(s.driver.Release(s.ctx, driver.LeaseRef{Key: h.Key, Owner: h.Owner, Fence: h.Fence + 1}))
	_ = s.held(s.acquisition(long))
}

func plainReleasedTwice(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	s.release(h)
	s.releasedAgain(h)
}

// releasedAgain releases a free key whose lease was this owner's: not every store still knows that.
// A release without a fence succeeds in any case, since the owner has no lease.
func (s *fixture) releasedAgain(h driver.LeaseRef) {
	s.Helper()
	if err := s.driver.Release(s.ctx, h); err != nil && !errors.Is(err, driver.ErrForgotten) {
		s.Fatalf("the release asked again: %v", err)
	}
	h.Fence = 0
	s.release(h)
}

// forgotten fails the test unless the release returns that the store does not know the lease any
// more. A release without a fence returns no error.
func (s *fixture) forgotten(h driver.LeaseRef) {
	s.Helper()
	if err := s.driver.Release(s.ctx, h); !errors.Is(err, driver.ErrForgotten) {
		s.Fatalf("the release says %v, want lock.ErrForgotten", err)
	}
	h.Fence = 0
	s.release(h)
}

// limits returns the limits with which a key of the store can be requested.
func (s *fixture) limits() []int {
	if _, shares := s.driver.(driver.Sharer); shares {
		return []int{1, 2}
	}
	return []int{1}
}

func plainReleasedForgotten(s *fixture) {
	if s.env.Forget == nil {
		return
	}
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		_, h := s.acquire(a)
		h.Limit = limit
		s.env.Forget()
		s.forgotten(h)
	}
}

func plainReleasedExpired(s *fixture) {
	for _, limit := range s.limits() {
		a := s.acquisition(short)
		a.Limit = limit
		_, h := s.acquire(a)
		h.Limit = limit
		s.env.Wait(short + slack)
		s.forgotten(driver.LeaseRef{Key: h.Key, Owner: "other/1", Fence: 1, Limit: limit})
		s.releasedAgain(h)
	}
}

func plainReleasedUnknown(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	s.lost(s.driver.Release(s.ctx, driver.LeaseRef{Key: h.Key, Owner: "other/1"}))
	s.release(driver.LeaseRef{Key: h.Key, Owner: h.Owner})
	s.acquire(s.acquisition(long))
}

func plainABA(s *fixture) {
	_, old := s.acquire(s.acquisition(short))
	s.env.Wait(short + slack)
	_, h := s.acquire(s.acquisition(long))
	old.TTL = long
	_, err := s.driver.Renew(s.ctx, old)
	s.lost(err)
	s.lost(s.driver.Release(s.ctx, old))
	_ = s.held(s.acquisition(short))
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the next owner's renewal: %v", err)
	}
}

func plainDoubt(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	free := s.acquisition(long)
	free.Key = "free"
	_, acquired := s.driver.Acquire(ctx, free)
	_, renewed := s.driver.Renew(ctx, h)
	released := s.driver.Release(ctx, h)
	for what, err := range map[string]error{"acquire": acquired, "renew": renewed, "release": released} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s: the error is %v, want one that wraps context.Canceled", what, err)
		}
	}
	_ = s.held(s.acquisition(long))
	free.Owner = s.owner()
	s.acquire(free)
}
