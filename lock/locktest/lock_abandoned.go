package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var abandonTests = []test{
	{"a waiter that died is passed over", abandonedPassed},
	{"a key that others wait for is refused to who does not wait", abandonedNotOvertaken},
	{"also once its holder died", abandonedExpired},
	{"barging takes a key that is kept, and its place comes next again", abandonedBarged},
	{"barging takes no key that is held", abandonedHeld},
	{"a key that is kept for an owner cannot be renewed by it", abandonedNotRenewed},
	{"a key that is kept for an owner is not freed by its release with an earlier fence", abandonedNotReleased},
	{"a key that is kept for an owner is freed by its release with any fence", abandonedReleased},
}

// kept is the longest time for which a store keeps a key for an owner that does not answer.
const kept = 2 * time.Second

// abandon takes a place for an owner that never answers, behind a holder.
func (s *fixture) abandon() (holder driver.LeaseRef, dead driver.Acquisition) {
	s.Helper()
	_, holder = s.acquire(s.acquisition(long))
	return holder, s.abandoned()
}

func (s *fixture) abandoned() driver.Acquisition {
	s.Helper()
	a := s.acquisition(long)
	if err := s.env.Abandon(a); err == nil || s.inspect(a.Key).Waiting != 1 {
		s.Fatalf("no place was taken: %v, %+v", err, s.inspect(a.Key))
	}
	return a
}

func abandonedPassed(s *fixture) {
	h, _ := s.abandon()
	w := s.queued(s.acquisition(long))
	s.release(h)
	s.waiting(w)
	s.env.Wait(kept + slack)
	if next := s.served(w); next.Fence <= h.Fence {
		s.Fatalf("the fence is %d, the one before was %d", next.Fence, h.Fence)
	}
	equal(s, "places", s.inspect("key").Waiting, 0)
}

func abandonedNotOvertaken(s *fixture) {
	h, dead := s.abandon()
	s.release(h)
	_ = s.held(s.acquisition(long))
	equal(s, "who has the key", s.inspect("key").Owner, dead.Owner)
	s.env.Wait(kept + slack)
	s.acquire(s.acquisition(long))
}

func abandonedExpired(s *fixture) {
	s.acquire(s.acquisition(brief))
	dead := s.abandoned()
	s.env.Wait(brief + slack)
	s.within("left", s.held(s.acquisition(long)).Left, kept)
	g, _ := s.acquire(dead) // the owner comes back in time
	s.within("left", g.Left, long)
}

func abandonedBarged(s *fixture) {
	h, dead := s.abandon()
	s.release(h)
	barging := s.acquisition(long)
	barging.Barge = true
	g, h := s.acquire(barging)
	if again, _ := s.acquire(barging); again.Fence != g.Fence {
		s.Fatalf("asked again, the fence is %d, was %d", again.Fence, g.Fence)
	}
	equal(s, "places", s.inspect("key").Waiting, 1)
	_ = s.held(dead)
	s.release(h)
	next, _ := s.acquire(dead)
	if next.Fence <= g.Fence {
		s.Fatalf("the fence is %d, the one before was %d", next.Fence, g.Fence)
	}
}

func abandonedHeld(s *fixture) {
	s.abandon()
	barging := s.acquisition(long)
	barging.Barge = true
	_ = s.held(barging)
}

func abandonedNotRenewed(s *fixture) {
	h, dead := s.abandon()
	s.release(h)
	_, err := s.driver.Renew(s.ctx, driver.LeaseRef{Key: dead.Key, Owner: dead.Owner, Fence: h.Fence, TTL: long})
	s.lost(err)
}

func abandonedNotReleased(s *fixture) {
	h, dead := s.abandon()
	s.release(h)
	earlier := driver.LeaseRef{Key: dead.Key, Owner: dead.Owner, Fence: h.Fence, TTL: long}
	s.lost(s.driver.Release(s.ctx, earlier))
	if m, ok := s.driver.(driver.MultiAcquirer); ok {
		s.lost(m.ReleaseAll(s.ctx, []driver.LeaseRef{earlier})[0])
	}
	equal(s, "who has the key", s.inspect("key").Owner, dead.Owner)
}

func abandonedReleased(s *fixture) {
	h, dead := s.abandon()
	s.release(h)
	s.release(driver.LeaseRef{Key: dead.Key, Owner: dead.Owner, TTL: long})
	equal(s, "the key", s.inspect("key"), driver.KeyState{})
}
