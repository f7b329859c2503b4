package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// hasPolicies records policies with the spec of a journal.
func hasPolicies(j series.Journal, text string) series.Journal {
	j.Revisions[0].Policies = text
	return j
}

// A tick is overdue when the store's clock is past its deadline and the grace, to the millisecond,
// with or without live nodes, and without any line.
func TestOverdue(t *testing.T) {
	one := series.Run{Number: at(10), State: series.RunOpen, Owner: "a/1", Fence: fence(10), Attempt: 1, Granted: at(10), Until: at(40)}
	long, late := one, one
	long.Until = at(60)
	late.Until, late.Granted = at(60), at(25)
	waits := with(line(series.VerdictWaiting, 20, 10, 20), func(l *series.Line) { l.Fence = fence(20) })
	waiting := series.Run{Number: at(20), State: series.RunWaiting, Owner: "b/1", Fence: fence(20), Granted: at(20)}
	over := func(r series.Run, s series.RunState) series.Run { r.State = s; return r }
	crontab := "overlap:skip/callers:crontab"
	hourly := func(policies string) series.Journal {
		j := hasPolicies(journal(), policies)
		j.Revisions[0].Spec = "0 0 * * * *"
		return j
	}
	all, once := "overlap:skip/misfire:all/deadline:5s", "overlap:skip/misfire:once/deadline:5s"
	for _, c := range []struct {
		name    string
		journal series.Journal
		now     float64
		state   *series.Series
		want    string // overdue, waiting, running, lost, paused; then the first one, the number, since when, and its state
	}{
		{"nothing was due", journal(), 9.999, nil, "0 0 0 0 0"},
		{"due and inside its deadline", journal(), 10, nil, "0 0 0 0 0"},
		{"at the end of deadline and grace", journal(), 30, nil, "0 0 0 0 0"},
		{"a millisecond later", journal(), 30.001, nil, "1 0 0 0 0; 10 1 20 undecided"},
		{"the next tick too", journal(), 40.001, nil, "2 0 0 0 0; 10 2 20 undecided"},
		{"after what ran", journal(ran(10)), 40.001, nil, "1 0 0 0 0; 20 1 30 undecided"},
		{"with a deadline of its own", hasPolicies(journal(), once), 25.001, nil, "1 0 0 0 0; 10 1 15 undecided"},
		{"which is not over", hasPolicies(journal(), once), 25, nil, "0 0 0 0 0"},
		{"jitter comes on top", hasPolicies(journal(), "jitter:7s"), 37, nil, "0 0 0 0 0"},
		{"and then", hasPolicies(journal(), "jitter:7s"), 37.001, nil, "1 0 0 0 0; 10 1 27 undecided"},
		{"misfire skip, with jitter", hasPolicies(journal(), "misfire:skip/jitter:2s"), 23, nil, "0 0 0 0 0"},
		{"and then it is late", hasPolicies(journal(), "misfire:skip/jitter:2s"), 23.001, nil, "1 0 0 0 0; 10 1 13 undecided"},
		{"a broadcast with jitter has a minute more", hourly("jitter:2m/nodes:all"), 3790, nil, "0 0 0 0 0"},
		{"and no more", hourly("jitter:2m/nodes:all"), 3790.001, nil, "1 0 0 0 0; 3600 1 3780 undecided"},
		{"misfire all has ten intervals", hasPolicies(journal(), "misfire:all"), 120, nil, "0 0 0 0 0"},
		{"and no more", hasPolicies(journal(), "misfire:all"), 120.001, nil, "1 0 0 0 0; 10 1 110 undecided"},

		{"a run is alive: a skipped tick waits for nothing", journal(granted(10)), 41, state(45, long), "1 0 1 0 0; 20 1 30 undecided"},
		{"but one that was due before it was granted", journal(granted(10)), 41, state(45, late), "0 1 1 0 0"},
		{"to the millisecond", journal(granted(10)), 41, state(45, func() series.Run { r := late; r.Granted = at(20); return r }()), "1 0 1 0 0; 20 1 30 undecided"},
		{"for the run that was granted last, whichever is listed first", journal(granted(10)), 41, state(45, late, func() series.Run { r := long; r.Number = at(5); return r }()), "0 1 1 0 0"},
		{"a backlog waits", hasPolicies(journal(granted(10)), all), 50, state(50, func() series.Run { r := one; r.Until = at(50.001); return r }()), "0 2 1 0 0"},
		{"for as long as the lease lasts", hasPolicies(journal(granted(10)), all), 50, state(50, func() series.Run { r := one; r.Until = at(50); return r }()), "2 1 0 0 0; 20 2 25 undecided"},
		{"a backlog is worked off", hasPolicies(journal(ran(10), with(ran(20), func(l *series.Line) { l.At, l.Ended = at(70), at(71) })), all), 80.999, state(80.999), "0 4 0 0 0"},
		{"and then no more", hasPolicies(journal(ran(10), with(ran(20), func(l *series.Line) { l.At, l.Ended = at(70), at(71) })), all), 81, state(81), "4 0 0 0 0; 30 4 35 undecided"},
		{"where runs may overlap none waits", hasPolicies(journal(granted(10)), "overlap:allow/misfire:all/deadline:5s"), 35.001, state(35.001, one), "1 0 1 0 0; 20 1 25 undecided"},

		{"what is over waits for a node", journal(granted(10), ran(20), ran(30), ran(40)), 50, state(50, one), "0 1 0 0 0"},
		{"for longer than the grace", journal(granted(10), ran(20), ran(30), ran(40)), 50.001, state(50.001, one), "1 0 0 0 0; 10 1 40 open"},
		{"in a pause it waits for the end of that", journal(granted(10), ran(20), ran(30), ran(40)), 50.001, paused(state(50.001, one)), "0 1 0 0 1"},
		{"in a pause nothing is overdue", journal(ran(10)), 500, paused(state(500)), "0 0 0 0 49"},
		{"a tick waits for a run that is alive", journal(granted(10), waits), 39.999, state(39.999, one, waiting), "0 1 1 0 0"},
		{"and for nothing once it is over", journal(granted(10), waits, ran(30), ran(40)), 50.011, state(50.011, one, waiting), "2 0 0 0 0; 10 1 40 open; 20 1 40.005 waiting"},
		{"a long lease of the run it waited for", journal(granted(10), waits, ran(30), ran(40), ran(50)), 70, state(70, long, waiting), "0 2 0 0 0"},
		{"and for longer than the grace", journal(granted(10), waits, ran(30), ran(40), ran(50)), 70.001, state(70.001, long, waiting), "2 0 0 0 0; 10 1 60 open; 20 1 60 waiting"},
		{"a run that was given back holds none up", journal(with(ran(10), func(l *series.Line) { l.Outcome = series.OutcomeInterrupted })), 41, state(41, over(late, series.RunGivenBack)), "1 1 0 0 0; 20 1 30 undecided"},
		{"nor does one that has ended, without the state", journal(ran(10), with(ran(20), func(l *series.Line) { l.At, l.Ended = at(45), at(46) })), 60.001, nil, "2 0 0 0 0; 30 2 40 undecided"},
		{"in the grace after a pause that has ended", journal(granted(10), change(series.ActionPause, 1, 11, 10), covers(65, 10, 60), lapse(1, 65, 60)), 75, state(75, one), "0 1 0 0 5"},
		{"and after it", journal(granted(10), change(series.ActionPause, 1, 11, 10), covers(65, 10, 60), lapse(1, 65, 60)), 75.001, state(75.001, one), "1 0 0 0 5; 10 1 65 open"},
		{"no other change has a grace", journal(granted(10), change(series.ActionSkip, 1, 45, 10), line(series.VerdictSkipped, 45, 10, 20), ran(30), ran(40)), 50.001, state(50.001, one), "1 0 0 0 0; 10 1 40 open"},
		{"the clock of the options counts", journal(), 30.001, state(30), "1 0 0 0 0; 10 1 20 undecided"},
		{"unstarted and left", journal(unbegun(ran(10))), 20.006, state(20.006, over(series.Run{Number: at(10), Owner: "a/1", Fence: fence(10), Until: at(10)}, series.RunUnstarted)), "1 0 0 0 0; 10 1 10.005 unstarted"},
		{"not for long", journal(unbegun(ran(10))), 20.005, state(20.005, over(series.Run{Number: at(10), Owner: "a/1", Fence: fence(10), Until: at(10)}, series.RunUnstarted)), "0 1 0 0 0"},
		{"interrupted and left", journal(with(ran(10), func(l *series.Line) { l.Outcome = series.OutcomeInterrupted })), 20.006, state(20.006, over(series.Run{Number: at(10), Owner: "a/1", Fence: fence(10), Until: at(10)}, series.RunGivenBack)), "1 0 0 0 0; 10 1 10.005 interrupted"},
		{"a tick at the end of a pause belongs to it", journal(ran(10)), 60.001, pausedUntil(state(60.001), 30), "1 0 0 0 2; 40 1 50 undecided"},
		{"without a line, from the mark on", series.Journal{Key: "job", Revisions: journal().Revisions}, 40.001, state(40.001), "2 0 0 0 0; 10 2 20 undecided"},
		{"crontabs do not ask for every tick", hasPolicies(journal(ran(10)), crontab), 500, state(500), "0 0 0 0 0"},
		{"nor settle a run before the next", hasPolicies(journal(granted(10)), crontab), 500, state(500, one), "0 1 0 0 0"},
		{"a change of the crontab", series.Journal{Key: "job", Lines: journal(ran(10)).Lines, Revisions: []series.RevisionUse{
			hasPolicies(journal(), crontab).Revisions[0], {Revision: "r", Spec: "5 * * * * *", Zone: "UTC", Policies: crontab, Node: "b", First: at(20), Last: at(30)}}}, 500, state(500), "0 0 0 0 0"},
		{"decided since the journal was read", journal(ran(10)), 100, func() *series.Series { s := state(100); s.Mark = at(80); return s }(), "0 0 0 0 0"},
	} {
		got := verify.Job(c.journal, verify.Options{Now: instant(at(c.now)), State: c.state})
		text := fmt.Sprint(got.Overdue, got.Waiting, got.Running, got.Lost, got.Paused)
		for _, l := range got.Late {
			text += fmt.Sprintf("; %v %d %v %s", seconds(l.Tick), l.Ticks, seconds(l.Since), l.State)
		}
		if text != c.want || got.OK() != (len(got.Late) == 0) || len(got.Violations) > 0 {
			t.Errorf("%s: got %s, want %s, violations %v", c.name, text, c.want, got.Violations)
		}
	}
}

