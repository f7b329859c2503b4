package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// Each policy for runs that take longer than their interval, on three nodes.
func TestOverlapPolicies(t *testing.T) {
	t.Parallel()
	both(t, overlapPolicies)
}

func overlapPolicies(t *testing.T, p proof.Program) {
	c := proof.NewCluster(t, p)
	long := proof.Job{Every: time.Second, Work: 2500 * time.Millisecond, Lease: 6 * time.Second}
	skip, queue, allow, replace := long, long, long, long
	skip.Name, queue.Name, allow.Name, replace.Name = "skip", "queue", "allow", "replace"
	queue.Overlap, allow.Overlap, replace.Overlap = scheduler.OverlapQueue, scheduler.OverlapAllow, scheduler.OverlapReplace
	queue.Deadline = time.Minute // waiting ticks run, or are superseded: none is missed for a run that ends with its interval
	turn := queue                // most of its runs end long before a tick, whose claim would also start a waiting tick
	turn.Name, turn.Every, turn.Work = "turn", 2*time.Second, 2700*time.Millisecond
	allow.Misfire = scheduler.MisfireAll
	replace.Every, replace.Work = 3*time.Second, time.Minute
	jobs := []proof.Job{skip, queue, turn, allow, replace}
	startNodes(c, 3, proof.Node{Jobs: jobs, Grace: time.Second})
	c.Warm(jobs...)
	c.Pass(running())
	passed := time.Now()
	c.Must("a run of turn starts", func(v proof.View) bool { // no tick waits then
		return len(v.Find(func(r *proof.Record) bool { return r.Job == turn.Name && r.Kind == proof.Start && r.At.After(passed) })) > 0
	})
	e := c.Finish(jobs...)
	e.Allowed = explainedByOverlap
	acquit(t, e)
	verdicts := func(j proof.Job) map[series.Verdict]int { return proof.Verdicts(e, j) }
	n := int(e.To.Sub(e.From) / time.Second)
	wantVerdicts(t, skip, verdicts(skip), series.VerdictRan, n/4, n/2, series.VerdictSkipped, n/3, n)
	wantVerdicts(t, queue, verdicts(queue), series.VerdictRan, n/4, n/2, series.VerdictSuperseded, n/3, n)
	wantVerdicts(t, turn, verdicts(turn), series.VerdictRan, n/5, n/2+1, series.VerdictSuperseded, n/20, n/3)
	wantVerdicts(t, allow, verdicts(allow), series.VerdictRan, n-1, n+1, "", 0, 0)
	wantVerdicts(t, replace, verdicts(replace), series.VerdictRan, n/3-2, n/3+1, "", 0, 0)
	queued(t, e, queue)
	queued(t, e, turn)
	replaced(t, e, replace)
}

func explainedByOverlap(j *proof.Job, _ int64, v series.Verdict, reason string) bool {
	switch j.Overlap {
	case scheduler.OverlapSkip:
		return v == series.VerdictSkipped && reason == series.ReasonOverlap
	case scheduler.OverlapQueue:
		return v == series.VerdictSuperseded
	}
	return false
}

// wantVerdicts checks how many ticks have the first verdict and how many the second. The check has
// judged other verdicts: where a lost run is explained, it counts as one that ran.
func wantVerdicts(t *testing.T, j proof.Job, got map[series.Verdict]int, a series.Verdict, aMin, aMax int, b series.Verdict, bMin, bMax int) {
	t.Helper()
	if got[a]+got[series.VerdictLost] < aMin || got[a] > aMax || got[b] < bMin || got[b] > bMax {
		t.Errorf("%s: %v, want %d to %d %s, %d to %d %q", j.Name, got, aMin, aMax, a, bMin, bMax, b)
	}
}

