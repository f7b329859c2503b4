package ops

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// Each limit of a job, at its edge. The ages are those of the run of 10:00:00, and of the latest
// success.
func TestStall(t *testing.T) {
	tick := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	const second, minute, hour = time.Second, time.Minute, time.Hour
	alive := func(behind State) []Run {
		return []Run{
			{Tick: InstantOf(tick.Add(second)), State: behind},
			{Tick: InstantOf(tick), State: Running, Granted: InstantOf(tick), LeftMs: new(int64(1))},
		}
	}
	for _, c := range []struct {
		name           string
		spec           string
		pace           Pace
		runs           []Run
		age            time.Duration
		stuck, starved bool
	}{
		{"a minute is not too long", "@every 1s", Pace{}, alive(Skipped), minute, false, false},
		{"more than a minute is", "@every 1s", Pace{}, alive(Skipped), minute + 1, true, false},
		{"a queued tick waits behind it", "@every 1s", Pace{}, alive(Waiting), minute + 1, true, false},
		{"or gave way to a later one", "@every 1s", Pace{}, alive(Superseded), minute + 1, true, false},
		{"runs that may overlap stand in nobody's way", "@every 1s", Pace{}, alive(OK), hour, false, true},
		{"nor does a pause", "@every 1s", Pace{}, alive(Paused), minute + 1, false, false},
		{"and an older tick was skipped too", "@every 1s", Pace{}, append(alive(Skipped), Run{Tick: InstantOf(tick.Add(-second)), State: Skipped}), minute + 1, true, false},
		{"nothing is skipped behind it yet", "@every 1s", Pace{}, alive(Skipped)[1:], minute + 1, false, false},
		{"one beside it found nothing to do", "@every 1s", Pace{}, []Run{{Tick: InstantOf(tick.Add(second)), State: Skipped, Outcome: "skipped"}, alive(OK)[1]}, minute + 1, false, false},
		{"its lease is over", "@every 1s", Pace{}, []Run{{Tick: InstantOf(tick.Add(second)), State: Skipped}, {Tick: InstantOf(tick), State: Waiting, Granted: InstantOf(tick)}}, minute + 1, false, false},
		{"three intervals are not too long", "@every 10m", Pace{Usual: second}, alive(Skipped), 30 * minute, false, false},
		{"more than three are, and are no success", "@every 10m", Pace{Usual: second}, alive(Skipped), 30*minute + 1, true, false},
		{"a grace later they are", "@every 10m", Pace{}, alive(Skipped), 30*minute + 10*second + 1, true, true},
		{"ten times the usual is not too long", "@every 1s", Pace{Usual: hour}, alive(Skipped), 10 * hour, false, true},
		{"more than that is", "@every 1s", Pace{Usual: hour}, alive(Skipped), 10*hour + 1, true, true},
		{"its timeout and the grace", "@every 1s", Pace{Usual: hour, Timeout: 5 * second}, alive(Skipped), 15 * second, false, false},
		{"more than that", "@every 1s", Pace{Usual: hour, Timeout: 5 * second}, alive(Skipped), 15*second + 1, true, false},
		{"five minutes without a success", "@every 1s", Pace{}, nil, 5 * minute, false, false},
		{"more than that", "@every 1s", Pace{}, nil, 5*minute + 1, false, true},
		{"a run that takes longer than its interval", "@every 1s", Pace{Usual: 10 * minute}, nil, 30 * minute, false, false},
		{"thrice as long is too long", "@every 1s", Pace{Usual: 10 * minute}, nil, 30*minute + 1, false, true},
		{"three ticks are to end, as those before and after a night", "0 9-10 * * *", Pace{}, nil, 24 * hour, false, false},
		{"and the third has had its time", "0 9-10 * * *", Pace{}, nil, 47*hour + 10*second + 1, false, true},
		{"a spec that has no third tick", "0 0 12 25 11 ? 2026", Pace{}, nil, 1000 * hour, false, false},
		{"nor a later one than its run", "0 0 10 25 11 ? 2026", Pace{}, alive(Skipped), minute + 1, true, false},
	} {
		c.pace.Since = tick
		var err error
		if c.pace.Schedule, err = spec.Parse(c.spec, time.UTC); err != nil {
			t.Fatal(err)
		}
		got := c.pace.Stall(c.runs, tick.Add(c.age))
		if (got.Stuck != nil) != c.stuck || got.Starved.IsZero() == c.starved {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	pace := Pace{Since: tick}
	pace.Schedule, _ = spec.Parse("@every 1s", time.UTC)
	older, newer := alive(Skipped)[1], alive(Skipped)[1]
	newer.Tick = InstantOf(tick.Add(second))
	for _, both := range [][]Run{{older, newer}, {newer, older}} {
		if got := pace.Stall(append(both, Run{Tick: InstantOf(tick.Add(2 * second)), State: Skipped}), tick.Add(hour)); got.Stuck == nil || !got.Stuck.Tick.Time().Equal(tick) {
			t.Errorf("of two runs, %+v is the oldest that blocks", got.Stuck)
		}
	}
	if got := (&Pace{Since: tick}).Stall(alive(Skipped), tick.Add(hour)); got != (Stall{}) {
		t.Errorf("without a schedule: %+v", got)
	}
}

// A job with several problems has the state of the worst one. An operator's pause silences the others, but for a tick
// that is overdue and for data that cannot be read.
func TestWorstState(t *testing.T) {
	tick := utc(1_800_000_000_000)
	j := &Job{Fault: "its journal cannot be read", Overdue: []OverdueTick{{}}, Series: series.Series{Now: tick.UnixMilli(), Paused: true, Pause: series.Pause{Until: driver.MaxNumber}},
		Stall: Stall{Stuck: &Run{}, Starved: tick}, Runs: []Run{{State: Running, LeftMs: new(int64(1))}, {State: Lost, Recorded: InstantOf(tick)}, {State: Failing}, {State: Missed}}}
	for _, c := range []struct {
		want State
		mend func()
	}{
		{Overdue, func() { j.Overdue = nil }},
		{Unknown, func() { j.Fault = "" }},
		{Retired, func() { j.Series.Pause.Until = 0 }},
		{Paused, func() { j.Series.Paused = false }},
		{Stuck, func() { j.Stall.Stuck = nil }},
		{Lost, func() { j.Runs = slices.Delete(j.Runs, 1, 2) }},
		{Failing, func() { j.Runs = slices.Delete(j.Runs, 1, 2) }},
		{Missed, func() { j.Runs = j.Runs[:1] }},
		{Starved, func() { j.Stall.Starved = time.Time{} }},
		{Running, func() { j.Runs = nil }},
		{OK, func() {}},
	} {
		if got := j.word(); got != c.want {
			t.Errorf("the state is %s, want %s", got, c.want)
		}
		c.mend()
	}
}

// hold starts a run of this second that is renewed, and returns its reference for renewals.
func (s *flakyStore) hold(t *testing.T, job string) series.RunRef {
	t.Helper()
	c := series.Claim{Key: job, Owner: "web-1/hung", Number: time.Now().Truncate(time.Second).UnixMilli(), TTL: 30 * time.Second, Deadline: time.Minute,
		Attempts: 1, Latest: time.Now().UnixMilli() + 60_000, Revision: "r"}
	c.After = s.Store.ReadSeries(t.Context(), []string{job})[0].Mark
	a := s.Claim(t.Context(), []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("%v %v", a.Kind, a.Err)
	}
	return series.RunRef{Key: job, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
}

// A run that never ends makes its job stuck after a minute, with the number of ticks since, and
// starved after five. A paused job is neither, and a success ends both.
func TestHungRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "report")
		p := newProjection(s)
		time.Sleep(time.Second)
		ref := s.hold(t, "report")
		skip := func(d time.Duration) *Snapshot {
			for end := time.Now().Add(d); time.Now().Before(end); {
				time.Sleep(time.Second)
				s.beat(t)
				before := s.Store.ReadSeries(t.Context(), []string{"report"})[0]
				tick := time.Now().UnixMilli()
				c := series.Claim{Key: "report", Owner: "web-1/" + time.Now().Format("150405"), Number: tick, After: before.Mark, TTL: 10 * time.Second,
					Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: "r"}
				if a := s.Claim(t.Context(), []series.Claim{c})[0]; a.Kind == series.KindGranted || a.Err != nil {
					t.Fatalf("%v %v", a.Kind, a.Err)
				}
				s.RenewRuns(t.Context(), []series.RunRef{ref})
			}
			return p.Refresh(t.Context())
		}
		now := skip(time.Minute)
		if job := now.Job("report"); job.State != Running || now.Status().State != OK || *job.AliveRuns()[0].Behind != 60 {
			t.Errorf("%s %+v", job.State, now.Status())
		}
		now = skip(time.Second)
		st := now.Status()
		if job := now.Job("report"); job.State != Stuck || st.State != Failing || len(st.Needs) != 1 ||
			st.Needs[0].Text != "The run of 00:00:01 is alive since 00:00:01 (1 min 1 s) on web-1, and ticks are skipped behind it: 61 ticks went by" {
			t.Errorf("%s %+v", job.State, st)
		}
		if j, _ := s.Journal(t.Context(), "report", 0); StallOf(&j, &now.Job("report").Series).Stuck == nil {
			t.Error("verify calls it fine")
		}
		if job := skip(4 * time.Minute).Job("report"); job.State != Stuck || !job.Stall.Starved.Equal(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s %+v", job.State, job.Stall)
		}
		control := func(action series.Action, op string) {
			t.Helper()
			c := series.Control{Key: "report", Action: action, Op: op, Who: "anna", Reason: "it hangs", Seen: series.AnySeen}
			if a := s.Control(t.Context(), c); !a.Made {
				t.Fatalf("%+v", a)
			}
		}
		control(series.ActionPause, "1")
		if job := p.Refresh(t.Context()).Job("report"); job.State != Paused || job.Stall != (Stall{}) {
			t.Errorf("paused: %s %+v", job.State, job.Stall)
		}
		time.Sleep(time.Second)
		control(series.ActionResume, "2")
		if job := p.Refresh(t.Context()).Job("report"); !job.Stall.Starved.IsZero() {
			t.Errorf("resumed: %s %+v", job.State, job.Stall)
		}
		skip(time.Second)
		s.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: series.OutcomeOK, OK: true}})
		if job := p.Refresh(t.Context()).Job("report"); job.State != OK || job.Stall != (Stall{}) {
			t.Errorf("ended: %s %+v", job.State, job.Stall)
		}
	})
}

