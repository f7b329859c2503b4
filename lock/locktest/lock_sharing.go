package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var sharingTests = []test{
	{"so many hold a key as the limit says, each with a fence of its own", sharingLimit},
	{"readers hold a key together, and keep a writer out until the last has released", sharingReaders},
	{"a writer keeps readers out", sharingWriter},
	{"the smallest limit counts, whoever has it", sharingSmallest},
	{"an owner that asks again gets the same fence and takes no second place", sharingAgain},
	{"a key that was shared can be had alone, and the reverse, with growing fences", sharingTurns},
	{"a fence is above what the asker has seen, and above those of all holders", sharingFloor},
	{"the expiry of one holder frees one place", sharingExpired},
	{"a dead reader keeps a writer out until its deadline and not longer", sharingDead},
	{"the holder with the latest deadline may go first", sharingLatest},
	{"each holder renews for itself", sharingRenewed},
	{"a renewal or release by who does not hold the key is lost and changes nothing", sharingByOther},
	{"a release asked again is no error once the key is free, or the key is forgotten", sharingReleasedTwice},
	{"a release that knows no fence frees what its owner was granted", sharingReleasedUnknown},
	{"a holding that names another limit than was granted is served the same", sharingWrongLimit},
	{"the holders are listed, the earliest first", sharingHolders},
	{"the note of a lease is listed with its holder, and is nothing else", sharingNote},
	{"of many owners asking at once so many are granted as the limit says", sharingRace},
	{"a context that has ended is doubt, and nothing is done", sharingDoubt},
	{"a bad limit is refused by name", sharingArguments},
	{"random requests are answered by the rule", sharingRule},
}

// sharing returns an acquisition with a limit.
func (s *fixture) sharing(limit int, ttl ...time.Duration) driver.Acquisition {
	a := s.acquisition(long)
	a.Limit = limit
	if len(ttl) > 0 {
		a.TTL = ttl[0]
	}
	return a
}

// taken acquires the key with a limit.
func (s *fixture) taken(limit int, ttl ...time.Duration) driver.LeaseRef {
	s.Helper()
	a := s.sharing(limit, ttl...)
	_, h := s.acquire(a)
	h.Limit = limit
	return h
}

func (s *fixture) renewed(h driver.LeaseRef) driver.Grant {
	s.Helper()
	g, err := s.driver.Renew(s.ctx, h)
	if err != nil {
		s.Fatalf("renew: %v", err)
	}
	equal(s, "the fence of a renewal", g.Fence, h.Fence)
	return g
}

// notRenewed fails the test unless the lease is lost.
func (s *fixture) notRenewed(h driver.LeaseRef) {
	s.Helper()
	_, err := s.driver.Renew(s.ctx, h)
	s.lost(err)
}

// holders returns the owners that hold the key, or for which it is kept.
func (s *fixture) holders() []driver.Holder {
	s.Helper()
	all, err := s.driver.(driver.Sharer).Holders(s.ctx, "key")
	if err != nil {
		s.Fatalf("holders: %v", err)
	}
	return all
}

func sharingLimit(s *fixture) {
	var hs []driver.LeaseRef
	for range 3 {
		h := s.taken(3)
		if len(hs) > 0 && h.Fence <= hs[len(hs)-1].Fence {
			s.Fatalf("the fence %d follows %d", h.Fence, hs[len(hs)-1].Fence)
		}
		hs = append(hs, h)
	}
	s.within("left", s.held(s.sharing(3)).Left, long)
	for range 3 {
		s.release(hs[1])
		hs[1] = s.taken(3)
		_ = s.held(s.sharing(3))
	}
	for _, h := range hs {
		s.release(h)
	}
	equal(s, "holders", len(s.holders()), 0)
}

func sharingReaders(s *fixture) {
	var hs []driver.LeaseRef
	for range 50 {
		hs = append(hs, s.taken(driver.NoLimit))
	}
	equal(s, "holders", len(s.holders()), 50)
	for _, h := range hs {
		_ = s.held(s.sharing(0))
		s.release(h)
	}
	s.taken(0)
}

