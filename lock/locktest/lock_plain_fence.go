package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var plainFenceTests = []test{
	{"fences grow over release, expiry and renewal", fencesGrow},
	{"a fence is above what the asker has seen, to the last digit", fencesAboveFloor},
	{"fences grow over a release although the store's clock stepped back", fencesOverSteps},
	{"a fence that lies more than a day ahead is doubt, for its key alone", fencesBeyond},
	{"a fence that lies a day ahead is the last that is believed", fencesFurthest},
	{"of many owners asking at once one is granted", plainRace},
}

func fencesGrow(s *fixture) {
	last := int64(0)
	for i := range 20 {
		dies := i%10 == 9
		a := s.acquisition(long)
		if dies {
			a.TTL = short
		}
		if i%5 == 0 {
			a.Fence = last + 3001 // µs: beyond the store's clock
		}
		g, h := s.acquire(a)
		if g.Fence <= max(last, a.Fence) {
			s.Fatalf("grant %d has the fence %d, after %d; the asker had seen %d", i, g.Fence, last, a.Fence)
		}
		last = g.Fence
		if dies {
			s.env.Wait(short + slack)
		} else {
			s.release(h)
		}
		s.env.Wait(slack) // past the fence that this owner has seen
	}
}

// time returns the store's time in µs, as its fences count it: the fence of a key that was never
// used.
func (s *fixture) time() int64 {
	s.Helper()
	s.owners++
	g, _ := s.acquire(driver.Acquisition{Key: fmt.Sprint("never used ", s.owners), Owner: s.owner(), TTL: long})
	return g.Fence
}

func fencesAboveFloor(s *fixture) {
	for i, above := range []int64{1, hour + 999_999, day - hour} {
		a := s.acquisition(long)
		floor := s.time() + above + 60_000_001 // beyond the store's clock
		a.Key, a.Fence = fmt.Sprint("key ", i), floor
		g, h := s.acquire(a)
		equal(s, "the fence", g.Fence, floor+1)
		h.Fence--
		_, err := s.driver.Renew(s.ctx, h)
		s.lost(err)
		h.Fence++
		if _, err := s.driver.Renew(s.ctx, h); err != nil {
			s.Fatalf("renewal with the fence %d: %v", h.Fence, err)
		}
		s.release(h)
	}
}

// fencesOverSteps needs a clock that is put back, and owners that have seen no fence, like the
// owners of a process that has just started.
func fencesOverSteps(s *fixture) {
	clock, timed := s.driver.(driver.Clocked)
	if !s.env.exact() || !timed {
		return
	}
	for i, back := range []time.Duration{time.Microsecond, time.Millisecond, time.Second, 9 * time.Second} {
		for _, limit := range s.limits() {
			a := s.acquisition(long)
			a.Key, a.Limit = fmt.Sprint("key ", i, " of ", limit), limit
			g, h := s.acquire(a)
			h.Limit = limit
			s.release(h)
			now, err := clock.Now(s.ctx)
			if err != nil {
				s.Fatal(err)
			}
			s.env.SetClock(now[0].Time.Add(-back))
			for _, next := range s.limits() {
				a.Owner, a.Limit = s.owner(), next
				after, h := s.acquire(a)
				if after.Fence <= g.Fence {
					s.Fatalf("the fence with the limit %d, after %d, is %d after %d: the clock went back by %v", next, limit, after.Fence, g.Fence, back)
				}
				g, h.Limit = after, next
				s.release(h)
			}
			s.env.SetClock(now[0].Time)
		}
	}
}

// beyond fails the test unless the fence of the grant would lie too far ahead.
func (s *fixture) beyond(a driver.Acquisition) {
	s.Helper()
	if g, err := s.driver.Acquire(s.ctx, a); !errors.Is(err, driver.ErrFence) {
		s.Fatalf("with the floor %d the answer is %+v, %v, want lock.ErrFence", a.Fence, g, err)
	}
}

// An owner that has seen a fence more than a day ahead of the store's clock is granted nothing, and
// changes nothing: neither this key nor another one is affected.
func fencesBeyond(s *fixture) {
	now := s.time()
	for _, limit := range s.limits() {
		for _, floor := range []int64{now + day + hour, driver.MaxNumber} {
			a := s.acquisition(long)
			a.Limit, a.Fence = limit, floor
			s.beyond(a)
			a.Owner, a.Fence = s.owner(), 0
			g, h := s.acquire(a)
			if h.Limit = limit; g.Fence > now+hour {
				s.Fatalf("the fence of the next is %d, at %d", g.Fence, now)
			}
			s.release(h)
		}
	}
}

