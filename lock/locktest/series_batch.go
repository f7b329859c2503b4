package locktest

import (
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var batchTests = []test{
	{"an empty batch has no answers", batchEmpty},
	{"201 claims and more are answered in their order, one each", batchLarge},
	{"claims of which half are decided are answered in their order", batchDecided},
	{"claims of one series in one batch are judged in their order", batchSameKey},
	{"mixed kinds, keys and faults are answered each in its place", batchMixed},
	{"renewals and endings of many series are answered in their order", batchRuns},
	{"of many nodes that claim the same numbers at once each number is granted once", batchRace},
}

func batchEmpty(s *fixture) {
	equal(s, "openings", len(s.numbered.Open(s.ctx, nil)), 0)
	equal(s, "claims", len(s.numbered.Claim(s.ctx, nil)), 0)
	equal(s, "renewals", len(s.numbered.RenewRuns(s.ctx, nil)), 0)
	equal(s, "endings", len(s.numbered.ReleaseRuns(s.ctx, nil)), 0)
	equal(s, "looks", len(s.numbered.ReadSeries(s.ctx, nil)), 0)
}

// fleet opens n series and returns a claim of a due number for each of them.
func (s *fixture) fleet(n int) []series.Claim {
	s.Helper()
	os := make([]series.OpenRequest, n)
	for i := range os {
		os[i] = series.OpenRequest{Key: fmt.Sprintf("job-%d", i), Node: "opener", Revision: "r1"}
	}
	cs := make([]series.Claim, n)
	all := s.numbered.Open(s.ctx, os)
	equal(s, "answers", len(all), n)
	for i, is := range all {
		if is.Err != nil || is.Key != os[i].Key || is.Mark == 0 {
			s.Fatalf("opening %d: %+v", i, is)
		}
		s.mark = is.Mark
		cs[i] = s.ask(s.due(1), s.mark)
		cs[i].Key = is.Key
	}
	s.env.Wait(20 * slack)
	return cs
}

// grants sends all claims, which must all be granted, and returns their runs.
func (s *fixture) grants(cs []series.Claim) []series.RunRef {
	s.Helper()
	runs := make([]series.RunRef, len(cs))
	as := s.numbered.Claim(s.ctx, cs)
	equal(s, "answers", len(as), len(cs))
	for i, a := range as {
		if a.Kind != series.KindGranted || a.Number != cs[i].Number || a.Node != driver.NodeOf(cs[i].Owner) {
			s.Fatalf("claim %d of %d: %+v", i, cs[i].Number, a)
		}
		runs[i] = series.RunRef{Key: cs[i].Key, Number: a.Number, Owner: cs[i].Owner, Fence: a.Fence, TTL: long}
	}
	return runs
}

func batchLarge(s *fixture) {
	s.grants(s.fleet(201))
	keys := make([]string, 450)
	for i := range keys {
		keys[i] = fmt.Sprintf("job-%d", (i*7)%201)
	}
	for i, is := range s.numbered.ReadSeries(s.ctx, keys) {
		if is.Err != nil || is.Key != keys[i] || len(is.Runs) != 1 {
			s.Fatalf("look %d at %s: %+v", i, keys[i], is)
		}
	}
}

func batchDecided(s *fixture) {
	cs := s.fleet(410)
	s.grants(cs[:205])
	for i := range cs {
		cs[i].Owner = s.owner()
	}
	for i, a := range s.numbered.Claim(s.ctx, cs) {
		want, node := series.KindGranted, driver.NodeOf(cs[i].Owner)
		if i < 205 {
			want = series.KindPassed
		}
		if a.Kind != want || a.Number != cs[i].Number || (a.Node == node) != (i >= 205) || a.Err != nil {
			s.Fatalf("claim %d: %+v", i, a)
		}
	}
}

func batchSameKey(s *fixture) {
	s.open()
	c := s.next(1)
	as := s.numbered.Claim(s.ctx, []series.Claim{c, s.next(1), c, s.ask(s.due(3), s.due(2)), s.ask(s.due(2), s.due(1))})
	for i, want := range []series.Kind{series.KindGranted, series.KindPassed, series.KindGranted, series.KindGap, series.KindHeld} {
		if as[i].Kind != want {
			s.Errorf("claim %d: %v, want %v", i, name(as[i].Kind), name(want))
		}
	}
	equal(s, "the fence asked for again", as[2].Fence, as[0].Fence)
}

func batchMixed(s *fixture) {
	cs := s.fleet(12)
	want := make([]series.Kind, len(cs))
	for i := range cs {
		switch i % 4 {
		case 0:
			want[i] = series.KindGranted
		case 1:
			cs[i].Key, want[i] = "unknown", series.KindUnknown
		case 2:
			cs[i].Deadline, want[i] = 0, series.KindMissed
		case 3:
			cs[i].TTL, want[i] = 0, series.KindUnknown // refused
		}
	}
	for i, a := range s.front().Claim(s.ctx, cs) {
		if a.Kind != want[i] {
			s.Errorf("claim %d: %v, want %v", i, name(a.Kind), name(want[i]))
		}
		if _, bad := errors.AsType[*driver.ArgumentError](a.Err); bad != (i%4 == 3) {
			s.Errorf("claim %d: the error is %v", i, a.Err)
		}
	}
}

func batchRuns(s *fixture) {
	runs := s.grants(s.fleet(230))
	for i := range runs {
		if i%3 == 1 {
			runs[i].Fence++ // a wrong fence
		}
	}
	for i, r := range s.numbered.RenewRuns(s.ctx, runs) {
		if r.Err != nil || r.Alive != (i%3 != 1) {
			s.Fatalf("renewal %d: %+v", i, r)
		}
	}
	es := make([]series.EndRequest, len(runs))
	for i := range runs {
		es[i] = series.EndRequest{RunRef: runs[i], State: series.RunDone, Outcome: series.OutcomeOK, OK: true}
	}
	for i, e := range s.numbered.ReleaseRuns(s.ctx, es) {
		if e.Err != nil || e.Ended != (i%3 != 1) {
			s.Fatalf("ending %d: %+v", i, e)
		}
	}
}