// A run that was left is overdue, however old its tick is. It is named, and the counts agree with
// the list, even if the journal does not reach back to it, or Options.Since is later. A run that
// was left in a pause is lost with its tick, and counted with it.
func TestLeftBeforeTheWindow(t *testing.T) {
	left := series.Run{Number: at(10), State: series.RunOpen, Owner: "a/1", Fence: fence(10), Attempt: 1, Granted: at(10), Until: at(40)}
	whole := journal(granted(10), ran(20), ran(30), ran(40))
	cut := whole
	cut.Lines, cut.Truncated = cut.Lines[2:], true
	for _, c := range []struct {
		name    string
		journal series.Journal
		since   float64
		now     float64
		paused  bool
		want    string // due, once, running, overdue, lost
	}{
		{"in the window", whole, 10, 50.001, false, "4 3 0 1 0"},
		{"before it", whole, 10.001, 50.001, false, "4 3 0 1 0"},
		{"long before it", whole, 35, 50.001, false, "2 1 0 1 0"},
		{"before the kept lines", cut, 0, 50.001, false, "4 3 0 1 0"},
		{"not for long", whole, 10.001, 50, false, "3 3 0 0 0"},
		{"nor before the kept lines", cut, 0, 50, false, "3 3 0 0 0"},
		{"in a pause", whole, 10.001, 50.001, true, "4 3 0 0 0"},
	} {
		s := state(c.now, left)
		s.Mark, s.Paused = at(40), c.paused
		o := verify.Options{State: s}
		if c.since > 0 {
			o.Since = instant(at(c.since))
		}
		judge := verify.NewJudge(c.journal, o)
		r := judge.Report()
		if state, _ := judge.Tick(instant(at(10))); (state == verify.TickOverdue) != (r.Overdue == 1) {
			t.Errorf("%s: judged %s", c.name, state)
		}
		if len(r.Late) == 1 && (r.Late[0].Node != "a" || r.Late[0].Fence != left.Fence) {
			t.Errorf("%s: late %+v", c.name, r.Late)
		}
		if got := fmt.Sprint(r.Due, r.Once, r.Running, r.Overdue, r.Lost); got != c.want || len(r.Late) != r.Overdue || len(r.Violations) > 0 {
			t.Errorf("%s: got %s, want %s; late %+v, violations %v", c.name, got, c.want, r.Late, r.Violations)
		}
		if sum := verify.Sum(r, r); sum.Total.Overdue != 2*r.Overdue || sum.Sound() != (r.Overdue == 0) {
			t.Errorf("%s: the total is %+v", c.name, sum.Total)
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()-epoch) / 1000 }

func state(now float64, runs ...series.Run) *series.Series {
	return &series.Series{Key: "job", Now: at(now), Mark: epoch, Runs: runs}
}

func paused(s *series.Series) *series.Series {
	s.Paused = true
	return s
}

func pausedUntil(s *series.Series, seconds float64) *series.Series {
	s.Pause.Until = at(seconds)
	return paused(s)
}

// A run that the store has and the journal does not is judged as alive.
func TestAliveWithoutALine(t *testing.T) {
	s := state(30, series.Run{Number: at(10), State: series.RunOpen, Owner: "a/1", Fence: fence(10), Attempt: 1, Granted: at(10), Until: at(40)})
	if got, _ := verify.NewJudge(cut(journal()), verify.Options{State: s}).Tick(instant(at(10))); got != verify.TickRunning {
		t.Errorf("got %s", got)
	}
}

// Of two specs in force, each has its overdue ticks, and those that wait for a run that is alive. They are
// one list from the first to the last.
func TestOverdueOfTwoSpecs(t *testing.T) {
	j := journal(granted(10))
	j.Revisions = []series.RevisionUse{sighting(everyTen, 0, 45), sighting("5/10 * * * * *", 0, 45)}
	run := series.Run{Number: at(10), State: series.RunOpen, Owner: "a/1", Fence: fence(10), Attempt: 1, Granted: at(10), Until: at(60)}
	late := run
	late.Granted = at(19)
	for name, c := range map[string]struct {
		run  series.Run
		want string // waiting, overdue, the first and the last of these, and since when
	}{
		"none waits":      {run, "0 2 15 20 25"},
		"the first waits": {late, "1 1 20 0 30"},
	} {
		r := verify.Job(j, verify.Options{State: state(44.9, c.run)})
		last := 0.0
		if !r.Late[0].Last.IsZero() {
			last = seconds(r.Late[0].Last)
		}
		if got := fmt.Sprint(r.Waiting, r.Overdue, " ", seconds(r.Late[0].Tick), " ", last, " ", seconds(r.Late[0].Since)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Without the state a run without an end counts as alive. Of several runs the one that was granted
// last counts, in any order.
func TestTheLatestGrantCounts(t *testing.T) {
	j := journal(granted(10), line(series.VerdictRan, 45, 10, 20))
	for range 50 {
		if r := verify.Job(j, verify.Options{Now: instant(at(65))}); r.Waiting != 2 || r.Overdue != 0 {
			t.Fatalf("%d ticks wait and %d are overdue, want the two from before the latest grant to wait", r.Waiting, r.Overdue)
		}
	}
}

// Only the spec in force has overdue ticks, and an outage belongs to the spec before it.
func TestSpecInForce(t *testing.T) {
	const other = "5/10 * * * * *"
	for _, c := range []struct {
		name     string
		old, new series.RevisionUse
		lines    []series.Line
		alive    string // the names of the live nodes
		want     string // overdue, passed over, the first one
	}{
		{"a deployment is over", sighting(everyTen, 0, 12), sighting(other, 12, 13), nil, "", "2 0 15"},
		{"a line is a sighting", sighting(everyTen, 0, 19.9), sighting(other, 12, 13), []series.Line{with(line(series.VerdictMissed, 41, 10, 15), func(l *series.Line) { l.Revision = other })}, "", "1 0 25"},
		{"nodes were down when the spec changed", sighting(everyTen, 0, 12), sighting(other, 34, 41), []series.Line{with(line(series.VerdictMissed, 41, 10, 35), func(l *series.Line) { l.Revision = other })}, "", "0 2 0"},
		{"a deployment was taken back", sighting(everyTen, 0, 12), node(sighting(other, 12, 13), "canary"), nil, "a", "1 0 20"},
		{"a deployment goes on", sighting(everyTen, 0, 12), node(sighting(other, 12, 13), "b"), nil, "ab", "2 0 15"},
		{"the node with the first spec was seen last", sighting(everyTen, 0, 14), node(sighting(other, 12, 13), "b"), nil, "ab", "1 0 20"},
		{"and both have died", sighting(everyTen, 0, 12), node(sighting(other, 12, 13), "canary"), nil, "z", "2 0 15"},
	} {
		j := journal(append([]series.Line{ran(10)}, c.lines...)...)
		j.Revisions = []series.RevisionUse{c.old, c.new}
		got := verify.Job(j, verify.Options{Now: instant(at(45.5)), Alive: func(n string) bool { return strings.Contains(c.alive, n) }})
		first := 0.0
		if len(got.Late) > 0 {
			first = seconds(got.Late[0].Tick)
		}
		if text := fmt.Sprint(got.Overdue, " ", got.PassedOver, " ", first); text != c.want || len(got.Violations) > 0 {
			t.Errorf("%s: got %s, want %s: %+v", c.name, text, c.want, got)
		}
	}
}

func node(s series.RevisionUse, name string) series.RevisionUse {
	s.Node = name
	return s
}

// A line that cannot be read is reported, the ticks that it may have decided are unknown, and all
// others are proven.
func TestUnreadableLines(t *testing.T) {
	bad := series.Line{Verdict: series.VerdictUnreadable, Error: `"\x00"`}
	for _, c := range []struct {
		name    string
		journal series.Journal
		unknown int
		want    []string
	}{
		{"in the middle", journal(ran(10), bad, ran(30)), 1, nil},
		{"it moved no mark", journal(ran(10), bad, ran(20)), 0, nil},
		{"it was the end of a run", journal(granted(10), bad, ran(20)), 1, nil},
		{"it was a grant", journal(ran(10), bad, word(series.VerdictEnded, 25, granted(20), "ok"), ran(30)), 0, nil},
		{"at the beginning", series.Journal{Key: "job", Lines: []series.Line{bad, ran(20), ran(30)}, Revisions: []series.RevisionUse{sighting(everyTen, 0, 0)}}, 0, nil},
		{"what is broken elsewhere is found", journal(ran(10), bad, ran(30), ran(50)), 1, []string{"I4"}},
		{"a fence that falls across it", journal(ran(10), bad, with(ran(30), func(l *series.Line) { l.Fence = fence(5) })), 1, []string{"I2"}},
		{"a tick from before the opening", journal(ran(10), bad, ran(20), word(series.VerdictEnded, 25, granted(-10), "ok")), 0, []string{"I1"}},
		{"a spec that cannot be read", func() series.Journal { j := journal(ran(10)); j.Faults = []string{`"x"`}; return j }(), 0, nil},
	} {
		got := verify.Job(c.journal, verify.Options{})
		var broken []string
		for _, v := range got.Violations {
			broken = append(broken, v.Invariant)
		}
		if len(got.Faults) != 1 || got.OK() || got.Unknown != c.unknown || fmt.Sprint(broken) != fmt.Sprint(c.want) {
			t.Errorf("%s: unknown %d, faults %q, violations %v", c.name, got.Unknown, got.Faults, got.Violations)
		}
		if got.Sound() != (len(c.want) == 0) {
			t.Errorf("%s: sound is %v", c.name, got.Sound())
		}
	}
}

// The mark in the state shows how far the lines that cannot be read may have decided.
func TestUnreadableLinesAtTheEnd(t *testing.T) {
	s := state(70.001)
	s.Mark = at(40)
	j := journal(ran(10), series.UnreadableLine("x"))
	if got := verify.Job(j, verify.Options{State: s}); got.Unknown != 3 || got.Overdue != 1 || got.Due != 5 {
		t.Errorf("got %+v", got)
	}
}

// A job whose spec is not on record is at fault only if the store has decided ticks of it: one that no
// node has opened yet has no spec.
func TestNoSpecOnRecord(t *testing.T) {
	opened, unopened := state(60), state(60)
	opened.Mark, unopened.Mark = at(10), 0
	for s, faults := range map[*series.Series]int{opened: 1, unopened: 0} {
		if got := verify.Job(series.Journal{Key: "job"}, verify.Options{State: s}); len(got.Faults) != faults {
			t.Errorf("with the mark %d: faults %q, want %d", s.Mark, got.Faults, faults)
		}
	}
}

// A forged beginning does not make the work endless.
func TestForgedBeginIsBounded(t *testing.T) {
	const every = "* * * * * *"
	forged := journal()
	forged.Revisions = []series.RevisionUse{sighting(every, 0, 0)}
	forged.Revisions[0].First = 0
	forged.Lines[0] = series.Line{At: at(0), Verdict: series.VerdictOpened, Revision: every}
	old := forged
	old.Lines = []series.Line{{At: at(0), Verdict: series.VerdictMissed, From: 0, To: at(0), Between: series.VerdictMissed, Revision: every}}
	for name, j := range map[string]series.Journal{"an opening": forged, "a line": old} {
		began := time.Now()
		got := verify.Job(j, verify.Options{Now: instant(at(1))})
		if took := time.Since(began); took > 30*time.Second || got.OK() {
			t.Errorf("%s of 1970: took %v, ok %v", name, took, got.OK())
		}
	}
}

// The opening of a series whose ticks crontab commands claim may be from right before the first
// tick; no other opening may.
func TestBeginsBeforeItIsOpened(t *testing.T) {
	for _, c := range []struct {
		policies string
		begin    float64
		ok       bool
	}{
		{"overlap:skip/callers:crontab", 9.999, true},
		{"overlap:skip/callers:crontab", 9.998, false},
		{"overlap:skip/callers:crontab", 10, false},
		{"overlap:skip", 9.999, false},
	} {
		opened := line(series.VerdictOpened, 12, c.begin, c.begin)
		first := with(line(series.VerdictRan, 12, c.begin, 10), func(l *series.Line) { l.Outcome, l.Ended = series.OutcomeOK, at(13) })
		lines := []series.Line{opened}
		if c.begin < 10 {
			lines = append(lines, first)
		}
		use := sighting(everyTen, c.begin, 12)
		use.Policies = c.policies
		got := verify.Job(series.Journal{Key: "job", Lines: lines, Revisions: []series.RevisionUse{use}}, verify.Options{Now: instant(at(15))})
		if got.OK() != c.ok || c.ok && got.Once != 1 {
			t.Errorf("%q from %v on: once %d, %v", c.policies, c.begin, got.Once, got.Violations)
		}
	}
}
