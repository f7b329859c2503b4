package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// forcedOf forces an unlock of the leases whose fences are in [from, to]. The record is zero if no
// owner holds the key with such a fence.
func (s *fixture) forcedOf(id string, from, to int64) driver.ForceRecord {
	s.Helper()
	f := forcing(id)
	f.From, f.To = from, to
	made, err := s.driver.(driver.Forcer).Force(s.ctx, f)
	switch {
	case errors.Is(err, driver.ErrFree):
		return driver.ForceRecord{}
	case err != nil:
		s.Fatalf("force: %v", err)
	}
	return made
}

func forceFences(s *fixture) {
	for _, limit := range s.limits() {
		for i, c := range []struct {
			below, above int64 // the distances of the range's ends from the lease's fence
			taken        int
		}{{0, 0, 1}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}, {1, -1, 0}, {-1, 1, 0}, {-1, 2, 0}} {
			a := s.acquisition(long)
			a.Limit = limit
			g, h := s.acquire(a)
			h.Limit = limit
			from, to := g.Fence-c.below, g.Fence+c.above
			made := s.forcedOf(fmt.Sprint(limit, i), from, to)
			equal(s, fmt.Sprintf("holders with the fences %d to %d beside %d", from, to, g.Fence), made.Holders, c.taken)
			if c.taken == 0 {
				s.renewed(h)
				s.release(h)
			} else {
				s.notRenewed(h)
			}
		}
		a := s.acquisition(long)
		a.Limit = limit
		g, _ := s.acquire(a)
		equal(s, "holders up to the fence", s.forcedOf(fmt.Sprint("up to", limit), 0, g.Fence).Holders, 1)
	}
}

// A request that arrives when another owner has the key does not affect that owner.
func forceLate(s *fixture) {
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		g, h := s.acquire(a)
		h.Limit = limit
		s.release(h)
		a.Owner = s.owner()
		_, next := s.acquire(a)
		next.Limit = limit
		s.same("the record", s.forcedOf(fmt.Sprint("id", limit), 0, g.Fence), driver.ForceRecord{})
		if _, err := s.driver.Renew(s.ctx, next); err != nil {
			s.Fatalf("the next owner: %v", err)
		}
		equal(s, "records", len(s.forcings("key")), 0)
		s.release(next)
	}
}

func forceSome(s *fixture) {
	if _, shares := s.driver.(driver.Sharer); !shares {
		return
	}
	var hs []driver.LeaseRef
	for range 5 {
		hs = append(hs, s.taken(5))
	}
	made := s.forcedOf("one", hs[2].Fence, hs[2].Fence)
	s.same("the record", made, driver.ForceRecord{ID: "one", By: forcing("").By, Reason: longReason, At: made.At, Holders: 1,
		Owners: []driver.ForcedOwner{{Owner: hs[2].Owner, Fence: hs[2].Fence}}})
	equal(s, "holders that are taken", s.forcedOf("the first", 0, hs[1].Fence).Holders, 2)
	for i, h := range hs {
		if i < 3 {
			s.notRenewed(h)
		} else {
			s.renewed(h)
		}
	}
	equal(s, "holders", len(s.holders()), 2)
	s.taken(5)
	equal(s, "holders that are taken", s.forcedOf("all", 0, 0).Holders, 3)
}

// The release of a lease that was taken reports this before its renewal has, and again when
// repeated.
func forceReleased(s *fixture) {
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		_, h := s.acquire(a)
		h.Limit = limit
		s.forced(fmt.Sprint("free ", limit))
		says := func(when string) {
			s.Helper()
			for range 2 {
				if err := s.driver.Release(s.ctx, h); !errors.Is(err, driver.ErrForced) {
					s.Fatalf("%s the release says %v, want lock.ErrForced", when, err)
				}
			}
		}
		says("with the key free")
		a.Owner = s.owner()
		_, next := s.acquire(a)
		next.Limit = limit
		says("with the next owner")
		s.release(next)
		says("after the next owner")
		other := h
		other.Fence = 0
		s.release(other) // it only requires that the owner does not hold the key
		s.env.Wait(5 * time.Millisecond)
	}
}
