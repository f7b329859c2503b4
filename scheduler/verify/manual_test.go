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

// steered plays a manual run, one more that is requested during a pause, and a tick that is skipped.
func steered() *store {
	s := opened()
	s.run(policy{}, 10)
	s.now = at(13.417)
	s.start(s.request(series.OverlapSkip, false, at(60)))
	s.now = at(15)
	s.skip(at(20))
	s.now = at(20)
	s.ask(policy{}, at(20))
	s.run(policy{}, 30)
	s.change(series.ActionPause, 0)
	s.now = at(33.5)
	s.start(s.request(series.OverlapSkip, true, at(60)))
	s.now = at(45)
	s.change(series.ActionResume, 0)
	s.run(policy{}, 50)
	return s
}

// start starts a manual run, which ends ok.
func (s *store) start(number int64) {
	for _, r := range s.state.Series(s.us(), "job").Runs {
		if r.Number == number {
			s.ok(s.takeOver(policy{}, number, r.Fence))
		}
	}
}

// Manual runs are counted by their states, apart from the ticks.
func TestManualRunsAreCounted(t *testing.T) {
	s := steered()
	got := s.report(verify.Options{})
	if !got.OK() || got.Due != 5 || got.Once != 3 || got.Paused != 1 || got.Skipped[series.ReasonOperator] != 1 || !reflect.DeepEqual(got.Manual, map[string]int{"ran": 2}) {
		t.Errorf("%+v", got)
	}
	s.now = at(52.5)
	s.request(series.OverlapQueue, false, at(53))
	s.request(series.OverlapQueue, false, at(53.1))
	s.now = at(53.05)
	s.run(policy{}, 60)
	if got := s.report(verify.Options{}); !got.OK() || !reflect.DeepEqual(got.Manual, map[string]int{"ran": 2, "missed": 2}) {
		t.Errorf("%+v", got)
	}
	if sum := verify.Sum(got, got); !reflect.DeepEqual(sum.Total.Manual, map[string]int{"ran": 4}) {
		t.Errorf("the sum has %v", sum.Total.Manual)
	} else if !reflect.DeepEqual(sum.Total.Skipped, counts(series.ReasonOperator, 2)) {
		t.Errorf("the sum has skipped %v", sum.Total.Skipped)
	}
}