// A job that skips all its ticks is starved, and a run without a line is listed with its state in
// the store.
func TestUnlistedRun(t *testing.T) {
	s := &series.Series{Key: "report", Now: 100_000, Runs: []series.Run{{Number: 5000, State: series.RunOpen, Owner: "web-1/a.b", Fence: 7, Attempt: 1, Granted: 5100, Until: 101_000}}}
	runs := Runs("shop", &series.Journal{Lines: []series.Line{{At: 99_000, Verdict: series.VerdictSkipped, From: 5000, To: 99_000, Between: series.VerdictSkipped, Blocker: 5000}}}, s)
	job := newJob("shop", series.Journal{Key: "report"}, *s, &NodeList{}, nil)
	over := *s
	over.Now, over.Runs = 101_000, slices.Clone(s.Runs)
	if later := job.at(over, &NodeList{}); later.Runs[0].State != Waiting || !job.Runs[0].Alive() {
		t.Errorf("later the run is %s, and in the job as it was before %+v", later.Runs[0].State, job.Runs[0])
	}
	if len(runs) != 2 || !runs[1].Alive() || int64(runs[1].Granted) != 5100 || runs[0].Blocker != runs[1].Tick || !strings.HasSuffix(runs[1].ID, "report@1970-01-01T00:00:05.000Z") {
		t.Errorf("%+v", runs)
	}
}

