package verify_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// filled plays a backfill of two ticks, whose runs follow one another.
func filled() *store {
	s := opened()
	for at := 10.0; at <= 30; at += 10 {
		s.run(policy{}, at)
	}
	s.now = at(31.417)
	number := s.backfill(2000, at(10), at(20))
	for range 2 {
		s.now += 10
		s.start(number)
		number = s.state.Manual
	}
	s.run(policy{}, 40)
	return s
}

// fillsTick reports whether a line is about a run that waits for the work of a tick.
func fillsTick(tick int64) func(series.Line) bool {
	return func(l series.Line) bool { return l.For == tick }
}

// The runs of a backfill are counted as manual runs. Each change to their lines breaks I9.
func TestBackfillsAreHeldToTheirRequests(t *testing.T) {
	s := filled()
	if got := s.report(verify.Options{}); !got.OK() || got.Once != 4 || !reflect.DeepEqual(got.Manual, map[string]int{"ran": 2}) {
		t.Errorf("%+v", got)
	}
	first, second := slices.IndexFunc(s.lines, fillsTick(at(10))), slices.IndexFunc(s.lines, fillsTick(at(20)))
	for name, c := range map[string]struct {
		change func(lines []series.Line) []series.Line
		want   string
	}{
		"without its request": {func(ls []series.Line) []series.Line { return slices.Delete(ls, first-1, first) },
			"I9 a run waits for the work of 2026-01-05T00:00:10.000Z, and no change before it requested a backfill"},
		"after the end of the backfill": {func(ls []series.Line) []series.Line {
			end := ls[first-1]
			end.Change++
			end.Audit++
			return slices.Insert(ls, first+1, end)
		}, "I9 a run waits for the work of 2026-01-05T00:00:20.000Z, and no change before it requested a backfill"},
		"a tick twice": {func(ls []series.Line) []series.Line {
			ls[second].For = at(10)
			return ls
		}, "I9 a run waits for the work of 2026-01-05T00:00:10.000Z, after a run for 2026-01-05T00:00:10.000Z of the same backfill"},
		"two runs at once": {func(ls []series.Line) []series.Line {
			early := ls[second]
			return slices.Insert(slices.Delete(ls, second, second+1), first+1, early)
		}, "I9 a run waits for the work of 2026-01-05T00:00:20.000Z, while run 2026-01-05T00:00:31.417Z of a backfill is waiting"},
		"beside one that runs": {func(ls []series.Line) []series.Line {
			ls[first+1].Outcome, ls[first+1].Ended = "", 0
			return ls
		}, "I9 a run waits for the work of 2026-01-05T00:00:20.000Z, while run 2026-01-05T00:00:31.417Z of a backfill is open"},
		"beside one that has not started": {func(ls []series.Line) []series.Line {
			ls[first+1].Outcome = series.OutcomeUnstarted
			return ls
		}, "I9 a run waits for the work of 2026-01-05T00:00:20.000Z, while run 2026-01-05T00:00:31.417Z of a backfill is unstarted"},
		"after a pause": {func(ls []series.Line) []series.Line {
			pauses := ls[first-1]
			pauses.Reason, pauses.Change, pauses.Audit = string(series.ActionPause), pauses.Change+1, pauses.Audit+1
			return slices.Insert(ls, first+1, pauses)
		}, "I9 a run waits for the work of 2026-01-05T00:00:20.000Z, and no change before it requested a backfill"},
		"above the mark": {func(ls []series.Line) []series.Line {
			ls[second].For = at(40)
			return ls
		}, "I9 a run waits for the work of 2026-01-05T00:00:40.000Z, and the mark was at 2026-01-05T00:00:30.000Z"},
		"no tick": {func(ls []series.Line) []series.Line {
			ls[second].For = at(25)
			return ls
		}, "I9 a run waits for the work of 2026-01-05T00:00:25.000Z, which is a tick of no spec"},
	} {
		t.Run(name, func(t *testing.T) {
			j := s.journal()
			j.Lines = c.change(j.Lines)
			r := verify.Job(j, verify.Options{Now: instant(s.now).Add(time.Second)})
			if !slices.ContainsFunc(r.Violations, func(v verify.Violation) bool {
				invariant, text, _ := strings.Cut(c.want, " ")
				return v.Invariant == invariant && strings.Contains(v.Text, text)
			}) {
				t.Errorf("found %v, want %s", r.Violations, c.want)
			}
		})
	}
	is := s.state.Series(s.us(), "job")
	is.Last = at(31.417)
	if r := verify.Job(s.journal(), verify.Options{State: &is, Audit: s.audit}); len(r.Violations) != 1 || r.Violations[0].Invariant != "I9" {
		t.Errorf("a manual run is the latest success: found %v", r.Violations)
	}
}

// A run of a backfill that has no room before the next tick waits for that tick. One that has room, or that may
// overlap, and that no node starts is overdue.
func TestBackfillIsOverdue(t *testing.T) {
	for _, c := range []struct {
		room     int64
		policies string
		want     string
	}{
		{1000, "", "overdue"},
		{3000, "", "waiting"},
		{20_000, "", "waiting"},
		{20_000, "overlap:allow", "overdue"},
	} {
		s := opened()
		s.run(policy{}, 10)
		s.backfill(c.room, at(10))
		s.now = at(17.5)
		s.sightings[0].Policies = c.policies
		is := s.state.Series(s.us(), "job")
		if got := verify.Job(s.journal(), verify.Options{State: &is, Audit: s.audit, Grace: time.Second}); got.OK() != (c.want == "waiting") || got.Manual[c.want] != 1 {
			t.Errorf("with room for %d ms, %q: %+v", c.room, c.policies, got)
		}
		s.sightings = nil
		if got := verify.Job(s.journal(), verify.Options{State: &is, Audit: s.audit, Grace: time.Second}); got.Manual["overdue"] != 1 || len(got.Faults) != 1 {
			t.Errorf("no spec is on record: %+v", got)
		}
	}
}

// A tick goes before the run of a backfill whose node has died, and before one that another node was granted
// and did not start. It goes before no run whose lease cannot have ended.
func TestTicksGoBeforeTheRunOfABackfill(t *testing.T) {
	rerun := policy{rerun: true}
	s := opened()
	s.run(rerun, 10)
	s.now = at(11)
	number := s.backfill(2000, at(10))
	next := func(seconds float64) grant {
		s.now = at(seconds)
		return s.takeOver(rerun, number, s.state.Series(s.us(), "job").Runs[0].Fence)
	}
	next(16)
	s.run(rerun, 20)
	s.end(next(21), series.RunUnstarted, "")
	s.run(rerun, 30)
	s.ok(next(31))
	if got := s.report(verify.Options{Exclusive: true}); !got.OK() || got.Once != 3 || got.Overlapped != 0 || got.Manual["ran"] != 1 {
		t.Errorf("%+v", got)
	}
	s.lines[slices.IndexFunc(s.lines, func(l series.Line) bool { return l.To == number && l.Verdict == series.VerdictRan })].At = at(19.6)
	if got := s.report(verify.Options{Exclusive: true}); got.Overlapped != 1 {
		t.Errorf("a tick 400 ms after the grant of a run of a backfill: %+v", got)
	}
}
