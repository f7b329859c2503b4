package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

var forceTests = []test{
	{"a key that was freed by force is granted with a greater fence", forceFrees},
	{"of a forced unlock a record is kept: when, by whom, why, and from which owners", forceRecord},
	{"a forced unlock asked again changes nothing and gives the same record", forceAgain},
	{"a key that no owner holds is not freed, and no record is kept", forceFree},
	{"all holders of a key lose it, and a record names the first of them", forceShared},
	{"a lease that was taken is lost at its renewal, which says so, and its release frees nothing", forceLost},
	{"the release of a lease that was taken says so, and its repeat too", forceReleased},
	{"a lease of a Locker ends with that cause", forceCause},
	{"a forced unlock takes leases with the fences that it is for, and no other", forceFences},
	{"a forced unlock that arrives late leaves the next owner alone", forceLate},
	{"of several holders those with the fences are taken", forceSome},
	{"of several forced unlocks at a time one takes the lease", forceRace},
	{"who waits is served", forceServes},
	{"a key that is kept for the next of its queue stays kept", forceKept},
	{"the latest records are kept", forceMost},
	{"records are kept for 90 days after the latest", forceOld},
	{"force: a context that has ended is doubt, and nothing is done", forceDoubt},
	{"force: bad arguments are refused by name", forceArguments},
}

// longReason contains characters that have a special meaning in some store.
const longReason = `50% of "a\b" | c; {d}, e/f.1 é #1# 'g' *h? [i] $&^ + x`

func forcing(id string) driver.ForceRequest {
	return driver.ForceRequest{Key: "key", ID: id, By: "alice@host", Reason: longReason}
}

func (s *fixture) forced(id string) driver.ForceRecord {
	s.Helper()
	made, err := s.driver.(driver.Forcer).Force(s.ctx, forcing(id))
	if err != nil {
		s.Fatalf("force: %v", err)
	}
	return made
}

func (s *fixture) forcings(key string) []driver.ForceRecord {
	s.Helper()
	all, err := s.driver.(driver.Forcer).ForceRecords(s.ctx, key)
	if err != nil {
		s.Fatalf("forcings of %q: %v", key, err)
	}
	return all
}

