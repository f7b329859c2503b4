package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
)

// The sentence counts the jobs that are not retired, and the problems that no operator has requested.
func TestSentence(t *testing.T) {
	now := utc(1_800_000_000_000)
	nodes := NewNodeList(series.MemberList{Now: now.UnixMilli(), Members: []series.Member{{Node: "n", Until: now.UnixMilli() + 1}}}, nil)
	for want, states := range map[string][]State{
		"The job is decided; 1 node.":           {OK, Retired},
		"All 2 jobs decided; 1 node; 1 paused.": {OK, Retired, Paused},
		"1 thing needs a person, of 2 jobs.":    {Failing, Paused, Retired},
		"2 things need a person, of 3 jobs.":    {Failing, Lost, Paused},
	} {
		s := &Snapshot{AsOf: now, Read: time.Now(), Nodes: nodes}
		for i, state := range states {
			j := &Job{Name: string(rune('a' + i)), State: state, Series: series.Series{Now: now.UnixMilli(), Mark: 1}}
			if state == Failing || state == Lost {
				j.Runs = []Run{{Tick: InstantOf(now), State: state}}
			}
			s.Jobs = append(s.Jobs, j)
		}
		if got := s.Status().Sentence; got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	}
}

// A tick that was lost requires a person until three later ones have ended ok, or for a day; the
// next success clears a failure. A run that was replaced or cancelled neither is a failure nor clears one. If the lines do not reach back far enough, the text has the time
// since when the job fails at least.
func TestLostStays(t *testing.T) {
	run := func(s State, ago time.Duration) Run {
		at := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC).Add(-ago)
		return Run{Tick: InstantOf(at), Recorded: InstantOf(at), State: s, Outcome: "failed", Node: "a"}
	}
	ordered := func(outcome string, ago time.Duration) Run { // by the policy of the job, or by an operator
		r := run(Failing, ago)
		r.Outcome = outcome
		return r
	}
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	whole, cut := []series.Line{{Verdict: series.VerdictOpened}}, []series.Line{{Verdict: series.VerdictRan, At: 1}}
	for _, c := range []struct {
		runs  []Run // the newest first
		lines []series.Line
		state State
		text  string // in the need
	}{
		{[]Run{run(OK, 1)}, whole, OK, ""},
		{[]Run{run(Lost, 1)}, whole, Lost, "is lost with a"},
		{[]Run{run(OK, 1), run(Skipped, 2), run(OK, 3), run(Lost, 4)}, whole, Lost, "later ones ended ok: it is listed until 3 have, or for 24 hours"},
		{[]Run{run(OK, 1), run(OK, 2), run(OK, 3), run(Lost, 4)}, whole, OK, ""},
		{[]Run{run(OK, 1), run(Missed, 24*time.Hour-time.Millisecond)}, whole, Missed, "later ones ended ok"},
		{[]Run{run(OK, 1), run(Missed, 24*time.Hour)}, whole, OK, ""},
		{[]Run{run(Missed, 25*time.Hour)}, whole, Missed, "was missed"},
		{[]Run{run(OK, 1), run(Failing, 2)}, whole, OK, ""},
		{[]Run{run(OK, 1), run(Failing, 2), run(Lost, 3)}, whole, Lost, "later ones ended ok"},
		{[]Run{run(Failing, time.Second), run(Failing, time.Minute), run(OK, time.Hour)}, cut, Failing, "not ok since 07:59:00 (2 ticks)"},
		{[]Run{run(Failing, time.Second), run(Skipped, time.Minute), run(Failing, 2*time.Minute), run(OK, time.Hour)}, whole, Failing, "not ok since 07:58:00 (2 ticks)"},
		{[]Run{run(Failing, time.Second), run(Failing, time.Minute)}, whole, Failing, "not ok since 07:59:00 (2 ticks)"},
		{[]Run{run(Failing, time.Second), run(Lost, time.Minute), run(Missed, 2*time.Minute), run(OK, time.Hour)}, whole, Failing, "not ok since 07:58:00 (3 ticks)"},
		{[]Run{run(Failing, time.Second), run(Failing, time.Minute)}, cut, Failing, "not ok since 07:59:00 at least (2 ticks or more)"},
		{[]Run{ordered("replaced", 1), ordered("cancelled", 2)}, whole, OK, ""},
		{[]Run{ordered("replaced", 1), run(Failing, time.Second), run(Failing, time.Minute)}, whole, Failing, "not ok since 07:59:00 (2 ticks)"},
		{[]Run{run(Failing, time.Minute)}, cut, Failing, "not ok since 07:59:00 at least (1 tick or more)"},
	} {
		j := &Job{Name: "a", Runs: c.runs, Journal: series.Journal{Lines: c.lines}, Series: series.Series{Now: now.UnixMilli()}}
		j.State = j.word()
		n, _ := j.need(now)
		if j.State != c.state || !strings.Contains(n.Text, c.text) || c.text == "" && n.Text != "" || c.state == Lost && n.cause != "a" {
			t.Errorf("%v: %s, %q; want %s, %q", c.runs, j.State, n.Text, c.state, c.text)
		}
	}
	for state, want := range map[State]State{Missed: OK, Lost: Lost, Failing: Failing} { // a crontab command need not claim each tick
		if j := (&Job{Runs: []Run{run(state, 1)}, Policies: policy.Record{Crontab: true}}); j.word() != want {
			t.Errorf("of crontab commands, and %s: %s", state, j.word())
		}
	}
}
