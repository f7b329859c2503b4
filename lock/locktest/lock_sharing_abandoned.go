package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var sharingAbandonTests = []test{
	{"a reader that died keeps no other reader out", sharingDeadReader},
	{"a place that is kept counts, until it is passed over", sharingKept},
	{"barging takes a place that is kept, and whom it was kept for comes next again", sharingBarged},
	{"barging takes several places that are kept, and whom they were kept for come next in their order", sharingBargedSeveral},
	{"barging beside a place that is kept leaves it where there is room for both", sharingBargedBeside},
	{"barging passes those who wait where there is room", sharingBargedBy},
}

// sharingSilentTests need waiters that probe while the clock goes on.
var sharingSilentTests = []test{
	{"a writer that died while readers hold the key is passed over", sharingDeadWriter},
}

// unheard is how long a waiter that died may block owners that would fit beside the holders.
const unheard = 6 * time.Second

// abandonedWithLimit takes a place for an owner that never answers.
func (s *fixture) abandonedWithLimit(limit int) driver.Acquisition {
	s.Helper()
	return s.abandonedBy(s.sharing(limit))
}

// abandonedBy takes a place for an owner that never answers, and has a name of its own.
func (s *fixture) abandonedBy(a driver.Acquisition) driver.Acquisition {
	s.Helper()
	before := s.inspect("key").Waiting
	if err := s.env.Abandon(a); err == nil || s.inspect("key").Waiting != before+1 {
		s.Fatalf("no place was taken: %v, %+v", err, s.inspect("key"))
	}
	return a
}

func sharingDeadReader(s *fixture) {
	h := s.taken(1)
	s.abandonedWithLimit(driver.NoLimit)
	w := s.queuedFor(driver.NoLimit)
	s.release(h)
	s.served(w)
	s.taken(driver.NoLimit)
}

func sharingDeadWriter(s *fixture) {
	h := s.taken(driver.NoLimit)
	s.abandonedWithLimit(1)
	w := s.queuedFor(driver.NoLimit)
	s.waiting(w)
	s.env.Wait(unheard)
	s.served(w)
	s.renewed(h)
	equal(s, "places", s.inspect("key").Waiting, 0)
}

func sharingKept(s *fixture) {
	first := s.taken(2)
	s.taken(2)
	dead := s.abandonedWithLimit(2)
	s.release(first)
	s.within("left", s.held(s.sharing(2)).Left, kept)
	all := s.holders()
	equal(s, "holders", len(all), 2)
	equal(s, "the last is whom a place is kept for", all[1].Owner, dead.Owner)
	equal(s, "its fence", all[1].Fence, 0)
	s.notRenewed(driver.LeaseRef{Key: "key", Owner: dead.Owner, Fence: first.Fence, TTL: long, Limit: 2})
	s.env.Wait(kept + slack)
	s.taken(2)
	_ = s.held(s.sharing(2))
}

func sharingBarged(s *fixture) {
	first := s.taken(2)
	s.taken(2)
	one, two := s.abandonedWithLimit(2), s.abandonedWithLimit(2)
	s.release(first)
	barging := s.sharing(2)
	barging.Barge = true
	_, h := s.acquire(barging)
	equal(s, "places", s.inspect("key").Waiting, 2)
	_ = s.held(one)
	s.release(h)
	_ = s.held(two)
	if g, _ := s.acquire(one); g.Fence <= h.Fence {
		s.Fatalf("the fence %d follows %d", g.Fence, h.Fence)
	}
}

func sharingBargedBeside(s *fixture) {
	first, second := s.taken(3), s.taken(3)
	s.taken(3)
	dead := s.abandonedWithLimit(3)
	s.release(first)
	s.release(second)
	barging := s.sharing(3)
	barging.Barge = true
	s.acquire(barging)
	equal(s, "places", s.inspect("key").Waiting, 0)
	s.acquire(dead)
}

func sharingBargedBy(s *fixture) {
	h := s.taken(driver.NoLimit)
	s.abandonedWithLimit(1)
	_ = s.held(s.sharing(driver.NoLimit))
	barging := s.sharing(driver.NoLimit)
	barging.Barge = true
	s.acquire(barging)
	alone := s.sharing(1)
	alone.Barge = true
	_ = s.held(alone)
	s.renewed(h)
	equal(s, "places", s.inspect("key").Waiting, 1)
}

func sharingBargedSeveral(s *fixture) {
	h := s.taken(1)
	var dead [3]driver.Acquisition
	for i := range dead { // whose names are not in the order of their places
		dead[i] = s.sharing(driver.NoLimit)
		dead[i].Owner = fmt.Sprintf("node-%d/1", []int{6, 4, 5}[i])
		s.abandonedBy(dead[i])
	}
	inOrder := func(when string) {
		all := s.holders()
		if len(all) != 3 || all[0].Owner != dead[0].Owner || all[1].Owner != dead[1].Owner || all[2].Owner != dead[2].Owner {
			s.Fatalf("%s the key is kept for %+v, want %q, %q and %q", when, all, dead[0].Owner, dead[1].Owner, dead[2].Owner)
		}
	}
	s.release(h)
	inOrder("at first")
	barging := s.sharing(1)
	barging.Barge = true
	_, writer := s.acquire(barging)
	equal(s, "places", s.inspect("key").Waiting, 3)
	s.release(writer)
	inOrder("afterwards")
}