// queued checks that a waiting tick started as soon as the run before it ended, or when its lost
// lease was over.
func queued(t *testing.T, e *proof.Evidence, j proof.Job) {
	t.Helper()
	var end time.Time
	for _, r := range e.Find(func(r *proof.Record) bool { return r.Job == j.Name && r.At.After(e.From) }) {
		if r.Kind == proof.Start && !end.IsZero() && r.At.Sub(end) > 500*time.Millisecond+e.Starved(end, r.At) {
			t.Errorf("%s@%v waited %v after the end of the run before it", j.Name, r.Instant(), r.At.Sub(end))
		}
		if r.Kind == proof.End {
			end = r.At
			if strings.HasPrefix(r.Cause, lock.ErrLost.Error()) {
				end = time.Time{}
			}
		}
	}
}

// replaced: every run but the last ended for a newer tick, at the renewal
// that comes within a third of its lease, and then the newer tick ran.
func replaced(t *testing.T, e *proof.Evidence, j proof.Job) {
	t.Helper()
	lost := 0 // no renewal came through in time
	ends := e.Find(func(r *proof.Record) bool { return r.Job == j.Name && r.Kind == proof.End && r.At.Before(e.To) })
	for _, r := range ends {
		late := r.At.Sub(r.Instant().Add(j.Every))
		if strings.HasPrefix(r.Cause, lock.ErrLost.Error()) && e.Starved(r.Instant(), r.At) >= j.Lease/2 {
			lost++
			continue
		}
		if r.Cause != scheduler.ErrReplaced.Error() || late > j.Lease/3+500*time.Millisecond+e.Starved(r.Instant(), r.At) {
			t.Errorf("%s@%v ended %v after the next tick, cause %q, want %q", j.Name, r.Instant(), late, r.Cause, scheduler.ErrReplaced)
		}
	}
	if n := e.Say("run finished", outcome(series.OutcomeReplaced)); n < len(ends)-lost || n == 0 {
		t.Errorf("%d runs finished as replaced, says the log, want %d", n, len(ends)-lost)
	}
}

// No node is alive for a few seconds, around a tick whose deadline is short. The nodes that start then
// treat missed ticks by the policy of each job.
func TestMisfirePolicies(t *testing.T) {
	t.Parallel()
	both(t, misfirePolicies)
}

func misfirePolicies(t *testing.T, p proof.Program) {
	c := proof.NewCluster(t, p)
	strict := proof.Job{Name: "strict", Every: 2 * misfireEvery, Deadline: time.Second}
	jobs := append(misfiring(), strict)
	startNodes(c, 2, proof.Node{Jobs: jobs})
	c.Warm(jobs...)
	absent := time.Now().Truncate(strict.Every).Add(strict.Every)
	c.Pass(time.Until(absent.Add(-1500 * time.Millisecond)))
	gap := stopAll(t, c)
	c.Pass(time.Until(absent.Add(misfireEvery + misfireLate)))
	gap.to = time.Now()
	startNodes(c, 2, proof.Node{Jobs: jobs})
	c.Pass(max(running()/4, 6*time.Second))
	e := c.Finish(jobs...)
	e.Allowed = gap.explains
	acquit(t, e)
	gap.quiet(t, e)
	for _, j := range misfiring() {
		gap.misfired(t, e, j)
	}
	tooLate := func(l *proof.Line) bool {
		if l.Str("job") != strict.Name || l.Tick() != absent.UnixMilli() || l.Int("count") != 1 {
			return false
		}
		// Nodes that were slow to start found the next tick due too, which passes this one over.
		return l.Str("reason") == series.ReasonDeadline || l.Str("reason") == series.ReasonMisfire && l.At.After(absent.Add(strict.Every))
	}
	if n := e.Say("tick missed", tooLate); n != 1 {
		t.Errorf("%d nodes said that the tick %v is past its deadline, want 1", n, absent)
	}
}

// stopAll drains all nodes, and returns since when there are none.
func stopAll(t *testing.T, c *proof.Cluster) interval {
	t.Helper()
	gap := interval{asked: time.Now()}
	old := c.Alive()
	for _, p := range old {
		p.Terminate()
	}
	for _, p := range old {
		if err := p.Wait(patience); err != nil {
			t.Error(err)
		}
	}
	gap.from = time.Now()
	return gap
}

