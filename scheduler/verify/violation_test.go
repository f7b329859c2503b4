package verify_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// fence returns the fence of a grant at a second.
func fence(seconds float64) int64 { return at(seconds) * 1000 }

// line returns a line written at a second about the range from one second to another.
func line(v series.Verdict, written, from, to float64) series.Line {
	l := series.Line{At: at(written), Verdict: v, From: at(from), To: at(to), Node: "a", Revision: everyTen}
	switch v {
	case series.VerdictRan:
		l.Fence, l.Attempt = fence(written), 1
	case series.VerdictWaiting:
		l.Fence = fence(written)
	case series.VerdictEnded, series.VerdictLost, series.VerdictSuperseded:
		l.Revision = ""
	}
	return l
}

// granted returns the line of a tick that was granted at its instant, and has no end yet.
func granted(to float64) series.Line { return line(series.VerdictRan, to, to-10, to) }

// ran returns the line of a tick that also ended ok.
func ran(to float64) series.Line {
	l := granted(to)
	l.Outcome, l.Ended = series.OutcomeOK, l.At+5
	return l
}

// attempt returns the line of a further grant of a tick.
func attempt(n int, written, tick float64) series.Line {
	l := line(series.VerdictRan, written, tick, tick)
	l.Attempt, l.Node = n, "b"
	return l
}

// word returns a later line about the grant of an earlier one.
func word(v series.Verdict, written float64, of series.Line, outcome string) series.Line {
	l := series.Line{At: at(written), Verdict: v, From: of.To, To: of.To, Node: of.Node, Fence: of.Fence, Attempt: of.Attempt, Outcome: outcome}
	if outcome != "" {
		l.Ended = l.At
	}
	return l
}

// with returns a changed line.
func with(l series.Line, change func(*series.Line)) series.Line {
	change(&l)
	return l
}

func opening() series.Line { return line(series.VerdictOpened, 0, 0, 0) }

func sighting(text string, first, last float64) series.RevisionUse {
	return series.RevisionUse{Revision: text, Spec: text, Zone: "UTC", Node: "a", First: at(first), Last: at(last)}
}

func journal(lines ...series.Line) series.Journal {
	return series.Journal{Key: "job", Lines: append([]series.Line{opening()}, lines...), Revisions: []series.RevisionUse{sighting(everyTen, 0, 0)}}
}

type planted struct {
	name    string
	journal series.Journal
	want    []string // invariant and part of the text of each violation
}

// Every kind of violation, planted in a journal that is otherwise sound, is found, and nothing
// else.
func TestViolationsAreFound(t *testing.T) {
	for _, c := range slices.Concat(marks(), grants(), endings(), specs(), changes()) {
		t.Run(c.name, func(t *testing.T) {
			got := verify.Job(c.journal, verify.Options{Exclusive: true})
			if len(got.Violations) != len(c.want) {
				t.Fatalf("got %d violations %v, want %q", len(got.Violations), got.Violations, c.want)
			}
			for i, v := range got.Violations {
				invariant, text, _ := strings.Cut(c.want[i], " ")
				if v.Invariant != invariant || !strings.Contains(v.Text, text) {
					t.Errorf("got %v, want %s", v, c.want[i])
				}
			}
			if got.OK() {
				t.Error("OK")
			}
		})
	}
}

// At its bound, to the millisecond, each line is allowed.
func TestBoundsHold(t *testing.T) {
	lease := driver.MinTTL.Seconds()
	for name, j := range map[string]series.Journal{
		"a grant as early as a store may":            journal(with(ran(10), func(l *series.Line) { l.At = at(9.98) })),
		"a skip at its instant":                      journal(granted(10), line(series.VerdictSkipped, 20, 10, 20)),
		"a takeover when the shortest lease is over": journal(granted(10), attempt(2, 10+lease, 10)),
		"a loss when the shortest lease is over":     journal(granted(10), word(series.VerdictLost, 10+lease, granted(10), "")),
	} {
		if got := verify.Job(j, verify.Options{Exclusive: true}); !got.OK() {
			t.Errorf("%s: %v", name, got.Violations)
		}
	}
}

