package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func journalRevisions(s *fixture) {
	s.open()
	first := s.journal(0).Revisions
	equal(s, "revisions", len(first), 1)
	want := series.RevisionUse{Revision: "r1", Spec: "* * * * *", Zone: "UTC", Node: "opener", First: first[0].First, Last: first[0].First, Since: first[0].First}
	equal(s, "the sighting", first[0], want)
	s.opened(series.OpenRequest{Key: s.key, Node: "b", Revision: "r2", Spec: `a|b;c "d" é`, Zone: "Asia/Shanghai", Policies: `x:1/y%7C "z"`})
	s.env.Wait(5 * time.Millisecond)
	is := s.opened(series.OpenRequest{Key: s.key, Node: "c", Revision: "r1", Spec: "* * * * *", Zone: "UTC", Policies: "x:2"})
	equal(s, "since", is.Since, first[0].First)
	rs := s.journal(0).Revisions
	equal(s, "revisions", len(rs), 2)
	equal(s, "who was seen last", rs[0].Node, "c")
	equal(s, "seen first", rs[0].First, first[0].First)
	equal(s, "seen last", rs[0].Last, is.Now)
	equal(s, "the other's spec", rs[1].Spec, `a|b;c "d" é`)
	equal(s, "the other's zone", rs[1].Zone, "Asia/Shanghai")
	equal(s, "the other's policies", rs[1].Policies, `x:1/y%7C "z"`)
	equal(s, "the latest policies", rs[0].Policies, "x:2")
}

func journalFirstSighting(s *fixture) {
	s.open() // r1, "* * * * *", UTC
	first := s.journal(0).Revisions[0].First
	for _, o := range []struct {
		opening series.OpenRequest
		known   bool
		other   string
	}{
		{series.OpenRequest{Node: "b", Revision: "r2", Spec: "* * * * *", Zone: "UTC"}, true, ""},
		{series.OpenRequest{Node: "c", Revision: "r3", Spec: "* * * * *", Zone: "Asia/Shanghai"}, false, ""},
		{series.OpenRequest{Node: "d", Revision: "r4", Spec: "5 * * * *", Zone: "UTC"}, false, ""},
		{series.OpenRequest{Node: "opener", Revision: "r1", Spec: "* * * * *", Zone: "UTC"}, true, "r4"},
		{series.OpenRequest{Node: "b", Revision: "r2", Spec: "* * * * *", Zone: "UTC"}, true, "r1"},
		{series.OpenRequest{Node: "e", Revision: "r5"}, false, ""}, // without a spec
		{series.OpenRequest{Node: "f", Revision: "r6"}, false, ""},
	} {
		s.env.Wait(5 * time.Millisecond)
		o.opening.Key = s.key
		is := s.opened(o.opening)
		want := is.Now
		if o.known {
			want = first
		}
		equal(s, o.opening.Revision+": since", is.Since, want)
		equal(s, o.opening.Revision+": other", is.Other, o.other)
	}
}

func journalManyRevisions(s *fixture) {
	s.open()
	for i := range 50 {
		s.opened(series.OpenRequest{Key: s.key, Node: "n", Revision: fmt.Sprint("x", i)})
		s.env.Wait(2 * time.Millisecond)
		s.opened(series.OpenRequest{Key: s.key, Node: "opener", Revision: "r1"})
		s.env.Wait(2 * time.Millisecond)
	}
	kept := s.revisions()
	if len(kept) > 32 || !slices.Contains(kept, "r1") || !slices.Contains(kept, "x49") {
		s.Fatalf("%d revisions are kept: %q, want at most 32, r1 and x49 among them", len(kept), kept)
	}
	if len(kept) < 16 {
		s.Errorf("no more than %d revisions are kept", len(kept))
	}
	equal(s, "r1 was seen first", s.opened(series.OpenRequest{Key: s.key, Node: "opener", Revision: "r1"}).Since, s.mark)
	s.opened(series.OpenRequest{Key: s.key, Node: "n", Revision: "new"})
	kept = s.revisions()
	s.env.Wait(2 * time.Millisecond)
	s.opened(series.OpenRequest{Key: s.key, Node: "opener", Revision: "r1"})
	equal(s, "the revisions after one of them was seen again", fmt.Sprint(s.revisions()), fmt.Sprint(kept))
}

// revisions returns the sorted names of the revisions that are kept.
func (s *fixture) revisions() (names []string) {
	for _, v := range s.journal(0).Revisions {
		names = append(names, v.Revision)
	}
	slices.Sort(names)
	return names
}

func journalKeys(s *fixture) {
	want := []string{"a", "b", "c", "z"}
	for _, key := range []string{"z", "c", "a", "b", "a"} {
		s.opened(series.OpenRequest{Key: key, Node: "n"})
	}
	_, _ = s.driver.Acquire(s.ctx, s.acquisition(long)) // a plain key is not a series
	keys, err := s.journaled.Keys(s.ctx)
	if err != nil || !slices.Equal(keys, want) {
		s.Fatalf("the series are %q, %v, want %q", keys, err, want)
	}
}

func journalRuns(s *fixture) {
	run := s.dead()
	c := s.after(run)
	c.TTL = short
	_, second := s.granted(c)
	s.env.Wait(short + slack)
	c = s.after(second)
	c.Attempts = 2
	s.settles(c, second, series.VerdictLost)
	lines := s.lines()
	equal(s, "lines", len(lines), 3)
	for i, want := range []series.Line{
		{Verdict: series.VerdictRan, From: s.mark, To: run.Number, Node: driver.NodeOf(run.Owner), Revision: "r1", Fence: run.Fence, Attempt: 1},
		{Verdict: series.VerdictRan, From: run.Number, To: run.Number, Node: driver.NodeOf(second.Owner), Revision: "r1", Fence: second.Fence, Attempt: 2},
		{Verdict: series.VerdictLost, From: run.Number, To: run.Number, Reason: series.ReasonLost, Node: driver.NodeOf(second.Owner), Fence: second.Fence, Attempt: 2},
	} {
		want.At = lines[i].At
		equal(s, fmt.Sprintf("line %d", i), lines[i], want)
	}
}
