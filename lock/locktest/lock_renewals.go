package locktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
)

var renewalTests = []test{
	{"many leases are renewed together, and each is answered for itself", renewalsMany},
	{"of leases that several owners hold each is renewed for itself", renewalsShared},
	{"leases that were taken are lost with the cause", renewalsTaken},
	{"leases that are over, or that the store forgot, are lost, and are not revived", renewalsOver},
	{"renewals asked again are answered again", renewalsAgain},
	{"a key that cannot be read is doubt about that key alone", renewalsSpoilt},
	{"a context that has ended is doubt about each, and no renewals get no answers", renewalsDoubt},
	{"a bad renewal is refused by name and leaves its batch alone", renewalsArguments},
}

func (s *fixture) renewAll(hs []driver.LeaseRef) []driver.Renewal {
	s.Helper()
	answers := s.driver.(driver.MultiRenewer).RenewAll(s.ctx, hs)
	equal(s, "answers", len(answers), len(hs))
	return answers
}

// prolonged fails the test unless the answer is a renewed lease.
func (s *fixture) prolonged(r driver.Renewal, h driver.LeaseRef) {
	s.Helper()
	if r.Err != nil {
		s.Fatalf("the renewal of %q: %v", h.Key, r.Err)
	}
	equal(s, "the fence of a renewal", r.Fence, h.Fence)
	s.within("left", r.Left, h.TTL)
}

// leases acquires n keys.
func (s *fixture) leases(n int) []driver.LeaseRef {
	s.Helper()
	hs := make([]driver.LeaseRef, n)
	for i := range hs {
		a := s.acquisition(long)
		a.Key = fmt.Sprintf("key/%d", i)
		_, hs[i] = s.acquire(a)
	}
	return hs
}

func renewalsMany(s *fixture) {
	const n = 203 // more than a store sends in one request
	hs := s.leases(n)
	for i := range hs {
		switch i % 50 {
		case 7:
			hs[i].Owner = "other/1"
		case 17:
			hs[i].Fence++
		case 27:
			hs[i].Fence--
		case 37:
			hs[i].Key = "free"
		}
	}
	for i, r := range s.renewAll(hs) {
		switch i % 50 {
		case 7, 17, 27, 37:
			s.lost(r.Err)
		default:
			s.prolonged(r, hs[i])
		}
	}
}

func renewalsShared(s *fixture) {
	if _, shares := s.driver.(driver.Sharer); !shares {
		return
	}
	var hs []driver.LeaseRef
	for _, limit := range []int{3, 3, driver.NoLimit} {
		a := s.acquisition(long)
		a.Limit = limit
		_, h := s.acquire(a)
		h.Limit, h.TTL = limit, longer
		hs = append(hs, h)
	}
	hs[1].Limit = 0 // a wrong limit changes no answer
	a := s.acquisition(long)
	a.Key = "alone"
	_, alone := s.acquire(a)
	alone.Limit, alone.TTL = 2, longer
	gone := hs[0]
	gone.Owner = "other/1"
	hs = append(hs, alone, gone)
	for i, r := range s.renewAll(hs) {
		if i == len(hs)-1 {
			s.lost(r.Err)
			continue
		}
		s.prolonged(r, hs[i])
	}
	if left := s.held(s.acquisition(short)).Left; left <= long {
		s.Fatalf("%v are left of leases that were renewed for %v", left, longer)
	}
	all, err := s.driver.(driver.Sharer).Holders(s.ctx, "key")
	if err != nil || len(all) != 3 {
		s.Fatalf("the holders are %+v, %v", all, err)
	}
}

func renewalsTaken(s *fixture) {
	forcer, forces := s.driver.(driver.Forcer)
	if !forces {
		return
	}
	hs := s.leases(2)
	if _, err := forcer.Force(s.ctx, driver.ForceRequest{Key: hs[0].Key, ID: "1", By: "op", Reason: "why"}); err != nil {
		s.Fatalf("force: %v", err)
	}
	answers := s.renewAll(hs)
	for i, want := range []error{driver.ErrForced, nil} {
		if !errors.Is(answers[i].Err, want) || want != nil && !errors.Is(answers[i].Err, driver.ErrLost) {
			s.Errorf("the renewal of lease %d says %v, want %v", i, answers[i].Err, want)
		}
	}
}

func renewalsOver(s *fixture) {
	a := s.acquisition(short)
	a.Key = "brief"
	_, brief := s.acquire(a)
	hs := append(s.leases(2), brief)
	s.env.Wait(short + slack)
	answers := s.renewAll(hs)
	s.prolonged(answers[0], hs[0])
	s.prolonged(answers[1], hs[1])
	s.lost(answers[2].Err)
	s.acquire(driver.Acquisition{Key: "brief", Owner: s.owner(), TTL: short})
	if s.env.Forget == nil {
		return
	}
	s.env.Forget()
	for _, r := range s.renewAll(hs) {
		s.lost(r.Err)
	}
	s.leases(2)
}

func renewalsAgain(s *fixture) {
	hs := s.leases(3)
	for range 3 {
		for i, r := range s.renewAll(hs) {
			s.prolonged(r, hs[i])
		}
	}
	for i, r := range s.renewAll([]driver.LeaseRef{hs[0], hs[1], hs[0]}) {
		s.prolonged(r, hs[i%2])
	}
	s.release(hs[1])
	answers := s.renewAll(hs)
	s.prolonged(answers[0], hs[0])
	s.lost(answers[1].Err)
	s.prolonged(answers[2], hs[2])
}

func renewalsSpoilt(s *fixture) {
	if s.env.Spoil == nil {
		return
	}
	hs := s.leases(5)
	s.env.Spoil(hs[2].Key)
	for i, r := range s.renewAll(hs) {
		if i != 2 {
			s.prolonged(r, hs[i])
			continue
		}
		if r.Err == nil || errors.Is(r.Err, driver.ErrLost) {
			s.Errorf("the renewal of what cannot be read says %v, want doubt", r.Err)
		}
	}
}

func renewalsDoubt(s *fixture) {
	equal(s, "answers", len(s.renewAll(nil)), 0)
	hs := s.leases(2)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for _, r := range s.driver.(driver.MultiRenewer).RenewAll(ctx, hs) {
		if !errors.Is(r.Err, context.Canceled) {
			s.Errorf("the error is %v, want one that wraps context.Canceled", r.Err)
		}
	}
}

func renewalsArguments(s *fixture) {
	hs := s.leases(3)
	hs[1].TTL = driver.MinTTL - 1
	answers := s.front().RenewAll(s.ctx, hs)
	s.prolonged(answers[0], hs[0])
	if bad, is := errors.AsType[*driver.ArgumentError](answers[1].Err); !is || bad.Argument != "TTL" {
		s.Errorf("a TTL that is too short is answered with %v", answers[1].Err)
	}
	s.prolonged(answers[2], hs[2])
}
