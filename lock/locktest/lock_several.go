package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cronce/cronce/lock/driver"
)

var severalTests = []test{
	{"several keys are granted together, each with a fence of its own", severalGranted},
	{"of several keys none is granted if one is held", severalHeld},
	{"of several keys none is granted if others wait for one", severalWaited},
	{"several keys asked for again are granted with the same fences", severalAgain},
	{"what is left of an earlier grant of several is freed when one is refused", severalPartly},
	{"of several keys none is left to an owner that asked for more replicas than there are", severalReplicas},
	{"limits hold for each of several keys", severalLimits},
	{"several keys are released together, and each has its answer", severalReleased},
	{"owners that ask for overlapping keys at once never hold one twice", severalRace},
	{"several: a context that has ended is doubt, and nothing is done", severalDoubt},
	{"several: as many keys as are allowed", severalMost},
	{"several: bad arguments are refused by name", severalArguments},
}

// acquisitions returns acquisitions of several keys by one owner.
func (s *fixture) acquisitions(keys ...string) []driver.Acquisition {
	owner := s.owner()
	as := make([]driver.Acquisition, len(keys))
	for i, key := range keys {
		as[i] = driver.Acquisition{Key: key, Owner: owner, TTL: long}
	}
	return as
}

// together acquires several keys.
func (s *fixture) together(as []driver.Acquisition) []driver.LeaseRef {
	s.Helper()
	gs, err := s.driver.(driver.MultiAcquirer).AcquireAll(s.ctx, as)
	if err != nil {
		s.Fatalf("acquire several: %v", err)
	}
	equal(s, "grants", len(gs), len(as))
	hs := make([]driver.LeaseRef, len(as))
	for i, g := range gs {
		s.within("left", g.Left, as[i].TTL)
		hs[i] = driver.LeaseRef{Key: as[i].Key, Owner: as[i].Owner, Fence: g.Fence, TTL: as[i].TTL, Limit: as[i].Limit}
	}
	return hs
}

// notTogether fails the test unless the keys are refused because key is held.
func (s *fixture) notTogether(as []driver.Acquisition, key string) {
	s.Helper()
	gs, err := s.driver.(driver.MultiAcquirer).AcquireAll(s.ctx, as)
	held, ok := errors.AsType[*driver.HeldError](err)
	if !ok || held.Key != key || held.Left <= 0 {
		s.Fatalf("acquire several: %+v, %v, want a *lock.HeldError of %q", gs, err, key)
	}
}

// free fails the test unless the keys are free.
func (s *fixture) free(keys ...string) {
	s.Helper()
	for _, key := range keys {
		_, h := s.acquire(driver.Acquisition{Key: key, Owner: s.owner(), TTL: long})
		s.release(h)
	}
}

func severalGranted(s *fixture) {
	for _, h := range s.together(s.acquisitions("a", "b {", "c/é")) {
		if h.Fence <= 0 {
			s.Fatalf("the fence of %q is %d", h.Key, h.Fence)
		}
		_ = s.held(driver.Acquisition{Key: h.Key, Owner: "other/1", TTL: long})
		s.renewed(h)
		s.release(h)
	}
	s.free("a", "b {", "c/é")
}

func severalHeld(s *fixture) {
	for _, held := range []string{"a", "b", "c"} {
		_, h := s.acquire(driver.Acquisition{Key: held, Owner: s.owner(), TTL: long})
		s.notTogether(s.acquisitions("a", "b", "c"), held)
		s.release(h)
		s.free("a", "b", "c")
	}
}

func severalWaited(s *fixture) {
	if _, ok := s.driver.(driver.Waiter); !ok || s.env.Abandon == nil {
		return
	}
	_, h := s.acquire(s.acquisition(long))
	s.abandonedWithLimit(0)
	s.release(h)
	s.notTogether(s.acquisitions("a", "key"), "key")
	s.free("a")
	s.env.Wait(kept + slack)
	s.together(s.acquisitions("a", "key"))
}

func severalReplicas(s *fixture) {
	as := s.acquisitions("a", "b", "c")
	for i := range as {
		as[i].Replicas = driver.MaxReplicas
	}
	_, err := s.front().AcquireAll(s.ctx, as)
	s.short(err)
	s.free("a", "b", "c")
}

func severalAgain(s *fixture) {
	as := s.acquisitions("a", "b", "c")
	first := s.together(as)
	s.env.Wait(slack)
	gs, err := s.driver.(driver.MultiAcquirer).AcquireAll(s.ctx, as)
	if err != nil {
		s.Fatalf("acquire several again: %v", err)
	}
	for i, g := range gs {
		equal(s, "the fence of "+as[i].Key, g.Fence, first[i].Fence)
		if g.Left > long-slack {
			s.Fatalf("asking again after %v left %v of %v", slack, g.Left, long)
		}
	}
}

func severalPartly(s *fixture) {
	as := s.acquisitions("a", "b", "c")
	s.release(s.together(as)[1])
	_, h := s.acquire(driver.Acquisition{Key: "b", Owner: s.owner(), TTL: long})
	s.notTogether(as, "b")
	s.free("a", "c")
	s.renewed(h)
}