func marks() []planted {
	return []planted{
		{"a line is missing", journal(ran(10), ran(30)),
			[]string{"I4 no line moves the mark from 2026-01-05T00:00:10.000Z to 2026-01-05T00:00:20.000Z; 1 ticks"}},
		{"a gap without a tick", journal(ran(10), with(ran(20), func(l *series.Line) { l.From += 1000 })),
			[]string{"I4 no line moves the mark from"}},
		{"the mark goes back", journal(ran(10), ran(20), with(ran(10), func(l *series.Line) { l.Fence, l.At = fence(25), at(25) }), ran(30)),
			[]string{"I1 decided twice"}},
		{"a line is written twice", journal(ran(10), ran(20), ran(20), ran(30)),
			[]string{"I1 decided twice", "I2 is not above"}},
		{"a line points back", journal(ran(10), with(ran(20), func(l *series.Line) { l.From, l.To = l.To, l.From }), line(series.VerdictMissed, 20, 10, 20)),
			[]string{"I1 moves the mark back"}},
		{"two ranges overlap", journal(ran(10), ran(20), line(series.VerdictMissed, 35, 10, 30)),
			[]string{"I1 decided twice"}},
		{"opened in the middle", journal(ran(10), line(series.VerdictOpened, 35, 35, 35), with(ran(40), func(l *series.Line) { l.From = at(35) })),
			[]string{"I4 the store forgot the mark 2026-01-05T00:00:10.000Z: opened again, and 2 ticks"}},
		{"opened again at the mark", journal(ran(10), line(series.VerdictOpened, 10, 10, 10), ran(20)),
			[]string{"I4 the store forgot the mark 2026-01-05T00:00:10.000Z: opened again, and 0 ticks"}},
		{"opened below the mark", journal(ran(10), ran(20), line(series.VerdictOpened, 15, 15, 15), with(ran(20), func(l *series.Line) { l.From, l.Fence = at(15), fence(21) })),
			[]string{"I1 opened again below the mark"}},
		{"an opening covers ticks", journal(line(series.VerdictOpened, 15, 0, 15), with(ran(20), func(l *series.Line) { l.From = at(15) })),
			[]string{"I4 an opening covers", "I4 the store forgot"}},
		{"granted early", journal(with(ran(10), func(l *series.Line) { l.At -= 21 })),
			[]string{"I7 ran 21 ms before its instant"}},
		{"a skip is early", journal(granted(10), line(series.VerdictSkipped, 19.999, 10, 20)),
			[]string{"I7 skipped 1 ms before its instant"}},
		{"an ending has the fence of another grant", journal(granted(10), with(word(series.VerdictEnded, 14, granted(10), series.OutcomeOK), func(l *series.Line) { l.Fence++ })),
			[]string{"I1 ended ok with fence"}},
		{"the future is spent", journal(line(series.VerdictMissed, 5, 0, 10)),
			[]string{"I7 missed 5000 ms before its instant"}},
	}
}

func grants() []planted {
	return []planted{
		{"one attempt is granted twice", journal(granted(10), attempt(1, 14, 10)),
			[]string{"I1 attempt 1 was granted twice, to a and to b"}},
		{"a further grant is early", journal(with(ran(10), func(l *series.Line) { l.At, l.Outcome = at(9.98), series.OutcomeUnstarted }), with(attempt(1, 9.979, 10), func(l *series.Line) { l.Fence = fence(11) })),
			[]string{"I7 ran 21 ms before its instant"}},
		{"a finished tick is granted again", journal(ran(10), attempt(2, 14, 10)),
			[]string{"I1 granted to b after it was done"}},
		{"a lost tick is granted again", journal(granted(10), word(series.VerdictLost, 14, granted(10), ""), attempt(2, 15, 10)),
			[]string{"I1 granted to b after it was lost"}},
		{"an attempt is left out", journal(granted(10), attempt(3, 14, 10)),
			[]string{"I1 attempt 3 follows 1"}},
		{"an unstarted attempt counts", journal(with(ran(10), func(l *series.Line) { l.Outcome = series.OutcomeUnstarted }), attempt(2, 14, 10)),
			[]string{"I1 attempt 2 follows 0, which was unstarted"}},
		{"a takeover of nothing", journal(ran(10), line(series.VerdictMissed, 31, 10, 20), attempt(2, 31, 20)),
			[]string{"I1 ran, but the tick was never granted"}},
		{"a takeover of nothing, after the beginning of a journal that was cut", cut(journal(ran(10), line(series.VerdictMissed, 31, 10, 20), attempt(2, 31, 20))),
			[]string{"I1 ran, but the tick was never granted"}},
		{"a first attempt is not the first", journal(with(ran(10), func(l *series.Line) { l.Attempt = 2 })),
			[]string{"I1 begins with attempt 2"}},
		{"a lease is taken while it lives", journal(granted(10), attempt(2, 10.4, 10)),
			[]string{"I3 ran 400 ms after it was granted to a, whose lease cannot have ended"}},
		{"runs overlap", journal(granted(10), ran(20)),
			[]string{"I3 granted to a while an earlier run"}},
		{"a fence goes back", journal(ran(10), with(ran(20), func(l *series.Line) { l.Fence = fence(30) }), with(ran(30), func(l *series.Line) { l.Fence = fence(20) })),
			[]string{"I2 is not above"}},
		{"a fence repeats in a takeover", journal(granted(10), with(attempt(2, 14, 10), func(l *series.Line) { l.Fence = fence(10) })),
			[]string{"I2 is not above"}},
		{"a fence repeats in waiting", journal(granted(10), with(line(series.VerdictWaiting, 20, 10, 20), func(l *series.Line) { l.Fence = fence(10) })),
			[]string{"I2 is not above"}},
	}
}

