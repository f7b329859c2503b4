package verify_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// All readers agree on each tick of a random history: the counts, by arithmetic and by lines, the
// list of overdue ticks, the judge, the explanations, and the list of runs. They also agree if the
// journal was cut, back to its beginning.
func TestReadersAgree(t *testing.T) {
	for name, specs := range map[string][]string{
		"even":      {everyTen},
		"with gaps": {"0/10 0-1,4,9-10,30 * * * *"},
		"two specs": {everyTen, "0/4 0-2,5 * * * *"},
	} {
		t.Run(name, func(t *testing.T) {
			rig.Random(t, seed, rounds, func(r *rand.Rand) {
				p := draw(r, specs...)
				policies := rig.OneOf(r, "", "overlap:allow", "overlap:queue/jitter:3s", "overlap:skip/misfire:all", "overlap:allow/misfire:all/jitter:1s",
					"misfire:all/deadline:7s", "misfire:skip", "deadline:25s")
				for i := range p.sightings {
					p.sightings[i].Policies = policies
				}
				p.now += rig.OneOf[int64](r, 0, 9, 9_990, 12_000, 20_000, 77_000, 3_000_000)
				j := p.journal()
				s := p.state.Series(p.us(), "job")
				if quiet := verify.NewJudge(j, verify.Options{State: &s, Audit: p.audit}).QuietUntil(); s.Now < quiet {
					later := s
					later.Now += r.Int64N(min(quiet-s.Now, 1_000_000))
					if late := verify.Job(j, verify.Options{State: &later, Audit: p.audit}).Late; len(late) > 0 {
						t.Fatalf("quiet until %v, and at %v overdue: %+v", seconds(instant(quiet)), seconds(instant(later.Now)), late)
					}
				}
				cut := r.IntN(len(j.Lines) + 1)
				for i := range j.Lines { // from the end of a pause on, runs have time to be decided: its line is kept that long
					if j.Lines[i].Reason == string(series.ActionLapse) {
						cut = min(cut, i)
					}
				}
				removed := rig.OneOf(r, false, false, true)
				whole := agree(t, j, s, p.audit, removed)
				j.Lines, j.Truncated = j.Lines[cut:], true
				if late := agree(t, j, s, p.audit, removed); len(j.Lines) > 0 && !reflect.DeepEqual(late, whole) {
					t.Fatalf("overdue by the whole journal: %+v\nwithout %d lines: %+v", whole, cut, late)
				}
			})
		})
	}
}

// agree compares the readers of one journal. It returns the overdue ticks.
func agree(t *testing.T, j series.Journal, s series.Series, audit []series.AuditRecord, removed bool) []verify.Overdue {
	judge := verify.NewJudge(j, verify.Options{State: &s, Audit: audit, Removed: removed})
	r := judge.Report()
	if removed && len(r.Late)+r.Overdue > 0 {
		t.Errorf("%d ticks of a removed job are overdue: %+v", r.Overdue, r.Late)
	}
	runs := map[int64]ops.State{}
	var ticks, manual []int64
	for _, run := range ops.Runs("x", &j, &s) {
		runs[int64(run.Tick)] = run.State
		if run.Manual {
			manual = append(manual, int64(run.Tick))
		}
		if state, _ := judge.Tick(run.Tick.Time()); state == verify.NotATick {
			t.Errorf("%v: listed as %s, and not a tick", seconds(run.Tick.Time()), run.State)
		}
	}
	late, left := map[int64]bool{}, map[int64]bool{}
	for _, o := range r.Late {
		if o.State != "undecided" {
			left[o.Tick.UnixMilli()] = true
		}
	}
	for ms := epoch - 2000; ms <= s.Now+2000; ms += 1000 {
		ticks = append(ticks, ms)
	}
	tally, byHand := map[verify.TickState]int{}, map[string]int{}
	for _, ms := range slices.Concat(ticks, manual) {
		tick := time.UnixMilli(ms)
		state, line := judge.Tick(tick)
		late[ms] = state == verify.TickOverdue
		switch counts := tick.After(r.Begins) && ms <= s.Now; {
		case counts && spec.Manual(ms):
			byHand[string(state)]++
		case counts || state == verify.TickOverdue && !spec.Manual(ms):
			tally[state]++
		}
		if (state == verify.NotATick || state == verify.TickOverdue && !left[ms]) && (ms/1000)%23 > 0 {
			continue // there are many, and each explanation reads the journal again
		}
		a := why.Explain(why.Question{Tick: tick, Journal: j, State: s, Audit: audit, Removed: removed})
		want := state
		if want == verify.TickPassedOver {
			want = why.Missed
		}
		if a.State != want || a.Sentence == "" {
			t.Errorf("%v: judged as %s, explained as %s: %s", seconds(tick), state, a.State, a.Sentence)
		}
		if run, listed := runs[ms]; listed && run != runState(state) {
			t.Errorf("%v: judged as %s, listed as %s: %s", seconds(tick), state, run, a.Sentence)
		}
		if line != nil && (ms <= line.From || ms > line.To) {
			t.Errorf("%v: the line %+v does not cover it", seconds(tick), line)
		}
	}
	for ms := range left {
		if !late[ms] {
			t.Errorf("%v is listed as left, and not judged so", seconds(instant(ms)))
		}
	}
	overdue := 0
	for _, o := range r.Late {
		if spec.Manual(o.Tick.UnixMilli()) {
			continue
		}
		overdue += o.Ticks
		if o.State == "undecided" {
			first, last, n := int64(0), int64(0), 0
			for ms := epoch; ms <= s.Now; ms += 1000 {
				if late[ms] && !left[ms] {
					if n++; n == 1 {
						first = ms
					}
					last = ms
				}
			}
			if n == 1 {
				last = o.Tick.UnixMilli()
			}
			if end := o.Last; n != o.Ticks || first != o.Tick.UnixMilli() || !(n == 1 && end.IsZero() || end.UnixMilli() == last) {
				t.Errorf("listed as overdue: %+v; judged so: %d from %d to %d", o, n, first, last)
			}
		}
	}
	got := fmt.Sprint("ran ", r.Once+r.Again, " running ", r.Running, " waiting ", r.Waiting, " skipped ", sum(r.Skipped), " superseded ", r.Superseded,
		" missed ", sum(r.Missed), " paused ", r.Paused, " lost ", r.Lost, " passed over ", r.PassedOver, " overdue ", r.Overdue, " ", overdue, " manual ", r.Manual)
	want := fmt.Sprint("ran ", tally[why.Ran]+tally[why.Failed], " running ", tally[why.Running], " waiting ", tally[why.Waiting], " skipped ", tally[why.Skipped], " superseded ", tally[why.Superseded],
		" missed ", tally[why.Missed], " paused ", tally[why.Paused], " lost ", tally[why.Lost], " passed over ", tally[verify.TickPassedOver], " overdue ", tally[why.Overdue], " ", tally[why.Overdue], " manual ", byHand)
	if got != want {
		t.Errorf("counted: %s\njudged:  %s", got, want)
	}
	if t.Failed() {
		t.Fatalf("now %v, mark %v, state %+v\nbegins %v, journal %+v", seconds(instant(s.Now)), seconds(instant(s.Mark)), s, seconds(r.Begins), j)
	}
	return r.Late
}

