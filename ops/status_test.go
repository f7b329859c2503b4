package ops

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/verify"
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

// The need of each state names the tick, the next step, and the cause that it shares with those of other jobs. One that cannot be
// read now says as of when it is.
func TestNeeds(t *testing.T) {
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	tick := now.Add(-time.Minute)
	late := verify.Overdue{Tick: tick, Last: tick, Ticks: 1, Since: tick.Add(20 * time.Second)}
	several := late
	several.Ticks, several.Last = 3, now
	bad := func(state State, outcome, text, reason string) []Run {
		return []Run{{Tick: InstantOf(tick), Recorded: InstantOf(tick), State: state, Outcome: outcome, Error: text, Reason: reason, Node: "a"}}
	}
	silent := series.Series{Now: now.Add(-time.Minute).UnixMilli(), Err: errSilent}
	whole := series.Journal{Lines: []series.Line{{Verdict: series.VerdictOpened}}}
	const why = "cronce why j 2027-01-15T07:59:00Z"
	for _, c := range []struct {
		job  Job
		want Need
	}{
		{Job{State: Unknown, Fault: "its journal is gone", Series: silent}, Need{Text: "Not known: its journal is gone", Next: "cronce verify --job j", cause: "its journal is gone"}},
		{Job{State: Overdue, Overdue: []OverdueTick{{"j", late, 40_000, "no node lives", false}}},
			Need{Tick: tick, Text: "The tick of 07:59:00 was due and has no verdict; its time was over 40 s ago: no node lives", Next: "cronce status overdue --job j", cause: "no node lives"}},
		{Job{State: Overdue, Overdue: []OverdueTick{{"j", several, 40_000, "no node lives", false}}, Series: silent},
			Need{Tick: tick, Text: "3 ticks since 07:59:00 were due and have no verdict; the time of the first was over 40 s ago: no node lives (as of 07:59:00: the job cannot be read now)",
				Next: "cronce status overdue --job j", cause: "no node lives"}},
		{Job{State: Failing, Runs: bad(Failing, "failed", "no disk", "")}, Need{Tick: tick, Text: "The tick of 07:59:00 ended as failed on a: no disk", Next: why, cause: "failedno disk"}},
		{Job{State: Failing, Runs: bad(Failing, "timeout", "", "")}, Need{Tick: tick, Text: "The tick of 07:59:00 ended as timeout on a", Next: why, cause: "timeout"}},
		{Job{State: Missed, Runs: bad(Missed, "", "", "deadline")}, Need{Tick: tick, Text: "The tick of 07:59:00 was missed (deadline)", Next: why, cause: "deadline"}},
		{Job{State: Paused, Series: series.Series{Pause: series.Pause{Who: "ann", Since: tick.UnixMilli(), Until: now.Add(24 * time.Hour).UnixMilli(), Reason: "night"}}},
			Need{Text: "Paused by ann since 07:59:00: night; nothing starts until 2027-01-16 08:00:00", Next: "cronce resume j", cause: "ann\x00night"}},
		{Job{State: Paused}, Need{Text: "Paused; nothing starts until it is resumed", Next: "cronce resume j", cause: "\x00"}},
	} {
		c.job.Name, c.want.Job, c.want.State = "j", "j", c.job.State
		c.job.Journal = whole
		if got, ok := c.job.need(now); !ok || got != c.want {
			t.Errorf("%+v\nwant %+v", got, c.want)
		}
	}
}

