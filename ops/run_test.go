package ops

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// Each kind of line results in the state that a person expects.
func TestRuns(t *testing.T) {
	const t0 = 1_800_000_000_000
	ran := func(n int64, attempt int) series.Line {
		return series.Line{Verdict: series.VerdictRan, At: t0 + n + 5, From: t0 + n - 1000, To: t0 + n, Node: "a", Attempt: attempt, Fence: n + int64(attempt)}
	}
	ended := func(n int64, outcome string) series.Line {
		return series.Line{Verdict: series.VerdictEnded, At: t0 + n + 105, From: t0 + n, To: t0 + n, Outcome: outcome, Error: "why"}
	}
	other := func(n int64, v series.Verdict) series.Line {
		return series.Line{Verdict: v, At: t0 + n + 1, From: t0 + n - 3000, To: t0 + n, Between: series.VerdictMissed, Revision: "r"}
	}
	open := series.Run{Number: t0, State: series.RunOpen, Until: t0 + 2000}
	over := series.Run{Number: t0, State: series.RunOpen, Until: t0 + 500}
	given := series.Run{Number: t0, State: series.RunGivenBack}
	again := series.Line{Verdict: series.VerdictOpened, At: t0 + 200, From: t0 + 200, To: t0 + 200} // the store had lost the series
	for name, c := range map[string]struct {
		lines []series.Line
		runs  []series.Run
		want  State
		alive bool
	}{
		"ok":               {[]series.Line{ran(0, 1), ended(0, series.OutcomeOK)}, nil, OK, false},
		"failed":           {[]series.Line{ran(0, 1), ended(0, series.OutcomeFailed)}, nil, Failing, false},
		"nothing to do":    {[]series.Line{ran(0, 1), ended(0, series.OutcomeSkipped)}, nil, Skipped, false},
		"panic":            {[]series.Line{ran(0, 1), ended(0, series.OutcomePanic)}, nil, Failing, false},
		"alive":            {[]series.Line{ran(0, 1)}, []series.Run{open}, Running, true},
		"left":             {[]series.Line{ran(0, 1)}, []series.Run{over}, Waiting, false},
		"taken over, ok":   {[]series.Line{ran(0, 1), ran(0, 2), ended(0, series.OutcomeOK)}, nil, OK, false},
		"given back":       {[]series.Line{ran(0, 1), ended(0, series.OutcomeInterrupted)}, []series.Run{given}, Waiting, false},
		"given back twice": {[]series.Line{ran(0, 1), ended(0, series.OutcomeInterrupted), ran(0, 2)}, []series.Run{open}, Running, true},
		"not taken again":  {[]series.Line{ran(0, 1), ended(0, series.OutcomeInterrupted)}, nil, Failing, false},
		"never started":    {[]series.Line{ran(0, 1), ended(0, series.OutcomeUnstarted)}, nil, Waiting, false},
		"a change after":   {[]series.Line{ran(0, 1), ended(0, series.OutcomeOK), {Verdict: series.VerdictControl, At: t0 + 200, From: t0, To: t0}}, nil, OK, false},
		"opened at it":     {[]series.Line{ran(0, 1), ended(0, series.OutcomeOK), {Verdict: series.VerdictOpened, At: t0 + 200, From: t0, To: t0}}, nil, OK, false},
		"lost":             {[]series.Line{ran(0, 1), {Verdict: series.VerdictLost, At: t0 + 9, From: t0, To: t0}}, nil, Lost, false},
		"skipped":          {[]series.Line{other(0, series.VerdictSkipped)}, nil, Skipped, false},
		"missed":           {[]series.Line{other(0, series.VerdictMissed)}, nil, Missed, false},
		"paused":           {[]series.Line{other(0, series.VerdictPaused)}, nil, Paused, false},
		"waiting":          {[]series.Line{other(0, series.VerdictWaiting)}, nil, Waiting, false},
		"waited, and lost": {[]series.Line{other(0, series.VerdictWaiting), again}, nil, Unknown, false},
		"left, and lost":   {[]series.Line{ran(0, 1), ended(0, series.OutcomeUnstarted), again}, nil, Unknown, false},
		"given back, lost": {[]series.Line{ran(0, 1), ended(0, series.OutcomeInterrupted), again}, nil, Failing, false},
		"lost, and ok":     {[]series.Line{ran(0, 1), again, ended(0, series.OutcomeOK)}, nil, OK, false},
		"superseded":       {[]series.Line{other(0, series.VerdictWaiting), {Verdict: series.VerdictSuperseded, At: t0, From: t0, To: t0}}, nil, Superseded, false},
		"an end alone":     {[]series.Line{ended(0, series.OutcomeFailed)}, nil, Failing, false},
		"unreadable lines": {[]series.Line{series.UnreadableLine("x"), ran(0, 1), ended(0, series.OutcomeOK)}, nil, OK, false},
	} {
		all := Runs("shop", &series.Journal{Lines: c.lines}, &series.Series{Key: "job", Now: t0 + 1000, Runs: c.runs})
		if len(all) != 1 || all[0].State != c.want || all[0].Alive() != c.alive || all[0].ID != "shop/job@2027-01-15T08:00:00.000Z" {
			t.Errorf("%s: %+v", name, all)
		}
	}
	all := Runs("shop", &series.Journal{Lines: []series.Line{ran(0, 1), ended(0, series.OutcomeOK), ran(1000, 1)}}, &series.Series{Key: "job"})
	if len(all) != 2 || all[0].Tick <= all[1].Tick || *all[1].LateMs != 5 || *all[1].TookMs != 100 || all[0].TookMs != nil {
		t.Errorf("%+v", all)
	}
}

