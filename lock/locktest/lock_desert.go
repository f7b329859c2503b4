package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var desertTests = []test{
	{"a waiter that died is passed over", desertPassed},
	{"a key that others wait for is refused to who does not wait", desertNotOvertaken},
	{"also once its holder died", desertExpired},
	{"barging takes a key that is kept, and its place comes next again", desertBarged},
	{"barging takes no key that is held", desertHeld},
	{"a key that is kept for an owner cannot be renewed by it", desertNotRenewed},
	{"a key that is kept for an owner is not freed by its release with an earlier fence", desertNotReleased},
	{"a key that is kept for an owner is freed by its release with any fence", desertReleased},
}

// kept is the longest time for which a store keeps a key for an owner that does not answer.
const kept = 2 * time.Second

// desert takes a place for an owner that never answers, behind a holder.
func (s *stand) desert() (holder driver.LeaseRef, dead driver.Acquisition) {
	s.Helper()
	_, holder = s.acquire(s.acquisition(long))
	return holder, s.deserted()
}

func (s *stand) deserted() driver.Acquisition {
	s.Helper()
	a := s.acquisition(long)
	if err := s.env.Desert(a); err == nil || s.inspect(a.Key).Waiting != 1 {
		s.Fatalf("no place was taken: %v, %+v", err, s.inspect(a.Key))
	}
	return a
}

func desertPassed(s *stand) {
	h, _ := s.desert()
	w := s.queued(s.acquisition(long))
	s.release(h)
	s.waiting(w)
	s.env.Wait(kept + slack)
	if next := s.served(w); next.Fence <= h.Fence {
		s.Fatalf("the fence is %d, the one before was %d", next.Fence, h.Fence)
	}
	equal(s, "places", s.inspect("key").Waiting, 0)
}

func desertNotOvertaken(s *stand) {
	h, dead := s.desert()
	s.release(h)
	_ = s.held(s.acquisition(long))
	equal(s, "who has the key", s.inspect("key").Owner, dead.Owner)
	s.env.Wait(kept + slack)
	s.acquire(s.acquisition(long))
}

func desertExpired(s *stand) {
	s.acquire(s.acquisition(brief))
	dead := s.deserted()
	s.env.Wait(brief + slack)
	s.within("left", s.held(s.acquisition(long)).Left, kept)
	g, _ := s.acquire(dead) // the owner comes back in time
	s.within("left", g.Left, long)
}

func desertBarged(s *stand) {
	h, dead := s.desert()
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

func desertHeld(s *stand) {
	s.desert()
	barging := s.acquisition(long)
	barging.Barge = true
	_ = s.held(barging)
}

func desertNotRenewed(s *stand) {
	h, dead := s.desert()
	s.release(h)
	_, err := s.driver.Renew(s.ctx, driver.LeaseRef{Key: dead.Key, Owner: dead.Owner, Fence: h.Fence, TTL: long})
	s.lost(err)
}

func desertNotReleased(s *stand) {
	h, dead := s.desert()
	s.release(h)
	earlier := driver.LeaseRef{Key: dead.Key, Owner: dead.Owner, Fence: h.Fence, TTL: long}
	s.lost(s.driver.Release(s.ctx, earlier))
	if m, ok := s.driver.(driver.MultiAcquirer); ok {
		s.lost(m.ReleaseAll(s.ctx, []driver.LeaseRef{earlier})[0])
	}
	equal(s, "who has the key", s.inspect("key").Owner, dead.Owner)
}

func desertReleased(s *stand) {
	h, dead := s.desert()
	s.release(h)
	s.release(driver.LeaseRef{Key: dead.Key, Owner: dead.Owner, TTL: long})
	equal(s, "the key", s.inspect("key"), driver.KeyState{})
}