// same fails the test unless the two records are the same.
func (s *fixture) same(what string, got, want driver.ForceRecord) {
	s.Helper()
	equal(s, what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

func forceFrees(s *fixture) {
	for _, limit := range s.limits() {
		for _, next := range s.limits() {
			a := s.acquisition(long)
			a.Limit = limit
			g, _ := s.acquire(a)
			s.forced(fmt.Sprint(limit, next))
			a.Owner, a.Limit = s.owner(), next
			after, h := s.acquire(a)
			if h.Limit = next; after.Fence <= g.Fence {
				s.Fatalf("the fence is %d after %d, which was freed by force", after.Fence, g.Fence)
			}
			s.release(h)
		}
	}
}

func forceRecord(s *fixture) {
	g, h := s.acquire(s.acquisition(long))
	before := s.clock()
	made := s.forced("id 1")
	if at := made.At; at < before || at > s.clock() {
		s.Fatalf("the record is of %d, asked at %d", at, before)
	}
	f := forcing("id 1")
	s.same("the record", made, driver.ForceRecord{ID: "id 1", By: f.By, Reason: f.Reason, At: made.At, Holders: 1,
		Owners: []driver.ForcedOwner{{Owner: h.Owner, Fence: g.Fence}}})
	all := s.forcings("key")
	equal(s, "records", len(all), 1)
	s.same("the record that is kept", all[0], made)
	equal(s, "records of another key", len(s.forcings("other")), 0)
}

// clock returns the store's clock in ms; if the store has none, a fence gives the time.
func (s *fixture) clock() int64 {
	s.Helper()
	clocked, is := s.driver.(driver.Clocked)
	if !is {
		return s.time() / 1000
	}
	rs, err := clocked.Now(s.ctx)
	if err != nil || len(rs) == 0 {
		s.Fatalf("the clock: %v, %v", rs, err)
	}
	return rs[0].Time.UnixMilli()
}

func forceAgain(s *fixture) {
	s.acquire(s.acquisition(long))
	first := s.forced("id")
	s.same("the record", s.forced("id"), first)
	_, h := s.acquire(s.acquisition(long))
	s.env.Wait(5 * time.Millisecond)
	s.same("the record, with another holder", s.forced("id"), first)
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the next holder: %v", err)
	}
	equal(s, "records", len(s.forcings("key")), 1)
}

func forceFree(s *fixture) {
	free := func(what string) {
		s.Helper()
		if made, err := s.driver.(driver.Forcer).Force(s.ctx, forcing("id")); !errors.Is(err, driver.ErrFree) {
			s.Fatalf("%s: %+v, %v, want lock.ErrFree", what, made, err)
		}
	}
	free("never used")
	_, h := s.acquire(s.acquisition(long))
	s.release(h)
	free("released")
	s.acquire(s.acquisition(short))
	s.env.Wait(short + slack)
	free("expired")
	equal(s, "records", len(s.forcings("key")), 0)
}

func forceShared(s *fixture) {
	if _, shares := s.driver.(driver.Sharer); !shares {
		return
	}
	var hs []driver.LeaseRef
	for range driver.MaxForcedOwners + 2 {
		hs = append(hs, s.taken(lock.NoLimit))
		s.env.Wait(5 * time.Millisecond)
	}
	made := s.forced("id")
	equal(s, "holders", made.Holders, len(hs))
	equal(s, "owners", len(made.Owners), driver.MaxForcedOwners)
	for i, o := range made.Owners {
		equal(s, "an owner", o, driver.ForcedOwner{Owner: hs[i].Owner, Fence: hs[i].Fence})
	}
	equal(s, "who holds it", len(s.holders()), 0)
	last := s.taken(1).Fence
	for _, h := range hs {
		s.notRenewed(h)
		if h.Fence >= last {
			s.Fatalf("the fence is %d, after %d", last, h.Fence)
		}
	}
}

func forceLost(s *fixture) {
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		_, h := s.acquire(a)
		h.Limit = limit
		s.forced(fmt.Sprint("free ", limit))
		for range 2 {
			if _, err := s.driver.Renew(s.ctx, h); !errors.Is(err, lock.ErrForced) {
				s.Fatalf("the renewal says %v, want lock.ErrForced", err)
			}
		}
		a.Owner = s.owner()
		_, next := s.acquire(a)
		next.Limit = limit
		if _, err := s.driver.Renew(s.ctx, h); !errors.Is(err, lock.ErrForced) {
			s.Fatalf("the renewal beside the next owner says %v, want lock.ErrForced", err)
		}
		s.lost(s.driver.Release(s.ctx, h))
		other := h
		other.Fence++
		if _, err := s.driver.Renew(s.ctx, other); !errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrForced) {
			s.Fatalf("the renewal of another lease says %v, want lock.ErrLost alone", err)
		}
		if _, err := s.driver.Renew(s.ctx, next); err != nil {
			s.Fatalf("the next owner: %v", err)
		}
		s.release(next)
	}
}

func forceCause(s *fixture) {
	l := lock.New(s.driver, "node 1/a")
	for _, limit := range s.limits() {
		ttl := short
		for !s.forcedCause(l, lock.Options{Limit: limit, TTL: ttl, Note: longNote}) {
			ttl *= 2 // on this machine, renewals take longer than such a lease
		}
	}
}

// forcedCause forces the lock of a lease, and fails the test unless that is the cause with which the
// lease ends. It returns false if no renewal was answered before the end of a short lease.
func (s *fixture) forcedCause(l *lock.Locker, o lock.Options) bool {
	lease, err := l.TryAcquire(patient(s.ctx), "key", o)
	if err != nil {
		s.Fatalf("acquire: %v", err)
	}
	made, err := l.Force(s.ctx, driver.ForceRequest{Key: "key", By: "bob", Reason: "stuck"})
	if err != nil {
		s.Fatalf("force: %v", err)
	}
	s.Cleanup(func() { _ = lease.Release(context.Background()) })
	select {
	case <-lease.Context().Done():
	case <-time.After(patience):
		s.Fatalf("the lease goes on")
	}
	cause := context.Cause(lease.Context())
	if o.TTL < patience && strings.Contains(cause.Error(), "no renewal was answered") {
		return false
	}
	if len(made.Owners) != 1 || made.ID == "" {
		s.Fatalf("force: %+v", made)
	}
	equal(s, "the note", made.Owners[0].Note, longNote)
	if !errors.Is(cause, lock.ErrForced) || !errors.Is(cause, lock.ErrLost) {
		s.Fatalf("the cause is %v, want lock.ErrForced", cause)
	}
	s.lost(lease.Release(s.ctx))
	return true
}