func sharingWriter(s *fixture) {
	h := s.taken(1)
	for _, limit := range []int{0, 1, 2, driver.NoLimit} {
		_ = s.held(s.sharing(limit))
	}
	s.release(h)
	s.taken(driver.NoLimit)
}

func sharingSmallest(s *fixture) {
	s.taken(5)
	narrow := s.taken(2)
	for _, limit := range []int{1, 2, 5, driver.NoLimit} {
		_ = s.held(s.sharing(limit))
	}
	s.release(narrow)
	s.taken(5)
	_ = s.held(s.sharing(2))
	s.taken(driver.NoLimit)
	s.taken(5)
	_ = s.held(s.sharing(4))
	s.taken(driver.NoLimit)
	_ = s.held(s.sharing(driver.NoLimit))
}

func sharingAgain(s *fixture) {
	a := s.sharing(2)
	first, _ := s.acquire(a)
	second, _ := s.acquire(a)
	equal(s, "the fence asked for again", second.Fence, first.Fence)
	s.taken(2)
	third, _ := s.acquire(a)
	equal(s, "the fence asked for once more", third.Fence, first.Fence)
	_ = s.held(s.sharing(2))
}

func sharingTurns(s *fixture) {
	last := int64(0)
	for i := range 24 {
		limit := []int{0, 2, 2, driver.NoLimit, 1}[i%5]
		ttl := long
		if i%8 == 7 {
			ttl = short
		}
		hs := []driver.LeaseRef{s.taken(limit, ttl)}
		if limit > 1 {
			hs = append(hs, s.taken(limit, ttl))
		}
		for _, h := range hs {
			if h.Fence <= last {
				s.Fatalf("grant %d has the fence %d, after %d", i, h.Fence, last)
			}
			last = h.Fence
		}
		if ttl == short {
			s.env.Wait(short + slack)
			continue
		}
		for _, h := range hs {
			s.release(h)
		}
		s.env.Wait(slack)
	}
}

func sharingFloor(s *fixture) {
	a := s.sharing(driver.NoLimit)
	a.Fence = s.time() + hour
	first, _ := s.acquire(a)
	equal(s, "the fence", first.Fence, a.Fence+1)
	equal(s, "the fence after it", s.taken(driver.NoLimit).Fence, first.Fence+1)
}

func sharingExpired(s *fixture) {
	s.taken(2)
	dead := s.taken(2)
	_ = s.held(s.sharing(2))
	s.expires(dead)
	s.notRenewed(dead)
	s.taken(2)
	_ = s.held(s.sharing(2))
	equal(s, "holders", len(s.holders()), 2)
}

func sharingDead(s *fixture) {
	dead := s.taken(driver.NoLimit, long/2)
	h := s.taken(driver.NoLimit)
	s.release(h)
	s.within("left", s.held(s.sharing(1)).Left, long/2)
	s.expires(dead)
	s.taken(1)
}

func sharingLatest(s *fixture) {
	first, second := s.taken(driver.NoLimit), s.taken(driver.NoLimit, short)
	s.release(first)
	s.env.Wait(short + slack)
	s.notRenewed(second)
	s.taken(1)
}

func sharingRenewed(s *fixture) {
	kept, dead := s.taken(2), s.taken(2, short)
	kept.TTL = longer
	s.within("left", s.renewed(kept).Left, longer)
	s.env.Wait(short + slack)
	s.notRenewed(dead)
	s.renewed(kept)
	s.taken(2)
	_ = s.held(s.sharing(2))
}

func sharingByOther(s *fixture) {
	first, second := s.taken(driver.NoLimit), s.taken(driver.NoLimit)
	for _, h := range []driver.LeaseRef{
		{Key: "key", Owner: "other/1", Fence: first.Fence, TTL: long, Limit: driver.NoLimit},
		{Key: "key", Owner: first.Owner, Fence: second.Fence, TTL: long, Limit: driver.NoLimit},
		{Key: "key", Owner: first.Owner, Fence: first.Fence - 1, TTL: long, Limit: driver.NoLimit},
	} {
		s.notRenewed(h)
		s.lost(s.driver.Release(s.ctx, h))
	}
	s.lost(s.driver.Release(s.ctx, driver.LeaseRef{Key: "key", Owner: "other/1"}))
	equal(s, "holders", len(s.holders()), 2)
	s.renewed(first)
	s.renewed(second)
}