func endings() []planted {
	waits := line(series.VerdictWaiting, 20, 10, 20)
	return []planted{
		{"it ends twice", journal(ran(10), word(series.VerdictEnded, 14, granted(10), "failed")),
			[]string{"I1 ended failed, but it was done before"}},
		{"it ends and is lost", journal(ran(10), word(series.VerdictLost, 14, granted(10), "")),
			[]string{"I1 lost, but it was done before"}},
		{"it is lost and ends", journal(granted(10), word(series.VerdictLost, 14, granted(10), ""), word(series.VerdictEnded, 15, granted(10), "ok")),
			[]string{"I1 ended ok, but it was lost before"}},
		{"it is lost while it lives", journal(granted(10), word(series.VerdictLost, 10.1, granted(10), "")),
			[]string{"I3 lost 100 ms after"}},
		{"the first attempt ends after the second began", journal(granted(10), attempt(2, 14, 10), word(series.VerdictEnded, 15, granted(10), "ok")),
			[]string{"I1 fence 1767571210000000, attempt 1, but fence 1767571214000000, attempt 2 was granted"}},
		{"it ends without an outcome", journal(granted(10), word(series.VerdictEnded, 14, granted(10), "")),
			[]string{"I4 ended without an outcome"}},
		{"what never ran ends", journal(line(series.VerdictMissed, 21, 0, 10), word(series.VerdictEnded, 22, granted(10), "ok")),
			[]string{"I1 ended ok, but the tick was never granted"}},
		{"a started run is called missed", journal(granted(10), word(series.VerdictMissed, 14, granted(10), "")),
			[]string{"I1 missed, but it was open before"}},
		{"a run that does not wait is superseded", journal(granted(10), word(series.VerdictSuperseded, 14, granted(10), "")),
			[]string{"I1 superseded, but it was open before"}},
		{"a waiting tick is lost", journal(granted(10), waits, word(series.VerdictLost, 24, waits, "")),
			[]string{"I1 lost, but it was waiting before"}},
		{"skipped for nothing", journal(ran(10), line(series.VerdictSkipped, 20, 10, 20)),
			[]string{"I4 skipped, but no run was open"}},
		{"waits for nothing", journal(ran(10), waits, attempt(1, 21, 20)),
			[]string{"I4 waiting, but no run was open"}},
		{"a waiting tick is left", journal(granted(10), waits, word(series.VerdictEnded, 25, granted(10), "ok"), ran(30)),
			[]string{"I4 was waiting and got no verdict when 2026-01-05T00:00:30.000Z was decided"}},
		{"an unstarted tick is left", journal(with(ran(10), func(l *series.Line) { l.Outcome = series.OutcomeUnstarted }), ran(20)),
			[]string{"I4 was unstarted and got no verdict"}},
		{"what never started is lost", journal(unbegun(ran(10)), with(word(series.VerdictLost, 14, granted(10), ""), func(l *series.Line) { l.Attempt = 0 })),
			[]string{"I1 lost, but it was unstarted before"}},
		{"a second attempt that never started is superseded", journal(granted(10), unbegun(attempt(2, 14, 10)), word(series.VerdictSuperseded, 15, with(attempt(2, 14, 10), once), "")),
			[]string{"I1 superseded, but it was unstarted before"}},
		{"a second attempt that never started is missed", journal(granted(10), unbegun(attempt(2, 14, 10)), word(series.VerdictMissed, 15, with(attempt(2, 14, 10), once), "")),
			[]string{"I1 missed, but it was unstarted before"}},
		{"a started run is called paused", journal(granted(10), word(series.VerdictPaused, 14, granted(10), "")),
			[]string{"I1 paused, but it was open before"}},
		{"a second attempt that never started is paused", journal(granted(10), unbegun(attempt(2, 14, 10)), word(series.VerdictPaused, 15, with(attempt(2, 14, 10), once), "")),
			[]string{"I1 paused, but it was unstarted before"}},
		{"an interrupted run is missed", journal(with(ran(10), func(l *series.Line) { l.Outcome = series.OutcomeInterrupted }), word(series.VerdictMissed, 14, granted(10), "")),
			[]string{"I1 missed, but it was interrupted before"}},
		{"an unstarted tick is forgotten with the store", journal(unbegun(ran(10)), line(series.VerdictOpened, 15, 15, 15), with(ran(20), func(l *series.Line) { l.From = at(15) })),
			[]string{"I4 the store forgot the mark"}},
		{"a waiting tick is forgotten with the store", journal(granted(10), waits, line(series.VerdictOpened, 25, 25, 25), with(ran(30), func(l *series.Line) { l.From = at(25) })),
			[]string{"I4 the store forgot the mark"}},
		{"an opening from before it was written, and not right before the only tick", series.Journal{Key: "job", Lines: []series.Line{line(series.VerdictOpened, 6, 4.998, 4.998)},
			Revisions: []series.RevisionUse{{Revision: everyTen, Spec: "@at 2026-01-05T00:00:05Z", Zone: "UTC", Node: "a", First: at(4.998), Last: at(10)}}},
			[]string{"I4 opened at 2026-01-05T00:00:04.998Z, which is before it was written"}},
		{"an opening from before it was written", series.Journal{Key: "job", Lines: []series.Line{line(series.VerdictOpened, 5, 4.999, 4.999), with(ran(10), func(l *series.Line) { l.From = at(5) })}, Revisions: []series.RevisionUse{sighting(everyTen, 0, 10)}},
			[]string{"I4 opened at 2026-01-05T00:00:04.999Z, which is before it was written"}},
		{"a verdict that decides nothing", journal(with(line(series.VerdictLost, 10, 0, 10), func(l *series.Line) { l.Revision = everyTen })),
			[]string{"I4 verdict \"lost\" decides no tick"}},
		{"a verdict of a newer format", journal(line("postponed", 10, 0, 10)),
			[]string{"I4 verdict \"postponed\" decides no tick"}},
		{"a second verdict of another kind", journal(ran(10), line(series.VerdictSkipped, 10, 10, 10)),
			[]string{"I4 verdict \"skipped\" cannot follow another"}},
	}
}