// Exceptions are listed with the lines, and a line about the tick of an exception goes on with its run.
// The lists say since when each is complete.
func TestRunsOfExceptions(t *testing.T) {
	const t0 = 1_800_000_000_000
	again := series.Line{Verdict: series.VerdictRan, At: t0 + 5, From: t0, To: t0, Node: "b", Attempt: 2, Fence: 7}
	missed := series.Line{Verdict: series.VerdictMissed, At: t0 - 500, From: t0 - 2000, To: t0 - 1000}
	ended := series.Line{Verdict: series.VerdictEnded, At: t0 + 9000, From: t0, To: t0, Attempt: 2, Fence: 7, Outcome: series.OutcomeFailed}
	j := series.Journal{Exceptions: []series.Line{missed, again}, Lines: []series.Line{ended}, Revisions: []series.RevisionUse{{First: t0 - 9000}}}
	all := Runs("shop", &j, &series.Series{Key: "job", Now: t0 + 9999})
	if len(all) != 2 || all[0].State != Failing || all[0].LateMs != nil || all[0].Node != "b" || all[0].Attempt != 2 || all[1].State != Missed {
		t.Errorf("%+v", all)
	}
	for _, c := range []struct{ since, want int64 }{{0, t0 - 9000}, {t0 - 600, t0 - 600}} {
		j.ExceptionsSince = c.since
		if from, exceptions := Searched(&j), SearchedExceptions(&j); from.UnixMilli() != t0+9000 || exceptions.UnixMilli() != c.want {
			t.Errorf("since %d: complete from %v, exceptions from %v", c.since, from, exceptions)
		}
	}
	if j.Lines[0].Verdict = series.VerdictOpened; Searched(&j).IsZero() {
		t.Error("a journal that begins anew behind exceptions is whole")
	}
	j.Exceptions = nil
	if from := SearchedExceptions(&j); !from.IsZero() {
		t.Errorf("a whole journal has its exceptions from %v on", from)
	}
}

// A node is selected by the beginning of its name.
func TestRunsOfANode(t *testing.T) {
	for node, want := range map[string]bool{"": true, "web": true, "web-1": true, "web-10": false, "1": false} {
		if f := (RunFilter{Node: node}); f.Lets(&Run{Node: "web-1"}) != want {
			t.Errorf("%q: %v", node, !want)
		}
	}
}

