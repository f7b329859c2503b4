package ops

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A pulse is a job that runs each second, and a projection of it.
type pulse struct {
	*testing.T
	store *memlock.Store
	p     *Projection
	mark  int64
}

func newPulse(t *testing.T, lines int) *pulse {
	s := memlock.New(memlock.Options{})
	a := s.Open(t.Context(), []series.OpenRequest{{Key: "a", Node: "n", Revision: "r", Spec: "@every 1s", Zone: "UTC", Policies: "overlap:skip/misfire:once"}})[0]
	return &pulse{t, s, New(Options{Store: s, Namespace: "shop", Lines: lines}), a.Mark}
}

// runs lets the job run each second, with the same outcome.
func (p *pulse) runs(times int, outcome string) {
	p.Helper()
	for range times {
		time.Sleep(time.Second)
		now := time.Now().Truncate(time.Second).UnixMilli()
		c := series.Claim{Key: "a", Owner: "n/x", Number: now, After: p.mark, TTL: 10 * time.Second, Deadline: time.Minute, Attempts: 1, Latest: now + 60_000, Revision: "r"}
		a := p.store.Claim(p.Context(), []series.Claim{c})[0]
		if a.Kind != series.KindGranted {
			p.Fatal(a.Kind, a.Err)
		}
		p.mark = now
		e := series.EndRequest{RunRef: series.RunRef{Key: "a", Number: now, Owner: c.Owner, Fence: a.Fence}, Outcome: outcome, OK: outcome == series.OutcomeOK}
		if end := p.store.ReleaseRuns(p.Context(), []series.EndRequest{e})[0]; end.Err != nil {
			p.Fatal(end.Err)
		}
	}
}

// failed reads the store, and returns how many runs that failed the snapshot has, and since when its exceptions are complete.
func (p *pulse) failed() (n int, since time.Time) {
	s := p.p.Refresh(p.Context())
	all := s.Recent(1000, func(r *Run) bool { return r.Verdict == "ran" && r.Outcome == series.OutcomeFailed })
	if counted := s.Exceptions(time.Time{})["failed"]; counted != len(all) {
		p.Errorf("%d exceptions are counted, %d are listed", counted, len(all))
	}
	if since = s.SearchedExceptions(); since.After(s.Searched()) {
		p.Errorf("exceptions are complete since %v, all verdicts since %v", since, s.Searched())
	}
	return len(all), since
}

// An exception stays in memory although the lines of later runs have filled it, and the job is not judged by it.
func TestExceptionsStayInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse(t, mostLines+mostOlder)
		p.runs(1, series.OutcomeOK)
		p.failed()
		p.runs(3, series.OutcomeFailed)
		for range 20 {
			if n, since := p.failed(); n != 3 || !since.IsZero() {
				t.Fatalf("%d failures, complete since %v", n, since)
			}
			p.runs(mostLines-1, series.OutcomeOK)
		}
		if j := p.p.Peek().Job("a"); len(j.Runs) > mostLines || j.State != OK || len(j.older.runs) != 3 {
			t.Errorf("%s, %d runs in memory, %d exceptions", j.State, len(j.Runs), len(j.older.runs))
		}
	})
}

// However few lines a job may keep in memory, and however often it runs between two readings, each of its verdicts is in a snapshot, and
// no exception is missed.
func TestBusyJobLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, between := range []int{leastLines - 1, leastLines + 1, 20, mostLines - 1} {
			p := newPulse(t, leastLines)
			p.runs(1, series.OutcomeOK)
			p.failed()
			p.runs(1, series.OutcomeFailed)
			for range 5 {
				if n, since := p.failed(); n != 1 || !since.IsZero() {
					t.Errorf("%d runs between two readings: %d failures, complete since %v", between, n, since)
				}
				p.runs(between, series.OutcomeOK)
				if now := p.p.Refresh(t.Context()); len(now.Job("a").Runs) < between {
					t.Errorf("%d runs between two readings: %d are in memory", between, len(now.Job("a").Runs))
				}
			}
		}
	})
}

// Exceptions that happened before the projection began are found with the second reading.
func TestExceptionsBeforeTheProjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse(t, mostLines+mostOlder)
		p.runs(3, series.OutcomeFailed)
		p.runs(200, series.OutcomeOK)
		if n, since := p.failed(); n != 0 || time.Since(since) > mostLines*time.Second {
			t.Errorf("first reading: %d failures, complete since %v", n, since)
		}
		p.runs(1, series.OutcomeOK)
		for range 3 {
			if n, since := p.failed(); n != 3 || !since.IsZero() {
				t.Errorf("later: %d failures, complete since %v", n, since)
			}
			p.runs(mostLines-1, series.OutcomeOK)
		}
	})
}

// If lines were never read, or exceptions are too many for the memory, the snapshot says since when it has all of them.
func TestExceptionsAreCompleteSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse(t, mostLines+mostOlder)
		p.runs(1, series.OutcomeOK)
		p.failed()
		p.runs(1, series.OutcomeFailed)
		p.failed()
		p.runs(10*mostLines, series.OutcomeOK) // of these, most are never read
		if n, since := p.failed(); n != 1 || time.Since(since) > mostLines*time.Second {
			t.Errorf("after a gap: %d failures, complete since %v", n, since)
		}
		p.runs(1, series.OutcomeOK)
		if n, since := p.failed(); n != 1 || !since.IsZero() {
			t.Errorf("after the next reading: %d failures, complete since %v", n, since)
		}
		for range 10 {
			p.runs(mostLines-1, series.OutcomeFailed)
			p.failed()
		}
		n, since := p.failed()
		if n != mostLines+mostOlder || time.Since(since) != time.Duration(n-1)*time.Second {
			t.Errorf("%d failures, complete since %v before", n, time.Since(since))
		}
	})
}

// A range of ticks that grows is one exception, and not several.
func TestExceptionThatGrows(t *testing.T) {
	const t0 = 1_800_000_000_000
	missed := func(from, to int64) series.Line {
		return series.Line{Verdict: series.VerdictMissed, Between: series.VerdictMissed, From: t0 + from, To: t0 + to, At: t0 + to}
	}
	ran := series.Line{Verdict: series.VerdictRan, From: t0 - 2000, To: t0 - 1000, At: t0 - 1000, Attempt: 1, Fence: 1, Node: "n", Outcome: series.OutcomeFailed, Ended: t0 - 500}
	job := func(before *Job, lines ...series.Line) *Job {
		at := lines[len(lines)-1].At
		j := newJob("shop", series.Journal{Key: "a", Lines: lines}, series.Series{Key: "a", Now: at, Mark: at}, NewNodeList(series.MemberList{Now: at}, nil), before)
		j.older = olderAfter(before, j, mostOlder)
		return j
	}
	j := job(nil, ran, missed(0, 10_000))
	j = job(j, missed(0, 20_000))
	j = job(j, missed(0, 30_000), missed(30_000, 40_000))
	if len(j.older.runs) != 1 || j.older.runs[0].Outcome != series.OutcomeFailed {
		t.Errorf("%+v", j.older.runs)
	}
}