// unbegun returns the line of a grant that was given back unstarted.
func unbegun(l series.Line) series.Line {
	l.Outcome, l.Ended = series.OutcomeUnstarted, l.At+5
	return l
}

// once reduces the attempt by one.
func once(l *series.Line) { l.Attempt-- }

func specs() []planted {
	back := journal(with(ran(40), func(l *series.Line) { l.From = at(0) }))
	again := sighting(everyTen, 95, 100)
	again.Since = again.First
	back.Revisions = []series.RevisionUse{sighting(everyTen, 0, 40), again}
	return []planted{
		{"not a tick of the spec", journal(with(ran(10), func(l *series.Line) { l.To, l.At = at(5), at(5) }), with(ran(10), func(l *series.Line) { l.From = at(5) })),
			[]string{"I4 ran, but spec \"0/10 * * * * *\" has no such tick", "I2"}},
		{"ticks between are passed in silence", journal(with(ran(40), func(l *series.Line) { l.From = at(0) })),
			[]string{"I4 3 ticks of spec \"0/10 * * * * *\" after 2026-01-05T00:00:00.000Z have no verdict"}},
		{"one tick is passed in silence", journal(with(ran(20), func(l *series.Line) { l.From = at(0) })),
			[]string{"I4 1 ticks of spec \"0/10 * * * * *\" after 2026-01-05T00:00:00.000Z have no verdict"}},
		{"ticks between get a verdict that is not theirs", journal(with(ran(40), func(l *series.Line) { l.From, l.Between = at(0), series.VerdictRan })),
			[]string{"I4 ran cannot leave the ticks before it \"ran\""}},
		{"a revision that was never recorded", journal(with(ran(10), func(l *series.Line) { l.Revision = "x" }), with(ran(20), func(l *series.Line) { l.Revision = "x" })),
			[]string{"I4 revision \"x\" was never recorded"}},
		{"a spec that cannot be read", withSpec(journal(ran(10), ran(20)), "every now and then", "UTC"),
			[]string{"I4 cannot be read"}},
		{"a zone that cannot be read", withSpec(journal(ran(10), ran(20)), everyTen, "Mars/Phobos"),
			[]string{"I4 cannot be read: unknown time zone Mars/Phobos"}},
		{"ticks are passed in silence, and the spec comes back later", back,
			[]string{"I4 3 ticks of spec"}},
	}
}