// Tries, timeouts, and the verdicts of runs that a drain ends.
func TestEndPolicies(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, proof.Member)
	jobs := ending()
	node := func(i int) *proof.Process {
		return c.Start(proof.Node{Name: fmt.Sprint("n", i), Jobs: jobs, Grace: 500 * time.Millisecond, CancelGrace: 2 * time.Second})
	}
	node(0)
	c.Warm(jobs...)
	c.Pass(running() / 3)
	again, done := fresh(c, "again", 3*time.Second), fresh(c, "done", 3*time.Second)
	node(1)
	old := c.Process(again.Pid)
	old.Terminate()
	_ = old.Wait(patience) // it may have left the deaf job behind, and then says so
	c.Must("the interrupted run has another attempt", func(v proof.View) bool { return len(v.Find(isStart, attemptAfter(again))) == 1 })
	c.Pass(running() / 3)
	e := c.Finish(jobs[:len(jobs)-1]...) // the end of the job that ignores its context is not known
	e.Allowed = explainedByOverlap
	for pid := range e.Ends {
		delete(e.Ends, pid) // likewise
	}
	acquit(t, e)
	if n := len(e.Find(isStart, attemptAfter(done))); n != 0 {
		t.Errorf("a run that is not to be run again had %d more attempts", n)
	}
	ended(t, e)
	tried(t, e)
}

// ended: each job ended as it was made to.
func ended(t *testing.T, e *proof.Evidence) {
	t.Helper()
	of := func(job string) func(*proof.Line) bool {
		return func(l *proof.Line) bool { return l.Str("job") == job }
	}
	for job, want := range map[string]string{"third": "ok", "never": "failed", "timeout": "timeout", "again": "interrupted", "done": "interrupted"} {
		if n := e.Say("run finished", outcome(want), of(job)); n == 0 {
			t.Errorf("%s: no run finished with the outcome %s", job, want)
		}
	}
	if n := e.Say("run ignores its context", of("deaf")); n == 0 {
		t.Error("nobody named the job that ignores its context")
	}
}

// ending are jobs that end in one way each.
func ending() []proof.Job {
	retry := scheduler.Retry{Tries: 3, Wait: 300 * time.Millisecond} // a drain begins in one of these pauses now and then
	return []proof.Job{
		{Name: "third", Every: 2 * time.Second, Fail: 2, Retry: retry},
		{Name: "never", Every: 2 * time.Second, Fail: 99, Retry: retry},
		{Name: "timeout", Every: 3 * time.Second, Work: time.Minute, Timeout: time.Second},
		{Name: "again", Every: time.Second, Work: 5 * time.Second, Interrupted: scheduler.InterruptedRerun},
		{Name: "done", Every: time.Second, Work: 5 * time.Second, Interrupted: scheduler.InterruptedLost},
		{Name: "deaf", Every: time.Second, Work: 8 * time.Second, Deaf: true, Timeout: time.Second},
	}
}

// tried: failing tries were repeated, within one attempt and with one fence. A drain that
// comes between two tries ends the attempt there.
func tried(t *testing.T, e *proof.Evidence) {
	t.Helper()
	tries := map[proof.Record][]int{}
	for _, r := range e.Find(isStart, func(r *proof.Record) bool { return r.Job == "third" || r.Job == "never" }) {
		run := proof.Record{Job: r.Job, Tick: r.Tick, Attempt: r.Attempt, Fence: r.Fence}
		tries[run] = append(tries[run], r.Try)
	}
	for run, got := range tries {
		want := []int{1, 2, 3}
		if interrupted(e, run) {
			want = want[:min(len(got), 3)]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s@%v, attempt %d: tries %v, want %v", run.Job, run.Instant(), run.Attempt, got, want)
		}
	}
}

// interrupted reports whether the journal says that a drain ended this attempt.
func interrupted(e *proof.Evidence, run proof.Record) bool {
	return slices.ContainsFunc(e.Journals[run.Job].Lines, func(l series.Line) bool {
		return l.To == run.Tick && l.Attempt == run.Attempt && l.Outcome == series.OutcomeInterrupted
	})
}