func forceServes(s *fixture) {
	_, can := s.driver.(driver.Waiter)
	if _, inspects := s.driver.(driver.Inspector); !can || !inspects {
		return
	}
	_, h := s.acquire(s.acquisition(long))
	first := s.queued(s.acquisition(long))
	s.forced("id")
	next := s.served(first)
	if next.Fence <= h.Fence {
		s.Fatalf("the fence is %d, the one before was %d", next.Fence, h.Fence)
	}
	s.release(next)
}

func forceKept(s *fixture) {
	if _, inspects := s.driver.(driver.Inspector); !inspects || s.env.Abandon == nil {
		return
	}
	h, dead := s.abandon()
	s.release(h)
	equal(s, "for whom it is kept", s.inspect("key").Owner, dead.Owner)
	if made, err := s.driver.(driver.Forcer).Force(s.ctx, forcing("id")); !errors.Is(err, driver.ErrFree) {
		s.Fatalf("force: %+v, %v, want lock.ErrFree", made, err)
	}
	equal(s, "for whom it is kept", s.inspect("key").Owner, dead.Owner)
	s.acquire(dead)
}

func forceMost(s *fixture) {
	for i := range driver.MaxForceRecords + 2 {
		s.acquire(s.acquisition(long))
		s.forced(fmt.Sprint(i))
	}
	all := s.forcings("key")
	equal(s, "records", len(all), driver.MaxForceRecords)
	for i, made := range all {
		equal(s, "the ID", made.ID, fmt.Sprint(i+2))
	}
}

// forceOld needs a clock that is moved by hand.
func forceOld(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.acquire(s.acquisition(long))
	s.forced("1")
	s.env.Wait(driver.ForceRecordsKept - time.Hour)
	s.acquire(s.acquisition(long))
	s.forced("2")
	s.env.Wait(driver.ForceRecordsKept - time.Second)
	equal(s, "records shortly before", len(s.forcings("key")), 2)
	s.env.Wait(2 * time.Second)
	equal(s, "records after it", len(s.forcings("key")), 0)
}

func forceDoubt(s *fixture) {
	s.acquire(s.acquisition(long))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, forced := s.driver.(driver.Forcer).Force(ctx, forcing("id"))
	_, read := s.driver.(driver.Forcer).ForceRecords(ctx, "key")
	for what, err := range map[string]error{"force": forced, "forcings": read} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s: the error is %v, want one that wraps context.Canceled", what, err)
		}
	}
	_ = s.held(s.acquisition(long))
	equal(s, "records", len(s.forcings("key")), 0)
}

func forceArguments(s *fixture) {
	forcer := s.front()
	for _, c := range []struct {
		argument string
		change   func(f *driver.ForceRequest)
	}{
		{"key", func(f *driver.ForceRequest) { f.Key = "" }},
		{"key", func(f *driver.ForceRequest) { f.Key = "a\x1b" }},
		{"ID", func(f *driver.ForceRequest) { f.ID = "" }},
		{"ID", func(f *driver.ForceRequest) { f.ID = "a|b" }},
		{"by", func(f *driver.ForceRequest) { f.By = "" }},
		{"by", func(f *driver.ForceRequest) { f.By = strings.Repeat("x", driver.MaxKey+1) }},
		{"reason", func(f *driver.ForceRequest) { f.Reason = "" }},
		{"reason", func(f *driver.ForceRequest) { f.Reason = "a\x1b[2J" }},
		{"reason", func(f *driver.ForceRequest) { f.Reason = strings.Repeat("x", driver.MaxReason+1) }},
		{"fences", func(f *driver.ForceRequest) { f.From = -1 }},
		{"fences", func(f *driver.ForceRequest) { f.From = 1 }},
		{"fences", func(f *driver.ForceRequest) { f.From, f.To = 3, 2 }},
		{"fences", func(f *driver.ForceRequest) { f.To = driver.MaxNumber + 1 }},
	} {
		f := forcing("id")
		c.change(&f)
		_, err := forcer.Force(s.ctx, f)
		s.refused(err, c.argument)
	}
	_, err := forcer.ForceRecords(s.ctx, "")
	s.refused(err, "key")
	s.acquire(s.acquisition(long))
	f := forcing(strings.Repeat("i", driver.MaxKey))
	f.By, f.Reason = strings.Repeat("é", driver.MaxKey/2), strings.Repeat("é", driver.MaxReason/2)
	if _, err := forcer.Force(s.ctx, f); err != nil {
		s.Fatalf("the longest: %v", err)
	}
	equal(s, "the reason", s.forcings("key")[0].Reason, f.Reason)
}