// fencesFurthest needs a clock that stands still. A fence a day ahead is accepted, to the µs; once
// it has been granted, no further fence is, until the clock has gone on.
func fencesFurthest(s *fixture) {
	if !s.env.exact() {
		return
	}
	a := s.acquisition(long)
	a.Fence = s.time() + day - 1
	g, h := s.acquire(a)
	equal(s, "the fence", g.Fence, a.Fence+1)
	s.release(h)
	a.Owner, a.Fence = s.owner(), g.Fence
	s.beyond(a)
	a.Fence = 0
	s.beyond(a)
	s.env.Wait(time.Millisecond)
	again, _ := s.acquire(a)
	equal(s, "the fence after it", again.Fence, g.Fence+1)
}

// Twenty owners request one key at the same time, twenty times over: each time exactly one is
// granted.
func plainRace(s *fixture) {
	for round := range 20 {
		if n := s.race(fmt.Sprint("key ", round)); n != 1 {
			s.Fatalf("round %d: %d owners were granted", round, n)
		}
	}
}

func (s *fixture) race(key string) (granted int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		a := driver.Acquisition{Key: key, Owner: s.owner(), TTL: long}
		wg.Go(func() {
			_, err := s.driver.Acquire(s.ctx, a)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				granted++
			} else if _, held := errors.AsType[*driver.HeldError](err); !held {
				s.Errorf("acquire: %v", err)
			}
		})
	}
	wg.Wait()
	return granted
}

func plainKeys(s *fixture) {
	keys := []string{"a", "A", "a ", " a", "a{b}", "a{b", "{a}b", "{}", "a:b", "a%3Ab", "a%", "a/b", "a|b", "a;b", "a\\b",
		`"a"`, "'a'", "*", "a?", "[a]", "é", "e\u0301", "键", "👩\u200d🔧", strings.Repeat("x", driver.MaxKey),
		strings.Repeat("y", driver.MaxKey-1), strings.Repeat("{", driver.MaxKey)}
	for _, key := range keys {
		a := s.acquisition(long)
		a.Key = key
		s.acquire(a)
	}
	for _, key := range keys {
		a := s.acquisition(long)
		a.Key = key
		equal(s, "the key of the refusal", s.held(a).Key, key)
	}
}

// refused fails the test unless err names the argument.
func (s *fixture) refused(err error, argument string) {
	s.Helper()
	bad, ok := errors.AsType[*driver.ArgumentError](err)
	if !ok {
		s.Errorf("the error is %v, want an *lock.ArgumentError for %s", err, argument)
	} else if bad.Argument != argument {
		s.Errorf("the error names %q, want %q", bad.Argument, argument)
	}
}

var badKeys = []string{"", strings.Repeat("x", driver.MaxKey+1), "a\nb", "a\x00b", "\xff", "\u202e"}

func plainArguments(s *fixture) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel() // a refused request is not sent
	for _, key := range badKeys {
		_, err := s.front().Acquire(ctx, driver.Acquisition{Key: key, Owner: "n/1", TTL: long})
		s.refused(err, "key")
		_, err = s.front().Renew(ctx, driver.LeaseRef{Key: key, Owner: "n/1", Fence: 1, TTL: long})
		s.refused(err, "key")
		s.refused(s.front().Release(ctx, driver.LeaseRef{Key: key, Owner: "n/1", Fence: 1}), "key")
	}
	for argument, a := range map[string]driver.Acquisition{
		"owner": {Key: "key", TTL: long},
		"TTL":   {Key: "key", Owner: "n/1", TTL: driver.MinTTL - 1},
		"fence": {Key: "key", Owner: "n/1", TTL: long, Fence: -1},
	} {
		_, err := s.front().Acquire(ctx, a)
		s.refused(err, argument)
	}
	_, err := s.front().Renew(ctx, driver.LeaseRef{Key: "key", Owner: "n/1", Fence: 1, TTL: driver.MaxTTL + 1})
	s.refused(err, "TTL")
	_, err = s.front().Renew(ctx, driver.LeaseRef{Key: "key", Owner: "n/1", TTL: long})
	s.refused(err, "fence")
	s.refused(s.front().Release(ctx, driver.LeaseRef{Key: "key", Owner: "a|b", Fence: 1}), "owner")
}
