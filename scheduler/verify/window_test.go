package verify_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A journal that lost its oldest lines is proven from the first line that moved the mark, and later
// lines about earlier ticks are accepted.
func TestTruncatedJournals(t *testing.T) {
	first := granted(10)
	j := journal(first, attempt(2, 14, 10), word(series.VerdictEnded, 15, attempt(2, 14, 10), "ok"), ran(20), ran(30))
	j.Truncated = true
	for dropped, want := range []struct {
		begins, once, due int
	}{{0, 3, 3}, {0, 3, 3}, {10, 2, 2}, {10, 2, 2}, {10, 2, 2}, {20, 1, 1}} {
		cut := j
		cut.Lines = j.Lines[dropped:]
		got := verify.Job(cut, verify.Options{Since: instant(at(5))})
		if !got.OK() || got.Once != want.once || got.Due != want.due || !got.Begins.Equal(instant(at(float64(want.begins)))) {
			t.Errorf("without %d lines: got %+v, want %+v", dropped, got, want)
		}
		if tooEarly := want.begins > 5; got.TooEarly != tooEarly || got.Complete {
			t.Errorf("without %d lines: too early %v, complete %v", dropped, got.TooEarly, got.Complete)
		}
	}
}

// Lines that move no mark prove nothing about earlier ticks.
func TestNothingButLaterWords(t *testing.T) {
	j := journal(word(series.VerdictEnded, 15, granted(10), "ok"))
	j.Lines, j.Truncated = j.Lines[1:], true
	j.Revisions[0].Last = at(55)
	got := verify.Job(j, verify.Options{})
	if !got.Begins.Equal(instant(at(15.02))) || !got.Mark.IsZero() || got.Overdue != 2 || len(got.Late) != 1 {
		t.Errorf("got %+v", got)
	}
	s := state(55)
	s.Mark = at(10)
	for name, got := range map[string]verify.Report{
		"the state has the mark": verify.Job(j, verify.Options{State: s}),
		"a change has the mark":  verify.Job(cut(journal(change(series.ActionSkip, 1, 25, 10))), verify.Options{Now: instant(s.Now)}),
	} {
		if !got.Begins.Equal(instant(at(10))) || got.Overdue != 2 || !got.Late[0].Tick.Equal(instant(at(20))) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// A journal without lines proves nothing.
func TestEmptyJournal(t *testing.T) {
	got := verify.Job(series.Journal{Key: "job"}, verify.Options{Since: instant(at(0)), Now: instant(at(60))})
	want := verify.Report{Job: "job", Begins: instant(at(60)), TooEarly: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for mark, begins := range map[float64]float64{30: 30, 90: 60} { // a mark in the future decides no tick
		s := state(60)
		s.Mark = at(mark)
		if got := verify.Job(series.Journal{Key: "job"}, verify.Options{State: s}); !got.Begins.Equal(instant(at(begins))) {
			t.Errorf("with the mark %v: begins %v", mark, got.Begins)
		}
	}
	if got := verify.Job(series.Journal{}, verify.Options{}); !got.OK() || got.TooEarly || got.Due != 0 {
		t.Errorf("got %+v", got)
	}
}

// A job that was opened recently has no earlier ticks. A journal without its opening does not reach
// back to it, even if its lines claim to.
func TestTheOpeningIsTheBeginning(t *testing.T) {
	j := journal(ran(10), ran(20))
	if got := verify.Job(j, verify.Options{Since: instant(at(-3600))}); !got.Complete || got.TooEarly || got.Once != 2 {
		t.Errorf("got %+v", got)
	}
	j.Lines = j.Lines[1:]
	for since, early := range map[float64]bool{-3600: true, 0: true, 0.001: false} { // the lines prove no tick at the beginning itself
		if got := verify.Job(j, verify.Options{Since: instant(at(since))}); got.Complete || got.TooEarly != early || got.Once != 2 || !got.Begins.Equal(instant(at(0))) {
			t.Errorf("since %v: got %+v", since, got)
		}
	}
}

// Since and Now bound the ticks that are counted, inclusive. Earlier violations are not reported,
// but earlier lines are used.
func TestWindow(t *testing.T) {
	broken := with(ran(20), func(l *series.Line) { l.Fence = fence(5) })
	missing := with(line(series.VerdictMissed, 90, 30, 80), func(l *series.Line) { l.Between, l.Reason = series.VerdictMissed, series.ReasonMisfire })
	j := journal(ran(10), broken, ran(30), missing, ran(90))
	for _, c := range []struct {
		since, now float64
		want       verify.Report
		violations int
	}{
		{-10, 100, verify.Report{Due: 9, Once: 4, Missed: counts("misfire", 5), Outcomes: counts("ok", 4)}, 1},
		{20, 100, verify.Report{Due: 8, Once: 3, Missed: counts("misfire", 5), Outcomes: counts("ok", 3)}, 1},
		{20.001, 100, verify.Report{Due: 7, Once: 2, Missed: counts("misfire", 5), Outcomes: counts("ok", 2)}, 0},
		{40, 80, verify.Report{Due: 5, Missed: counts("misfire", 5)}, 0},
		{50, 79, verify.Report{Due: 3, Missed: counts("misfire", 3)}, 0},
		{90, 90, verify.Report{Due: 1, Once: 1, Outcomes: counts("ok", 1)}, 0},
		{91, 95, verify.Report{}, 0},
	} {
		got := verify.Job(j, verify.Options{Since: instant(at(c.since)), Now: instant(at(c.now))})
		if len(got.Violations) != c.violations || !reflect.DeepEqual(onlyCounts(got), c.want) {
			t.Errorf("from %v to %v: got %+v, want %+v", c.since, c.now, got, c.want)
		}
	}
}

// A pause that ends covers the ticks of every spec in use up to then.
func TestResumeCoversAllSpecs(t *testing.T) {
	other := "5/10 * * * * *"
	resume := series.Line{At: at(63), Verdict: series.VerdictPaused, From: at(10), To: at(63), Between: series.VerdictPaused}
	j := journal(ran(10), resume, with(ran(70), func(l *series.Line) { l.From = at(63) }))
	j.Revisions = []series.RevisionUse{sighting(everyTen, 0, 70), sighting(other, 31, 52)}
	got := verify.Job(j, verify.Options{})
	if !got.OK() || got.Paused != 7 || got.Once != 2 || got.PassedOver != 0 || got.Due != 9 {
		t.Errorf("got %+v", got)
	}
}

// Ticks that two revisions share are counted once.
func TestSharedTicksAreCountedOnce(t *testing.T) {
	often, rare := "0/5 * * * * *", "0/20 * * * * *"
	j := journal(ran(10), ran(20), ran(30))
	j.Revisions = []series.RevisionUse{sighting(everyTen, 0, 30), sighting(often, 0, 30), sighting(rare, 0, 30), sighting("5/10 * * * * *", 0, 30)}
	got := verify.Job(j, verify.Options{})
	if !got.OK() || got.Once != 3 || got.PassedOver != 3 || got.Due != 6 {
		t.Errorf("got %+v", got)
	}
}

// Revisions of one text and zone, as of two years, are one spec with the earliest of their first
// sightings: the ticks of an outage in which the revision changed are due.
func TestRevisionsOfOneText(t *testing.T) {
	last, next := sighting(everyTen, 0, 22), sighting(everyTen, 45, 60)
	last.Revision, next.Revision = "last", "next"
	of := func(l series.Line, revision string) series.Line {
		l.Revision = revision
		return l
	}
	seen := []series.RevisionUse{last, next}
	silent := of(ran(50), "next")
	silent.From = at(20) // no line covers the ticks at 30 and 40
	covered := silent
	covered.Between = series.VerdictMissed
	open := of(opening(), "last")
	for name, c := range map[string]struct {
		line              series.Line
		undecided, broken int
	}{"covered": {covered, 0, 0}, "silent": {silent, 2, 1}} {
		j := series.Journal{Key: "job", Lines: []series.Line{open, of(ran(10), "last"), of(ran(20), "last"), c.line, of(ran(60), "next")}, Revisions: seen}
		got := verify.Job(j, verify.Options{})
		if got.Due != 6 || got.Undecided != c.undecided || got.Broken("I4") != c.broken || len(got.Violations) != c.broken {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// A spec that was recorded under two names, and that had not been replaced in between, is one spec: with the
// policies and the node of the later use, and in force all the time.
func TestTwoNamesOfOneUse(t *testing.T) {
	last, next := sighting(everyTen, 0, 22), sighting(everyTen, 45, 60)
	last.Revision, next.Revision, next.Since = "last", "next", at(0)
	next.Node, next.Policies = "b", "deadline:5s"
	for name, uses := range map[string][]series.RevisionUse{"in order": {last, next}, "the later one first": {next, last}} {
		j := series.Journal{Key: "job", Revisions: uses, Lines: []series.Line{
			with(opening(), func(l *series.Line) { l.Revision = "last" }),
			with(ran(10), func(l *series.Line) { l.Revision = "last" }),
			with(line(series.VerdictMissed, 50, 10, 50), func(l *series.Line) { l.Revision, l.Between = "next", series.VerdictMissed })}}
		r := verify.Job(j, verify.Options{Now: instant(at(75.001))})
		if len(r.Violations) > 0 || r.SeenOn != "b" || r.Due != 6 || r.Overdue != 1 || !r.Late[0].Since.Equal(instant(at(65))) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A summary adds the jobs up, and is only OK if all of them are.
func TestSum(t *testing.T) {
	good := verify.Job(journal(ran(10), ran(20)), verify.Options{})
	bad := verify.Job(journal(ran(10), ran(30)), verify.Options{})
	s := verify.Sum(good, bad)
	want := verify.Report{Due: 5, Once: 4, Undecided: 1, Outcomes: counts("ok", 4)}
	if got := onlyCounts(s.Total); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if s.OK() || s.Broken("I4") != 1 || s.Broken("I2") != 0 || !s.Total.Complete || s.Total.TooEarly || !s.Total.Begins.Equal(instant(epoch)) {
		t.Errorf("got %+v", s)
	}
	early := verify.Job(series.Journal{Key: "late"}, verify.Options{Since: instant(at(0)), Now: instant(at(9))})
	for _, s := range []verify.Summary{verify.Sum(good, early), verify.Sum(early, good)} {
		if !s.OK() || !s.Total.TooEarly || s.Total.Complete || !s.Total.Begins.Equal(instant(at(9))) {
			t.Errorf("got %+v", s)
		}
	}
	if s = verify.Sum(); !s.OK() || s.Total.Complete {
		t.Errorf("got %+v", s)
	}
}

// Times are written in UTC, in any zone of the spec.
func TestZones(t *testing.T) {
	shanghai := series.RevisionUse{Revision: "r", Spec: "0 9 * * *", Zone: "Asia/Shanghai", First: at(0), Last: at(7200)}
	l := line(series.VerdictRan, 3600, 0, 3600) // 01:00 UTC
	l.Revision, l.Outcome = "r", series.OutcomeOK
	o := opening()
	o.Revision = "r"
	got := verify.Job(series.Journal{Lines: []series.Line{o, l}, Revisions: []series.RevisionUse{shanghai}}, verify.Options{})
	if !got.OK() || got.Once != 1 || got.Mark != time.Date(2026, 1, 5, 1, 0, 0, 0, time.UTC) {
		t.Errorf("got %+v", got)
	}
}