// A snapshot ages by its reader's clock, and lists the newest verdict, and the overdue ticks from the oldest on. One that was never read has no time.
func TestSnapshotOfSeveralJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := utc(1_800_000_000_000)
		late := func(since int64) []OverdueTick { return []OverdueTick{{Overdue: verify.Overdue{Since: utc(since)}}} }
		s := &Snapshot{AsOf: at, Read: time.Now(), Nodes: &NodeList{}, Jobs: []*Job{{Name: "a"}, {Name: "b", Runs: []Run{{Recorded: 5}}, Overdue: late(9)}, {Name: "c", Runs: []Run{{Recorded: 7}}, Overdue: late(5)}, {Name: "d", Runs: []Run{{Recorded: 6}}}}}
		time.Sleep(1500 * time.Millisecond)
		if st := s.Status(); st.LagMs != 1500 || !st.AsOf.Equal(at) || !s.Now().Equal(at.Add(1500*time.Millisecond)) || !s.Known() {
			t.Errorf("as of %v, %d ms ago, now %v", st.AsOf, st.LagMs, s.Now())
		}
		if newest := s.Newest(); newest.Recorded != 7 {
			t.Errorf("the newest verdict is %+v", newest)
		}
		if all := s.Overdue(); len(all) != 2 || all[0].Since.After(all[1].Since) {
			t.Errorf("%+v", all)
		}
		if s.Down = "no answer"; s.Known() {
			t.Error("a store that does not answer is known")
		}
		if never := new(Snapshot); !never.Now().IsZero() || never.LagMs() != 0 || never.Known() || never.Newest() != nil {
			t.Errorf("one that was never read is of %v, %d ms ago", never.Now(), never.LagMs())
		}
	})
}

// The worst problem is first, and with no live node that is named before the jobs, unless no job needs one.
func TestWorstNeedIsFirst(t *testing.T) {
	now := utc(1_800_000_000_000)
	job := func(name string, state State) *Job {
		return &Job{Name: name, State: state, Fault: "x", Overdue: []OverdueTick{{}}, Runs: []Run{{State: state}}}
	}
	left := series.Member{Node: "n", Left: now.UnixMilli() - 1}
	for _, c := range []struct {
		members []series.Member
		jobs    []*Job
		want    string
	}{
		{[]series.Member{{Node: "n", Until: now.UnixMilli() + 1}}, []*Job{job("a", Paused), job("b", Failing), job("c", Overdue), job("d", OK), job("e", Unknown)}, "e c b a"},
		{nil, []*Job{job("a", OK), job("b", Unknown)}, "b No node lives: nothing starts."},
		{[]series.Member{left}, []*Job{job("a", OK)}, "No node lives, nothing starts: n left at 2027-01-15T07:59:59Z, to drain."},
		{nil, []*Job{job("a", Paused), job("b", Retired)}, "a"},
	} {
		s := &Snapshot{AsOf: now, Nodes: NewNodeList(series.MemberList{Now: now.UnixMilli(), Members: c.members}, nil), Jobs: c.jobs}
		var got []string
		for _, n := range s.needs() {
			if n.Job == "" {
				n.Job = n.Text
			}
			got = append(got, n.Job)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}

// An overdue tick says how it stands. Several are one line.
func TestOverdueInWords(t *testing.T) {
	tick := utc(1_800_000_000_000)
	for state, want := range map[string]string{
		"undecided":   "was due and has no verdict",
		"open":        "was granted to a with fence 7, its lease is over, and no node has settled it or taken it over",
		"waiting":     "waits, and no run is alive that it waits for",
		"unstarted":   "was granted to a and never started, and no node has taken it",
		"interrupted": "was given back by a, and no node has taken it",
	} {
		l := OverdueTick{Job: "j", AgeMs: 61_400, Cause: "no node lives", Overdue: verify.Overdue{Tick: tick, Ticks: 1, State: state, Node: "a", Fence: 7}}
		if got := l.String(); got != "j: OVERDUE 2027-01-15T08:00:00.000Z "+want+"; its time was over 1m1s ago; no node lives" {
			t.Errorf("%s: %s", state, got)
		}
	}
	l := OverdueTick{Job: "j", Overdue: verify.Overdue{Tick: tick, Last: tick.Add(time.Minute), Ticks: 3}}
	if got := l.String(); !strings.HasPrefix(got, "j: OVERDUE 2027-01-15T08:00:00.000Z, and 2 more up to 2027-01-15T08:01:00.000Z, was due") {
		t.Error(got)
	}
	if l = (OverdueTick{Overdue: verify.Overdue{Tick: tick.Add(417 * time.Millisecond), State: "waiting"}}); l.Stands() != "waits, and no node has started or settled it" {
		t.Errorf("a manual run %s", l.Stands())
	}
}