// A success is expected since the latest one, the first use of the spec, the end of a pause or the
// earlier known time. The beginning of a pause and a cancel are none of these.
func TestSinceWhenASuccessIsExpected(t *testing.T) {
	control := func(action series.Action) []series.Line {
		return []series.Line{{Verdict: series.VerdictControl, Reason: string(action), At: 100_000}}
	}
	for name, c := range map[string]struct {
		lines  []series.Line
		last   int64
		before *Pace
		want   int64
	}{
		"the first use":         {nil, 0, nil, 5000},
		"the latest success":    {nil, 7000, nil, 7000},
		"a pause that begins":   {control(series.ActionPause), 7000, nil, 7000},
		"a cancel":              {control(series.ActionCancel), 7000, nil, 7000},
		"the end of a pause":    {control(series.ActionResume), 7000, nil, 100_000},
		"a pause that lapses":   {control(series.ActionLapse), 7000, nil, 100_000},
		"a retired job":         {control(series.ActionRetire), 7000, nil, 100_000},
		"a paused tick":         {[]series.Line{{Verdict: series.VerdictPaused, To: 50_000}}, 7000, nil, 50_000},
		"nothing to do":         {[]series.Line{{Verdict: series.VerdictRan, To: 50_000, Outcome: series.OutcomeSkipped}}, 7000, nil, 50_000},
		"a failure":             {[]series.Line{{Verdict: series.VerdictRan, To: 50_000, Outcome: series.OutcomeFailed}}, 7000, nil, 7000},
		"what was known before": {nil, 7000, &Pace{Since: time.UnixMilli(90_000)}, 90_000},
		"older than that":       {nil, 7000, &Pace{Since: time.UnixMilli(6000)}, 7000},
	} {
		j := series.Journal{Lines: c.lines, Revisions: []series.RevisionUse{{Revision: "r", Spec: "@every 1s", Zone: "UTC", First: 5000, Last: 6000}}}
		if p := paceOf(nil, &j, &series.Series{Last: c.last}, nil, c.before); p.Since.UnixMilli() != c.want {
			t.Errorf("%s: expected since %d, want %d", name, p.Since.UnixMilli(), c.want)
		}
	}
}