func sharingReleasedTwice(s *fixture) {
	first, second := s.taken(2), s.taken(2)
	s.release(first)
	s.lost(s.driver.Release(s.ctx, first)) // another owner has the key
	s.notRenewed(first)
	s.release(second)
	s.releasedAgain(second)
	s.releasedAgain(first)
}

func sharingReleasedUnknown(s *fixture) {
	first := s.taken(2)
	second := s.taken(2)
	s.release(driver.LeaseRef{Key: "key", Owner: first.Owner})
	s.renewed(second)
	s.taken(2)
	_ = s.held(s.sharing(2))
}

func sharingWrongLimit(s *fixture) {
	for _, limit := range []int{1, 2} {
		for _, said := range []int{0, 1, 2, 3, driver.NoLimit} {
			h := s.taken(limit)
			h.Limit = said
			s.renewed(h)
			s.release(h)
			equal(s, "holders", len(s.holders()), 0)
		}
	}
}

func sharingHolders(s *fixture) {
	equal(s, "holders of a free key", len(s.holders()), 0)
	alone := s.taken(0)
	s.lists(alone)
	s.release(alone)
	hs := []driver.LeaseRef{s.taken(3), s.taken(driver.NoLimit), s.taken(3)}
	hs[0].TTL = long / 2
	s.renewed(hs[0]) // the earliest holder is the one with the earliest grant, not with the next deadline
	s.lists(hs...)
	if i, ok := s.driver.(driver.Inspector); ok {
		at, err := i.Inspect(s.ctx, "key")
		if err != nil || at.Owner != hs[0].Owner || at.Fence != hs[0].Fence {
			s.Fatalf("the key stands at %+v, %v, want its earliest holder %+v", at, err, hs[0])
		}
		s.within("left", at.Left, hs[0].TTL)
	}
	s.release(hs[1])
	s.lists(hs[0], hs[2])
}

// lists fails the test unless these leases are the holders.
func (s *fixture) lists(hs ...driver.LeaseRef) {
	s.Helper()
	all := s.holders()
	equal(s, "holders", len(all), len(hs))
	for i, h := range hs {
		s.within("left", all[i].Left, h.TTL)
		all[i].Left = 0
		equal(s, fmt.Sprint("holder ", i), all[i], driver.Holder{Owner: h.Owner, Fence: h.Fence, Limit: max(h.Limit, 1)})
	}
}

// Twenty owners send requests at the same time: three are granted, each with a different fence.
func sharingRace(s *fixture) {
	for range 10 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		granted := make(map[int64]driver.LeaseRef)
		for range 20 {
			a := s.sharing(3)
			wg.Go(func() {
				g, err := s.driver.Acquire(s.ctx, a)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					granted[g.Fence] = driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, Limit: 3}
				} else if _, held := errors.AsType[*driver.HeldError](err); !held {
					s.Errorf("acquire: %v", err)
				}
			})
		}
		wg.Wait()
		equal(s, "owners that were granted, by fence", len(granted), 3)
		for _, h := range granted {
			s.release(h)
		}
	}
}

func sharingDoubt(s *fixture) {
	h := s.taken(2)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, acquired := s.driver.Acquire(ctx, s.sharing(2))
	_, renewed := s.driver.Renew(ctx, h)
	_, listed := s.driver.(driver.Sharer).Holders(ctx, "key")
	for _, err := range []error{acquired, renewed, s.driver.Release(ctx, h), listed} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("the error is %v, want context.Canceled", err)
		}
	}
	equal(s, "holders", len(s.holders()), 1)
}

func sharingArguments(s *fixture) {
	for _, limit := range []int{-1, -driver.NoLimit} {
		_, err := s.front().Acquire(s.ctx, s.sharing(limit))
		s.refused(err, "limit")
	}
	_, err := s.front().Holders(s.ctx, "")
	s.refused(err, "key")
}