// A manual run whose request is gone with older lines is no violation, and counts by its state in the store.
func TestManualRunOfACutJournal(t *testing.T) {
	s := opened()
	s.run(policy{}, 10)
	s.now = at(13.417)
	number := s.request(series.OverlapSkip, false, at(60))
	s.takeOver(policy{}, number, s.state.Series(s.us(), "job").Runs[0].Fence)
	s.now = at(14)
	is := s.state.Series(s.us(), "job")
	j := s.journal()
	ends := word(series.VerdictEnded, 14, j.Lines[len(j.Lines)-1], series.OutcomeOK)
	for name, c := range map[string]struct {
		lines []series.Line
		now   float64
		state *series.Series
		want  map[string]int
	}{
		"without lines":    {nil, 14, &is, counts("running", 1)},
		"its end is there": {[]series.Line{ends, ran(20)}, 22, nil, counts("ran", 1)},
	} {
		j.Lines, j.Truncated = c.lines, true
		if got := verify.Job(j, verify.Options{State: c.state, Now: instant(at(c.now))}); !got.OK() || !reflect.DeepEqual(got.Manual, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A manual run that no node starts is overdue, and no tick is.
func TestManualRunIsOverdue(t *testing.T) {
	s := opened()
	s.run(policy{}, 10)
	s.now = at(13.417)
	s.request(series.OverlapSkip, false, at(15))
	state := func(since time.Time) verify.Report {
		is := s.state.Series(s.us(), "job")
		return verify.Job(s.journal(), verify.Options{State: &is, Audit: s.audit, Since: since})
	}
	s.now = at(19)
	if got := state(time.Time{}); !got.OK() || got.Manual["waiting"] != 1 {
		t.Errorf("%+v", got)
	}
	s.now = at(23.418)
	for since, counted := range map[float64]int{1: 1, 15: 0} {
		got := state(instant(at(since)))
		if len(got.Late) != 1 || !got.Late[0].Tick.Equal(instant(at(13.417))) || got.Manual["overdue"] != counted || got.Overdue != 0 {
			t.Errorf("since %v: %+v", since, got)
		}
	}
}

// Each change to the lines about manual runs, and about a tick that an operator skips, breaks I9, or I10,
// which is about the changes by operators.
func TestManualRunsAreHeldToTheirRequests(t *testing.T) {
	manual := func(l series.Line) bool { return l.From == l.To && l.To%1000 != 0 }
	first := func(lines []series.Line, is func(series.Line) bool) int { return slices.IndexFunc(lines, is) }
	action := func(a series.Action) func(series.Line) bool {
		return func(l series.Line) bool { return l.Verdict == series.VerdictControl && series.Action(l.Reason) == a }
	}
	waits := func(l series.Line) bool { return l.Verdict == series.VerdictWaiting }
	for name, c := range map[string]struct {
		change func(lines []series.Line) []series.Line
		want   string
	}{
		"a manual run without its request": {func(ls []series.Line) []series.Line {
			i := first(ls, action(series.ActionRun))
			return slices.Delete(ls, i, i+1)
		}, "I9 a manual run waits with fence 1767571213417000, and no change before it requested one"},
		"a request without its run": {func(ls []series.Line) []series.Line {
			i := first(ls, waits)
			return slices.Delete(ls, i, i+1)
		}, "I9 change 1 requested a manual run with fence 1767571213417000, and no line says that it waits"},
		"a request without its run, at the end": {func(ls []series.Line) []series.Line {
			return ls[:first(ls, waits)]
		}, "I9 change 1 requested a manual run with fence 1767571213417000, and no line says that it waits"},
		"a request with the run of a backfill": {func(ls []series.Line) []series.Line {
			ls[first(ls, waits)].For = at(10)
			return ls
		}, "I9 change 1 requested a manual run with fence 1767571213417000, and no line says that it waits"},
		"the fence of another request": {func(ls []series.Line) []series.Line {
			ls[first(ls, waits)].Fence++
			return ls
		}, "I9 a manual run waits with fence 1767571213417001, and the change before it requested one with fence 1767571213417000"},
		"one request, two runs": {func(ls []series.Line) []series.Line {
			i := first(ls, waits)
			again := ls[i]
			again.From, again.To, again.Fence = again.From+1, again.To+1, again.Fence+1
			return slices.Insert(ls, i+1, again)
		}, "I9 a manual run waits with fence 1767571213417001, and no change before it requested one"},
		"the number of an earlier run": {func(ls []series.Line) []series.Line {
			i := first(ls, waits)
			i += 1 + first(ls[i+1:], waits)
			ls[i].From, ls[i].To = at(13.417), at(13.417)
			return ls
		}, "I9 a manual run has the number of an earlier one"},
		"a manual number moves the mark": {func(ls []series.Line) []series.Line {
			i := first(ls, func(l series.Line) bool { return l.Verdict == series.VerdictRan && manual(l) })
			ls[i].From = at(10)
			return ls
		}, "I9 ran, and a manual run moves no mark"},
		"a manual number is skipped": {func(ls []series.Line) []series.Line {
			i := first(ls, func(l series.Line) bool { return l.Verdict == series.VerdictRan && manual(l) })
			ls[i].From, ls[i].Verdict = at(10), series.VerdictSkipped
			return ls
		}, "I9 skipped, and a manual run moves no mark"},
		"a manual number waits at the mark": {func(ls []series.Line) []series.Line {
			i := first(ls, func(l series.Line) bool { return l.Verdict == series.VerdictRan && manual(l) })
			ls[i].From, ls[i].Verdict = at(10), series.VerdictWaiting
			return ls
		}, "I9 waiting, and a manual run moves no mark"},
		"granted in a later pause": {func(ls []series.Line) []series.Line {
			i := first(ls, func(l series.Line) bool { return l.Verdict == series.VerdictRan && manual(l) })
			pause := first(ls, action(series.ActionPause))
			grant := ls[i]
			grant.At, grant.Ended, grant.Fence = at(32), at(32), at(32)*1000
			return slices.Delete(slices.Insert(ls, pause+1, grant), i, i+1)
		}, "I10 ran, and the job was paused"},
		"a tick is skipped, and no change says so": {func(ls []series.Line) []series.Line {
			i := first(ls, action(series.ActionSkip))
			return slices.Delete(ls, i, i+1)
		}, "I10 skipped for an operator, and no change says so"},
		"one change skips two ticks": {func(ls []series.Line) []series.Line {
			i := first(ls, func(l series.Line) bool { return l.Verdict == series.VerdictRan && l.To == at(30) })
			ls[i].Verdict, ls[i].Reason, ls[i].Fence, ls[i].Attempt, ls[i].Outcome, ls[i].Ended = series.VerdictSkipped, series.ReasonOperator, 0, 0, "", 0
			return ls
		}, "I10 skipped for an operator, and no change says so"},
	} {
		t.Run(name, func(t *testing.T) {
			s := steered()
			j := s.journal()
			j.Lines = c.change(slices.Clone(j.Lines))
			r := verify.Job(j, verify.Options{Now: instant(s.now).Add(time.Second)})
			if !slices.ContainsFunc(r.Violations, func(v verify.Violation) bool {
				invariant, text, _ := strings.Cut(c.want, " ")
				return v.Invariant == invariant && strings.Contains(v.Text, text)
			}) {
				t.Errorf("found %v, want %s", r.Violations, c.want)
			}
		})
	}
}