// An attempt that was given back, and that a node runs again, is no measure of how long a run takes. The usual time is
// that of 95 of 100 runs, or as known before if no run has ended.
func TestDurations(t *testing.T) {
	runs := []Run{{State: OK, TookMs: new(int64(9))}, {State: Waiting, TookMs: new(int64(5))}, {State: Failing, TookMs: new(int64(3))}, {State: Running}}
	if got := durations(runs); !slices.Equal(got, []int64{3, 9}) {
		t.Errorf("%v", got)
	}
	before := &Pace{Usual: time.Hour}
	for _, c := range []struct {
		runs   []Run
		before *Pace
		want   time.Duration
	}{
		{nil, nil, 0}, {nil, before, time.Hour}, {runs, nil, 9 * time.Millisecond}, {runs, before, 9 * time.Millisecond},
		{append(slices.Repeat(runs[:1], 19), Run{State: OK, TookMs: new(int64(1000))}), nil, 9 * time.Millisecond},
	} {
		if p := paceOf(nil, &series.Journal{}, &series.Series{}, c.runs, c.before); p.Usual != c.want {
			t.Errorf("%d runs, before %+v: %v, want %v", len(c.runs), c.before, p.Usual, c.want)
		}
	}
}

// A blocked job names its run or its latest success, and the next step. A store grants a tick up to 20 ms early, but the text of a stuck job has
// no run that is older than its tick.
func TestNeedOfABlockedJob(t *testing.T) {
	tick := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	s := Stall{Stuck: &Run{Tick: InstantOf(tick), Granted: InstantOf(tick.Add(-2 * time.Millisecond)), Node: "web-1"}}
	want := Need{State: Stuck, Job: "report", Tick: tick, Next: "cronce runs report --alive",
		Text: "The run of 03:00:00 is alive since 03:00:00 (1 min 0 s) on web-1, and ticks are skipped behind it"}
	if n := s.Need("report", tick.Add(time.Minute)); n != want {
		t.Errorf("%+v, want %+v", n, want)
	}
	want = Need{State: Starved, Job: "report", Next: "cronce runs report", Text: "No tick has ended ok since 03:00:00 (10 min 0 s ago)"}
	if n := (&Stall{Starved: tick}).Need("report", tick.Add(10*time.Minute)); n != want {
		t.Errorf("%+v, want %+v", n, want)
	}
	if n := new(Stall).Need("report", tick); n != (Need{}) {
		t.Errorf("a job that is not blocked needs %+v", n)
	}
}
