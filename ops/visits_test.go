package ops

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// historyOf returns a job with a journal of runs that took a second each, a minute apart, the last one at an instant. The run of one of them
// took long.
func historyOf(runs int, end time.Time, long int, took time.Duration) *Job {
	j := series.Journal{Key: "a"}
	for i := range runs {
		tick, time := end.Add(-time.Duration(runs-1-i)*time.Minute), time.Second
		if i == long {
			time = took
		}
		ms := tick.UnixMilli()
		j.Lines = append(j.Lines, series.Line{Verdict: series.VerdictRan, From: ms - 60_000, To: ms, At: ms, Node: "n", Attempt: 1, Outcome: series.OutcomeOK, Ended: ms + time.Milliseconds()})
	}
	return newJob("shop", j, series.Series{Key: "a", Now: end.UnixMilli(), Mark: end.UnixMilli()}, NewNodeList(series.MemberList{Now: end.UnixMilli()}, nil), nil)
}

// A picture visits the runs of its period, and not the older ones, unless an older one reaches into it.
func TestTicksOfAPeriod(t *testing.T) {
	end := time.Date(2026, 11, 26, 23, 2, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		long   int
		took   time.Duration
		period time.Duration
		visits int
	}{
		{"five minutes", -1, 0, 5*time.Minute - 2*time.Second, 5},
		{"all", -1, 0, 0, 60},
		{"a long run that reaches into it", 0, 58 * time.Minute, 5*time.Minute - 2*time.Second, 60},
		{"a long run that ended before it", 0, 50 * time.Minute, 5*time.Minute - 2*time.Second, 5},
	} {
		from := end.Add(-c.period)
		if c.period == 0 {
			from = time.Time{}
		}
		visits := 0
		for range historyOf(60, end, c.long, c.took).Ticks(from) {
			visits++
		}
		if visits != c.visits {
			t.Errorf("%s: %d runs are visited, want %d", c.name, visits, c.visits)
		}
	}
}

// The newest verdicts of many jobs are found without a visit to their older ones.
func TestRecentVisitsTheNewestAlone(t *testing.T) {
	const jobs, wanted = 50, 5
	end := time.Date(2026, 11, 26, 23, 2, 0, 0, time.UTC)
	s := new(Snapshot)
	for i := range jobs {
		s.Jobs = append(s.Jobs, historyOf(60, end.Add(-time.Duration(i)*time.Second), -1, 0))
	}
	visits := 0
	newest := s.Recent(wanted, func(*Run) bool { visits++; return true })
	for i := range newest {
		if want := end.Add(-time.Duration(i) * time.Second); !newest[i].Tick.Time().Equal(want) {
			t.Errorf("the verdict %d is of %v, want %v", i, newest[i].Tick, want)
		}
	}
	if most := 2 * jobs; len(newest) != wanted || visits > most {
		t.Errorf("%d verdicts, %d runs are visited, want at most %d", len(newest), visits, most)
	}
}

// A job counts its runs from any instant on as a visit to each of them does.
func TestTallyOfAJob(t *testing.T) {
	end := time.Date(2026, 11, 26, 23, 2, 0, 0, time.UTC)
	j := historyOf(10, end, -1, 0)
	for n := range 12 {
		got, want := map[State]int{}, map[State]int{}
		from := end.Add(-time.Duration(n) * time.Minute)
		j.Tally(got, from)
		Tally(want, j.Runs, j.Schedule, from)
		if j.counts == nil || len(got) != len(want) || got[OK] != want[OK] || got[OK] != min(n+1, 10) {
			t.Errorf("since %d minutes: %v, want %v", n, got, want)
		}
	}
}

// The first tick after an instant is that of the spec, also before the instant of the snapshot.
func TestNextTick(t *testing.T) {
	end := time.Date(2026, 11, 26, 23, 2, 0, 0, time.UTC)
	records := series.Journal{Revisions: []series.RevisionUse{{Revision: "r", Spec: "@every 1m", Zone: "UTC"}}}
	j := newJob("shop", records, series.Series{Key: "a", Now: end.UnixMilli(), Mark: end.UnixMilli()}, &NodeList{}, nil)
	for after, want := range map[time.Duration]time.Duration{-time.Hour: -59 * time.Minute, -1: 0, 0: time.Minute, time.Minute - 1: time.Minute, time.Minute: 2 * time.Minute, 90 * time.Second: 2 * time.Minute} {
		if got := j.Next(end.Add(after)); !got.Equal(end.Add(want)) {
			t.Errorf("after %v: %v, want %v", after, got, end.Add(want))
		}
	}
	if got := (&Job{}).Next(end); !got.IsZero() {
		t.Errorf("without a spec: %v", got)
	}
}

// A job is read again when the time alone may change it: at the end of its pause, when it starves, and when a lost or missed
// tick is mended. With a run that is not settled that is at once.
func TestJobThatTheTimeChanges(t *testing.T) {
	const now, late, never = 1_800_000_000_000, 1_800_000_060_000, 1_900_000_000_000
	minutely, err := spec.Parse("@every 1m", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	run := func(state State, recorded int64) []Run { return []Run{{State: state, Recorded: Instant(recorded)}} }
	starves, day := Pace{Schedule: minutely, Since: utc(now - 60_000)}, mendedFor.Milliseconds()
	for name, c := range map[string]struct {
		job  Job
		want int64
	}{
		"nothing":              {Job{judgeAt: never}, never},
		"a tick is overdue":    {Job{judgeAt: late, Runs: run(Lost, now)}, late},
		"a run":                {Job{judgeAt: never, Series: series.Series{Runs: []series.Run{{State: series.RunOpen}}}}, 0},
		"a pause":              {Job{judgeAt: never, Series: series.Series{Paused: true}, Pace: starves}, never},
		"a pause with an end":  {Job{judgeAt: never, Series: series.Series{Paused: true, Pause: series.Pause{Until: late}}}, late + 1},
		"no success":           {Job{judgeAt: never, Pace: starves}, now - 60_000 + leastStarved.Milliseconds() + 1},
		"lost":                 {Job{judgeAt: never, Runs: run(Lost, now-5)}, now - 5 + day},
		"missed":               {Job{judgeAt: never, Runs: run(Missed, now-5)}, now - 5 + day},
		"failed":               {Job{judgeAt: never, Runs: run(Failing, now-5)}, never},
		"lost, and not listed": {Job{judgeAt: never, Runs: run(Lost, now-1-day)}, never},
	} {
		c.job.Series.Now = now
		if got := c.job.turns(); got != c.want {
			t.Errorf("%s: at %d, want %d", name, got, c.want)
		}
	}
}

// A starved job looks the same until the store changes it: it is not read each second.
func TestStarvedJobIsNotDue(t *testing.T) {
	now := time.Date(2026, 11, 26, 23, 2, 0, 0, time.UTC).UnixMilli()
	j := series.Journal{Key: "a", Revisions: []series.RevisionUse{{Revision: "r", Spec: "@every 1m", Zone: "UTC", Node: "n", First: now - 3_600_000, Last: now}}}
	s := series.Series{Key: "a", Now: now, Mark: now, Last: now - 600_000}
	job := newJob("shop", j, s, NewNodeList(series.MemberList{Now: now, Members: []series.Member{{Node: "n", Until: now + 10_000}}}, nil), nil)
	if job.State != Starved || job.due(now+1000) {
		t.Errorf("%s, due in %d ms", job.State, job.dueAt-now)
	}
}