func severalLimits(s *fixture) {
	if _, ok := s.driver.(driver.Sharer); !ok {
		return
	}
	shared := func() []driver.Acquisition {
		as := s.acquisitions("a", "b")
		as[0].Limit, as[1].Limit = 2, driver.NoLimit
		return as
	}
	first := s.together(shared())
	second := s.together(shared())
	for i := range second {
		if second[i].Fence <= first[i].Fence {
			s.Fatalf("the fence of %q is %d after %d", second[i].Key, second[i].Fence, first[i].Fence)
		}
	}
	s.notTogether(shared(), "a")
	s.notTogether(s.acquisitions("b", "c"), "b")
	s.release(first[0])
	s.together(shared())
	s.free("c")
}

func severalReleased(s *fixture) {
	hs := s.together(s.acquisitions("a", "b", "c", "d"))
	s.release(hs[1])
	_, other := s.acquire(driver.Acquisition{Key: "b", Owner: s.owner(), TTL: long})
	hs[2].Fence = 0 // any fence
	errs := s.driver.(driver.MultiAcquirer).ReleaseAll(s.ctx, hs)
	equal(s, "answers", len(errs), len(hs))
	for i, err := range errs {
		switch {
		case i == 1 && !errors.Is(err, driver.ErrLost):
			s.Fatalf("the release of what another has: %v, want lock.ErrLost", err)
		case i != 1 && err != nil:
			s.Fatalf("the release of %q: %v", hs[i].Key, err)
		}
	}
	s.renewed(other)
	s.free("a", "c", "d")
}

// Ten owners request two of four keys each, at the same time, over and over.
func severalRace(s *fixture) {
	keys := []string{"a", "b", "c", "d"}
	users := make(map[string]*atomic.Int32)
	for _, key := range keys {
		users[key] = new(atomic.Int32)
	}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for n := range 20 {
				s.useBoth(fmt.Sprintf("n-%d/%d", i, n), users, keys[(i+n)%4], keys[(i+n+1+n%3)%4])
			}
		})
	}
	wg.Wait()
	s.free(keys...)
}

// useBoth acquires two keys, checks that no other owner uses them, and releases.
func (s *fixture) useBoth(owner string, users map[string]*atomic.Int32, one, two string) {
	several := s.driver.(driver.MultiAcquirer)
	as := []driver.Acquisition{{Key: one, Owner: owner, TTL: long}, {Key: two, Owner: owner, TTL: long}}
	gs, err := several.AcquireAll(s.ctx, as)
	if err != nil {
		if _, held := errors.AsType[*driver.HeldError](err); !held {
			s.Errorf("acquire several: %v", err)
		}
		return
	}
	hs := make([]driver.LeaseRef, 0, 2)
	for i, a := range as {
		if n := users[a.Key].Add(1); n > 1 {
			s.Errorf("%s has %d owners", a.Key, n)
		}
		hs = append(hs, driver.LeaseRef{Key: a.Key, Owner: owner, Fence: gs[i].Fence})
	}
	for _, a := range as {
		users[a.Key].Add(-1)
	}
	if err := errors.Join(several.ReleaseAll(s.ctx, hs)...); err != nil {
		s.Errorf("release several: %v", err)
	}
}

func severalDoubt(s *fixture) {
	hs := s.together(s.acquisitions("a", "b"))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.driver.(driver.MultiAcquirer).AcquireAll(ctx, s.acquisitions("c", "d"))
	for _, err := range append(s.driver.(driver.MultiAcquirer).ReleaseAll(ctx, hs), err) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("the error is %v, want context.Canceled", err)
		}
	}
	for _, h := range hs {
		s.renewed(h)
	}
	s.free("c", "d")
}

func severalArguments(s *fixture) {
	many := make([]string, driver.MaxKeys+1)
	for i := range many {
		many[i] = fmt.Sprint("key ", i)
	}
	twice, owners, bad := s.acquisitions("a", "b", "a"), s.acquisitions("a", "b"), s.acquisitions("a", "b")
	owners[1].Owner = "other/1"
	bad[1].TTL = short - 1
	for argument, as := range map[string][]driver.Acquisition{"keys": nil, "key": twice, "owner": owners, "TTL": bad} {
		_, err := s.front().AcquireAll(s.ctx, as)
		s.refused(err, argument)
	}
	_, err := s.front().AcquireAll(s.ctx, s.acquisitions(many...))
	s.refused(err, "keys")
	errs := s.front().ReleaseAll(s.ctx, []driver.LeaseRef{{Key: "a", Owner: "n/1"}, {Key: "", Owner: "n/1"}})
	if len(errs) != 2 || errs[0] != nil {
		s.Fatalf("the answers are %v", errs)
	}
	s.refused(errs[1], "key")
}

func severalMost(s *fixture) {
	keys := make([]string, driver.MaxKeys)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	as := s.acquisitions(keys...)
	grants, err := s.driver.(driver.MultiAcquirer).AcquireAll(s.ctx, as)
	if errors.Is(err, driver.ErrUnsupported) {
		return // the keys are on different servers
	}
	if err != nil || len(grants) != len(as) {
		s.Fatalf("%d grants, %v", len(grants), err)
	}
	hs := make([]driver.LeaseRef, len(as))
	for i := range as {
		hs[i] = driver.LeaseRef{Key: as[i].Key, Owner: as[i].Owner, Fence: grants[i].Fence}
	}
	if err := errors.Join(s.driver.(driver.MultiAcquirer).ReleaseAll(s.ctx, hs)...); err != nil {
		s.Fatalf("release: %v", err)
	}
}