// cut drops the first line of a journal.
func cut(j series.Journal) series.Journal {
	j.Lines, j.Truncated = j.Lines[1:], true
	return j
}

func withSpec(j series.Journal, text, zone string) series.Journal {
	j.Revisions[0].Spec, j.Revisions[0].Zone = text, zone
	return j
}

// A tick whose verdict is gone, or broke a rule, still counts once.
func TestWhatIsBrokenCountsOnce(t *testing.T) {
	waits := line(series.VerdictWaiting, 20, 10, 20)
	unstarted := unbegun(ran(10))
	reopened := line(series.VerdictOpened, 25, 25, 25)
	from25 := with(ran(30), func(l *series.Line) { l.From = at(25) })
	for name, c := range map[string]struct {
		journal series.Journal
		want    verify.Report
	}{
		"the store forgot the mark":               {journal(ran(10), line(series.VerdictOpened, 35, 35, 35)), verify.Report{Due: 3, Once: 1, Undecided: 2}},
		"a run is forgotten with the store":       {journal(granted(10), waits, reopened, from25), verify.Report{Due: 3, Once: 1, Undecided: 2}},
		"an unstarted one is too":                 {journal(unstarted, reopened, from25), verify.Report{Due: 3, Once: 1, Undecided: 2, Unstarted: 1}},
		"a waiting tick is left":                  {journal(granted(10), waits, word(series.VerdictEnded, 25, granted(10), "ok"), ran(30)), verify.Report{Due: 3, Once: 2, Undecided: 1}},
		"what never ran ends":                     {journal(line(series.VerdictMissed, 21, 0, 10), word(series.VerdictEnded, 22, granted(10), "ok")), verify.Report{Due: 1, Missed: counts("", 1)}},
		"the end has the fence of another":        {journal(granted(10), with(word(series.VerdictEnded, 14, granted(10), "ok"), func(l *series.Line) { l.Fence++ })), verify.Report{Due: 1, Running: 1}},
		"the revision of a line is not on record": {journal(with(ran(10), func(l *series.Line) { l.Revision = "x" })), verify.Report{Due: 1, Once: 1}},
	} {
		got := verify.Job(c.journal, verify.Options{})
		broken := len(got.Violations)
		got = onlyCounts(got)
		got.Outcomes = nil
		if !reflect.DeepEqual(got, c.want) || broken != 1 {
			t.Errorf("%s: %d violations, %+v, want %+v", name, broken, got, c.want)
		}
	}
}

// A spec that cannot be read, or is not on record, gives a line no ticks but the one that it names.
func TestTicksOfNoSpec(t *testing.T) {
	for name, c := range map[string]struct {
		journal series.Journal
		fault   string
	}{
		"it cannot be read":   {withSpec(journal(ran(10)), "every now and then", "UTC"), `the spec "every now and then" cannot be read: `},
		"it was not recorded": {func() series.Journal { j := journal(ran(10)); j.Revisions = nil; return j }(), ""},
	} {
		judge := verify.NewJudge(c.journal, verify.Options{})
		if state, l := judge.Tick(instant(at(5))); state != verify.NotATick || l == nil {
			t.Errorf("%s: %s, %v", name, state, l)
		}
		if faults := judge.Report().Faults; len(faults) > 0 != (c.fault != "") || len(faults) > 0 && !strings.HasPrefix(faults[0], c.fault) {
			t.Errorf("%s: faults %q", name, faults)
		}
	}
}

// If the overlap of a job is not known, an overlap is no violation, but it is counted.
func TestOverlapIsCounted(t *testing.T) {
	got := verify.Job(journal(granted(10), ran(20), ran(30)), verify.Options{})
	if !got.OK() || got.Overlapped != 2 || got.Running != 1 || got.Once != 2 {
		t.Errorf("got %+v", got)
	}
}

// A tick that ran again without permission is counted as such, with any outcome.
func TestAgainIsCounted(t *testing.T) {
	for name, j := range map[string]series.Journal{
		"one attempt twice":    journal(ran(10), granted(20), with(attempt(1, 24, 20), func(l *series.Line) { l.Outcome = "ok" })),
		"after it had ended":   journal(ran(10), ran(20), with(attempt(2, 24, 20), func(l *series.Line) { l.Outcome = "ok" })),
		"the mark went back":   journal(ran(10), ran(20), with(ran(20), func(l *series.Line) { l.Fence = fence(24) })),
		"and is not even over": journal(ran(10), ran(20), attempt(2, 24, 20)),
	} {
		got := verify.Job(j, verify.Options{})
		if got.Due != 2 || got.Once != 1 || got.Again != 1 || got.Broken("I1") != 1 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