// runState returns the state of a run in lists for a state of a tick.
func runState(s verify.TickState) ops.State {
	switch s {
	case why.Ran:
		return ops.OK
	case why.Failed:
		return ops.Failing
	case why.Overdue: // of a run that was left
		return ops.Waiting
	}
	return ops.State(s)
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// The cost of judging an outage does not depend on its length.
func TestOverdueByArithmetic(t *testing.T) {
	for _, c := range []struct {
		spec, policies string
		dead           time.Duration
		ticks          int
	}{
		{"* * * * * *", "", time.Hour, 3600 - 12},
		{"* * * * * *", "", 24 * time.Hour, 86_400 - 12},
		{"* * * * * *", "", 90 * 24 * time.Hour, 90*86_400 - 12},
		{"* * * * * *", "misfire:all", 24 * time.Hour, 86_400 - 21},
		{"* * * * * *", "deadline:1m", 24 * time.Hour, 86_400 - 71},
		{"@every 1s", "", 200 * 24 * time.Hour, 200*86_400 - 12},      // counted by division, however many there are
		{"* 9-17 * * * *", "misfire:all", 24 * time.Hour, 24*540 - 8}, // the last tick before each gap has ten times that
		{"* 9-17 * * * *", "", 24 * time.Hour, 24*540 - 1},
	} {
		now := epoch + c.dead.Milliseconds()
		j := series.Journal{Key: "job", Revisions: []series.RevisionUse{{Revision: "r", Spec: c.spec, Zone: "UTC", Policies: c.policies, First: epoch, Last: epoch}}}
		judge := verify.NewJudge(j, verify.Options{State: &series.Series{Key: "job", Now: now, Mark: epoch}})
		r := judge.Report()
		if r.Overdue != c.ticks || len(r.Faults) > 0 {
			t.Errorf("%s, %s, dead for %v: %d overdue, want %d; %v", c.spec, c.policies, c.dead, r.Overdue, c.ticks, r.Faults)
		}
		if looks := judge.Looks(); looks > 250 {
			t.Errorf("%s, %s, dead for %v: %d ticks were looked at", c.spec, c.policies, c.dead, looks)
		}
	}
}

// A run that is over in a pause waits for the end of the pause, and then runs again. It is overdue
// once it was left for longer than the grace after that.
func TestLeftInAPause(t *testing.T) {
	p := policy{rerun: true, deadline: time.Hour}
	for _, how := range []string{"given back", "died"} {
		for _, until := range []int64{0, at(60)} {
			s := opened()
			s.now = at(10)
			g := s.ask(p, s.now)
			s.now = at(11)
			s.change(series.ActionPause, until)
			if how == "given back" {
				s.end(g, series.RunGivenBack, "")
			}
			stands := func(seconds float64) string {
				s.now = at(seconds)
				s.open(everyTen)
				state := s.state.Series(s.us(), "job")
				judge := verify.NewJudge(s.journal(), verify.Options{State: &state, Audit: s.audit})
				word, _ := judge.Tick(instant(at(10)))
				r := judge.Report()
				return fmt.Sprint(word, " ", r.Waiting, r.Lost, len(r.Late))
			}
			if got := stands(40); got != "waiting 1 0 0" {
				t.Errorf("%s, in a pause until %d: %s", how, until, got)
			}
			if until == 0 {
				continue
			}
			if got := stands(70); got != "waiting 1 0 0" {
				t.Errorf("%s, at the end of the grace after the pause: %s", how, got)
			}
			if got := stands(70.001); got != "overdue 0 0 1" {
				t.Errorf("%s, after the grace: %s", how, got)
			}
			if got := s.takeOver(p, g.Number, g.Fence).Kind; got != series.KindGranted {
				t.Errorf("%s: not run again after the pause, but %v", how, got)
			}
		}
	}
}