// A range is selected by the state of its ticks.
func TestRangesByState(t *testing.T) {
	r := Run{Tick: 5000, From: 1000, State: OK, Verdict: "ran", Outcome: "ok", Between: "missed"}
	for state, want := range map[State]bool{OK: true, Missed: true, Skipped: false} {
		if f := (RunFilter{State: string(state)}); f.Lets(&r) != want {
			t.Errorf("%s: %v", state, !want)
		}
	}
}

// The ticks of a range count one by one, from the instant on.
func TestTally(t *testing.T) {
	schedule, err := spec.Parse("@every 1s", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	runs := []Run{
		{Tick: InstantOf(begin.Add(20 * time.Second)), State: OK},
		{Tick: InstantOf(begin.Add(15 * time.Second)), From: InstantOf(begin), State: Skipped, Verdict: "skipped", Between: "missed"},
		{Tick: InstantOf(begin.Add(-time.Second)), State: Lost},
	}
	for _, c := range []struct {
		schedule *spec.Schedule
		from     time.Duration
		want     map[State]int
	}{
		{schedule, 0, map[State]int{OK: 1, Skipped: 1, Missed: 14}},
		{schedule, 10 * time.Second, map[State]int{OK: 1, Skipped: 1, Missed: 5}},
		{schedule, 16 * time.Second, map[State]int{OK: 1}},
		{nil, 0, map[State]int{OK: 1, Skipped: 1}},
	} {
		counts := map[State]int{}
		Tally(counts, runs, c.schedule, begin.Add(c.from))
		if !maps.Equal(counts, c.want) {
			t.Errorf("from %v on, with a schedule %v: %v, want %v", c.from, c.schedule != nil, counts, c.want)
		}
	}
}

// The end of a pause is listed as the latest tick in it, and not at all without one.
func TestRunsOfAPause(t *testing.T) {
	const t0 = 1_800_000_000_000
	j := series.Journal{Revisions: []series.RevisionUse{{Revision: "r", Spec: "@hourly", Zone: "UTC", First: t0 - 1, Last: t0}}}
	for through, want := range map[time.Duration]time.Duration{time.Hour - time.Millisecond: 0, time.Hour: time.Hour, 3*time.Hour - 1: 2 * time.Hour} {
		to := t0 + through.Milliseconds()
		j.Lines = []series.Line{{Verdict: series.VerdictPaused, At: to, From: t0, To: to, Between: series.VerdictPaused}}
		runs := Runs("shop", &j, &series.Series{Key: "job", Now: to})
		if want == 0 && len(runs) > 0 || want > 0 && (len(runs) != 1 || runs[0].State != Paused || int64(runs[0].Tick) != t0+want.Milliseconds()) {
			t.Errorf("resumed after %v: %+v", through, runs)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 5 * time.Millisecond: "5 ms", 1500 * time.Millisecond: "1.5 s", 42 * time.Second: "42 s",
		90 * time.Second: "1 min 30 s", 3*time.Hour + 5*time.Minute: "3 h 5 min", 48*time.Hour - 1: "47 h 59 min", 48 * time.Hour: "2 days",
	} {
		if got := Short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// A pattern is one of path.Match, any other text a part of the name; both ignore case.
func TestFind(t *testing.T) {
	s := &Snapshot{Jobs: []*Job{{Name: "report.daily", State: OK}, {Name: "report.hourly", State: Failing}, {Name: "sendSms", State: Overdue}}}
	names := func(f JobFilter) (text string) {
		for _, j := range s.Find(f) {
			text += j.Name + " "
		}
		return text
	}
	for want, f := range map[string]JobFilter{
		"report.daily report.hourly sendSms ": {},
		"sendSms report.hourly report.daily ": {Sort: "state"},
		"report.daily report.hourly ":         {Name: "report.*"},
		"sendSms ":                            {Name: "SMS"},
		"report.hourly ":                      {State: Failing},
		"":                                    {Name: "[x"},
	} {
		if got := names(f); got != want {
			t.Errorf("%+v finds %q, want %q", f, got, want)
		}
	}
}

// A range is listed if one of its ticks may be inside of the requested time, to the millisecond.
func TestRunFilterOfARange(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.UnixMilli(n).UTC() }
	missed := Run{Verdict: "ran", Between: "missed", From: InstantOf(at(1000)), Tick: InstantOf(at(5000))}
	for _, c := range []struct {
		from, to int64
		verdict  string
		want     bool
	}{
		{2000, 3000, "", true}, {0, 1001, "", true}, {0, 1000, "", false}, // the instant before it is not part of it
		{5000, 9000, "", true}, {5001, 9000, "", false}, {2000, 3000, "missed", true}, {2000, 3000, "skipped", false},
	} {
		f := RunFilter{Verdict: c.verdict, From: at(c.from), To: at(c.to)}
		if got := f.Lets(&missed); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Overdue ticks are listed among the others: several as a range, and one that was left with a run in the
// place of that run.
func TestListed(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	schedule, err := spec.Parse("@every 10s", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Name: "a", Schedule: schedule, Runs: []Run{{Tick: InstantOf(at(20)), State: Waiting, Node: "n"}, {Tick: InstantOf(at(10)), State: OK}}}
	j.Overdue = []OverdueTick{{Cause: "no node lives", Overdue: verify.Overdue{Tick: at(30), Last: at(50), Ticks: 3, Since: at(41)}}, {Overdue: verify.Overdue{Tick: at(20), Ticks: 1, State: "open"}}}
	runs := j.Listed()
	if len(runs) != 3 || runs[0].Tick != InstantOf(at(50)) || runs[0].Job != "a" || runs[0].Reason != "no node lives" || runs[0].Recorded != InstantOf(at(41)) || runs[1].Tick != InstantOf(at(20)) || runs[1].State != Overdue || runs[1].Node != "n" || runs[2].State != OK || j.Runs[0].State != Waiting {
		t.Fatalf("%+v", runs)
	}
	if one := j.overdue(&OverdueTick{Overdue: verify.Overdue{Tick: at(60), Ticks: 1}}); one.Tick != InstantOf(at(60)) || one.Between != "" {
		t.Errorf("a single tick is the range %+v", one)
	}
	if n, few := j.CountIn(&runs[0], at(0), 100), j.CountIn(&runs[0], at(0), 2); n != 3 || few != 2 {
		t.Errorf("the range of the overdue ticks has %d, counted up to two %d", n, few)
	}
	var ticks []time.Time
	for tick, state := range j.TicksIn(&runs[0], at(35), 0) {
		if ticks = append(ticks, tick); state != Overdue {
			t.Errorf("%v is %s", tick, state)
		}
	}
	if n := j.CountIn(&runs[0], at(35), 100); !slices.Equal(ticks, []time.Time{at(40), at(50)}) || n != 2 {
		t.Errorf("%v, counted %d", ticks, n)
	}
}

// The ticks of a range are those of the spec under which it was decided, also after another one is in force. Of a range whose spec is
// not on record the last tick alone is known.
func TestRangeOfAnEarlierSpec(t *testing.T) {
	uses := []series.RevisionUse{{Revision: "new", Spec: "@every 10s", Zone: "UTC", Last: 9}, {Revision: "old", Spec: "@every 5s", Zone: "UTC", Last: 8}}
	j := newJob("shop", series.Journal{Revisions: uses}, series.Series{Key: "job"}, &NodeList{}, nil)
	for revision, want := range map[string]int{"new": 3, "old": 6, "": 3, "gone": 1} {
		if got := j.CountIn(&Run{Tick: 30_000, From: 0, Between: "missed", revision: revision}, time.Time{}, 100); got != want {
			t.Errorf("%q: %d ticks, want %d", revision, got, want)
		}
	}
}

// Nodes disagree about a spec if its text or its zone differs. A node that died, or that has not been seen with its
// spec for long, does not count.
func TestInForce(t *testing.T) {
	const now = 1_800_000_000_000
	use := func(node, spec, zone string, ago time.Duration) series.RevisionUse {
		return series.RevisionUse{Revision: node, Spec: spec, Zone: zone, Node: node, Last: now - ago.Milliseconds()}
	}
	nodes := NewNodeList(series.MemberList{Now: now, Members: []series.Member{{Node: "last", Until: now + 1}, {Node: "other", Until: now + 1}, {Node: "dead", Until: now}}}, nil)
	for name, c := range map[string]struct {
		use  series.RevisionUse
		want int
	}{
		"the same spec":   {use("other", "@daily", "UTC", time.Minute), 1},
		"another spec":    {use("other", "@hourly", "UTC", time.Minute), 2},
		"another zone":    {use("other", "@daily", "Europe/Berlin", time.Minute), 2},
		"seen long ago":   {use("other", "@hourly", "UTC", sightedWithin+time.Millisecond), 1},
		"of a dead node":  {use("dead", "@hourly", "UTC", time.Minute), 1},
		"of the same one": {use("last", "@hourly", "UTC", time.Minute), 1},
	} {
		j := newJob("shop", series.Journal{Revisions: []series.RevisionUse{c.use, use("last", "@daily", "UTC", 0)}}, series.Series{Key: "job", Now: now, Mark: now}, nodes, nil)
		if uses := j.InForce(nodes); len(uses) != c.want || uses[0].Node != "last" {
			t.Errorf("%s: %+v", name, uses)
		}
		if jobs := (&Snapshot{Jobs: []*Job{j}, Nodes: nodes}).Disagreed(); (len(jobs) == 1) != (c.want > 1) {
			t.Errorf("%s: nodes disagree on the specs of %q", name, jobs)
		}
	}
}

// Of the time between a tick and its grant, the jitter is the part that the recorded policies ask for. A grant may
// come a little early. One that came clearly before the end of the jitter has none that is known.
func TestJitterOfARun(t *testing.T) {
	const tick = 1_800_000_000_000
	use := series.RevisionUse{Revision: "r", Spec: "@hourly", Zone: "UTC", Policies: "jitter:30m"}
	delay := policy.Record{Jitter: 30 * time.Minute}.DueAt("job", tick, tick+time.Hour.Milliseconds()) - tick
	if delay < 1000 {
		t.Fatalf("the jitter is %d ms", delay)
	}
	for late, want := range map[int64]int64{delay + 7: delay, delay: delay, delay - earlyGrant: delay - earlyGrant, delay - earlyGrant - 1: -1} {
		other := series.RevisionUse{Revision: "q", Spec: "@every 1s", Zone: "UTC", Policies: "jitter:1s", Node: "m"}
		j := series.Journal{Revisions: []series.RevisionUse{use, other}, Lines: []series.Line{{Verdict: series.VerdictRan, At: tick + late, From: tick - 1, To: tick, Attempt: 1, Revision: "r"}}}
		got := int64(-1)
		if r := Runs("shop", &j, &series.Series{Key: "job"})[0]; r.JitterMs != nil {
			got = *r.JitterMs
		}
		if got != want {
			t.Errorf("%d ms late: the jitter is %d ms, want %d", late, got, want)
		}
	}
}

// A tick that waits for its jitter is listed until it is decided.
func TestDelayed(t *testing.T) {
	const tick = 1_800_000_000_000
	schedule, err := spec.Parse("@hourly", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	policies := policy.Record{Jitter: 30 * time.Minute}
	due := policies.DueAt("job", tick, tick+time.Hour.Milliseconds())
	for name, c := range map[string]struct {
		now, mark int64
		state     State
		paused    bool
		want      bool
	}{
		"it waits":          {due - 1, tick - 1, OK, false, true},
		"it is due":         {due, tick - 1, OK, false, false},
		"it is decided":     {due - 1, tick, OK, false, false},
		"the job is paused": {due - 1, tick - 1, Overdue, true, false},
		"it is retired":     {due - 1, tick - 1, Retired, false, false},
		"it is not known":   {due - 1, tick - 1, Unknown, false, false},
	} {
		j := &Job{Name: "job", Schedule: schedule, Policies: policies, State: c.state, Series: series.Series{Now: c.now, Mark: c.mark, Paused: c.paused}}
		if r := j.delayed(); (r != nil) != c.want || r != nil && (r.State != Waiting || int64(r.Tick) != tick || r.Job != "job" || int64(r.Recorded) != tick) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A job never ran if it is on record, the store still has all of its verdicts, and none of them is a grant.
func TestNeverRan(t *testing.T) {
	const t0 = 1_800_000_000_000
	whole, cut := []series.Line{{Verdict: series.VerdictOpened, At: t0}}, []series.Line{{Verdict: series.VerdictSkipped, At: t0}}
	for name, c := range map[string]struct {
		state series.Series
		lines []series.Line
		runs  []Run
		want  bool
	}{
		"never":         {series.Series{Mark: t0}, whole, []Run{{State: Missed}}, true},
		"not on record": {series.Series{}, nil, nil, false},
		"it ended ok":   {series.Series{Mark: t0, Last: t0}, whole, nil, false},
		"it failed":     {series.Series{Mark: t0}, whole, []Run{{State: Failing, Granted: Instant(t0)}}, false},
		"not known":     {series.Series{Mark: t0}, cut, nil, false},
	} {
		if got := (&Job{Series: c.state, Journal: series.Journal{Lines: c.lines}, Runs: c.runs}).NeverRan(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A job that is listed and has no state is a fault, whether its journal is there or not.
func TestLostState(t *testing.T) {
	for name, j := range map[string]series.Journal{
		"without a journal": {Key: "job"},
		"with a journal":    {Key: "job", Revisions: []series.RevisionUse{{Revision: "r", Spec: "@hourly", Zone: "UTC"}}},
		"with its opening":  {Key: "job", Revisions: []series.RevisionUse{{Revision: "r", Spec: "@hourly", Zone: "UTC", First: 1_799_990_000_000, Last: 1_799_990_000_000}}, Lines: []series.Line{{Verdict: series.VerdictOpened, At: 1_799_990_000_000, From: 1_799_990_000_000, To: 1_799_990_000_000}}},
	} {
		r, late := Judge(j, &series.Series{Key: "job", Now: 1_800_000_000_000}, verify.Options{}, NewNodeList(series.MemberList{}, nil))
		if n := len(r.Faults); (len(late) > 0) != (len(j.Lines) > 0) || r.Job != "job" || n == 0 || r.Faults[n-1] != "it is listed among the jobs, and has no state: the store lost it, or it was deleted" {
			t.Errorf("%s: %+v", name, r)
		}
		if job := newJob("shop", j, series.Series{Key: "job", Now: 1_800_000_000_000}, &NodeList{}, nil); (job.State == Unknown) == (len(late) > 0) || job.Fault != r.Faults[0] {
			t.Errorf("%s: the job is %s: %s", name, job.State, job.Fault)
		}
	}
}

// A run without an end is alive as long as the store has its record, or the record may be younger than the state that was read.
func TestRunWithoutARecord(t *testing.T) {
	j := &series.Journal{Lines: []series.Line{{Verdict: series.VerdictRan, From: 8, To: 9, At: 10, Attempt: 1}}}
	for _, tt := range []struct {
		state series.Series
		want  State
	}{
		{series.Series{Now: 10}, Running},
		{series.Series{Now: 11}, Unknown},
		{series.Series{Now: 11, Runs: []series.Run{{Number: 9, State: series.RunOpen, Until: 20}}}, Running},
	} {
		if runs := Runs("shop", j, &tt.state); len(runs) != 1 || runs[0].State != tt.want {
			t.Errorf("at %d with %d records: %+v; want %s", tt.state.Now, len(tt.state.Runs), runs, tt.want)
		}
		if !slices.Contains(RunStates, string(tt.want)) {
			t.Errorf("no filter finds the runs that are %s", tt.want)
		}
	}
}
