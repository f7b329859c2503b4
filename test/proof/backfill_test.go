package proof_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/test/proof"
)

const (
	repeated  = 120 // ticks in a backfill
	stopAfter = 20  // runs of the second backfill that end before it is stopped
	cluster   = 3   // nodes
)

// A backfill repeats ticks of a job each second while the nodes are killed, one after another, in the
// middle of its runs, and started again. The work of each tick is done to its end once, and each tick that
// is due meanwhile runs. A second backfill is stopped, and leaves no run that waits.
func TestBackfill(t *testing.T) {
	t.Parallel()
	binary(t) // members have its commands
	c := proof.NewCluster(t, proof.Member)
	job := proof.Job{Name: "report", Every: time.Second, Work: 40 * time.Millisecond, Lease: lease,
		Takeover: scheduler.TakeoverRerun, Attempts: 100, Misfire: scheduler.MisfireAll, Deadline: time.Minute}
	first := outageSince(time.Now().Truncate(time.Second).Add(-3 * repeated * time.Second))
	second := outageSince(time.UnixMilli(first.to).Add(time.Second))
	c.Begin(job, time.UnixMilli(first.from).Add(-time.Second))
	nodes := proof.Node{Jobs: []proof.Job{job}}
	startNodes(c, cluster, nodes)
	c.Warm(job)
	first.request(t, c, job)
	killInTurn(c, nodes)
	c.Must("the first backfill does its work", func(v proof.View) bool { return first.done(v) == repeated })
	c.Settle(job)
	second.request(t, c, job)
	c.Must("the second backfill does a part of its work", func(v proof.View) bool { return second.done(v) >= stopAfter })
	stop := []string{"backfill", job.Name, "--stop", "--reason", "enough"}
	operate(t, c, stop...)
	if out := operate(t, c, stop...); !strings.Contains(out, "no backfill of report goes on") {
		t.Errorf("a stopped backfill is stopped again: %s", out)
	}
	c.Settle(job)
	operate(t, c, "verify")
	e := c.Finish(job)
	e.Allowed = explainedByDeath
	e.Requested = func(r *proof.Record) bool { return first.has(r.For) || second.has(r.For) }
	acquit(t, e)
	b := readBackfills(e.Journals[job.Name])
	first.wasDone(t, e, b)
	second.wasStopped(t, b)
	unharmed(t, e.Journals[job.Name])
}

// An outage is a time in the past in which no node decided the job's ticks, one each second. Its ends are
// ticks of it, in Unix ms.
type outage struct{ from, to int64 }

// outageSince returns the outage whose first tick is from.
func outageSince(from time.Time) outage {
	return outage{from.UnixMilli(), from.Add((repeated - 1) * time.Second).UnixMilli()}
}

func (o outage) has(tick int64) bool { return o.from <= tick && tick <= o.to }

// request requests a backfill of the ticks with the real binary: all were missed.
func (o outage) request(t *testing.T, c *proof.Cluster, j proof.Job) {
	t.Helper()
	stamp := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	out := operate(t, c, "backfill", j.Name, "--from", stamp(o.from), "--to", stamp(o.to), "--room", "200ms",
		"--yes", "--reason", "the outage")
	for _, want := range []string{fmt.Sprintf("%d ticks of %s would be repeated", repeated, j.Name), fmt.Sprintf("%d missed: ", repeated)} {
		if !strings.Contains(out, want) {
			t.Fatalf("cronce backfill printed %q, want %q", out, want)
		}
	}
}

// done returns how many ticks have a run of a backfill that ended.
func (o outage) done(v proof.View) int {
	ticks := map[int64]bool{}
	for _, r := range v.Find(isEnd, func(r *proof.Record) bool { return o.has(r.For) }) {
		ticks[r.For] = true
	}
	return len(ticks)
}

// killInTurn kills nodes in the middle of a run of a backfill, one after another until none is left, and starts
// as many again, until enough of those runs had another attempt.
func killInTurn(c *proof.Cluster, n proof.Node) {
	for hits := 0; hits < cluster; {
		run := killBackfilling(c)
		if len(c.Alive()) == 0 {
			startNodes(c, cluster, n)
		}
		c.Must("the run has another attempt, or ended", func(v proof.View) bool {
			again := len(v.Find(isStart, attemptAfter(run))) > 0
			return again || len(v.Find(isEnd, of(run))) > 0
		})
		if len(c.View().Find(isStart, attemptAfter(run))) > 0 {
			hits++
		}
	}
}

// killBackfilling waits for a run of a backfill and kills its node. It returns the run, which may have ended
// just before.
func killBackfilling(c *proof.Cluster) (run proof.Record) {
	c.Must("a node runs a part of the backfill", func(v proof.View) bool {
		for _, run = range v.UnderWay(func(r *proof.Record) bool { return r.For != 0 }) {
			if c.Process(run.Pid).Alive() {
				return true
			}
		}
		return false
	})
	c.Process(run.Pid).Kill()
	return run
}

// wasDone checks that the work of each tick was done to its end once, and that dead nodes were replaced.
func (o outage) wasDone(t *testing.T, e *proof.Evidence, b backfills) {
	t.Helper()
	for tick := o.from; tick <= o.to; tick += time.Second.Milliseconds() {
		at := time.UnixMilli(tick).UTC()
		if runs := b.runs[tick]; len(runs) != 1 || len(b.ok[runs[0]]) != 1 {
			t.Errorf("the work of %v was given to %d runs, want one that ended ok once: %v", at, len(runs), runs)
			continue
		}
		attempt := b.ok[b.runs[tick][0]][0]
		ends := e.Find(isEnd, func(r *proof.Record) bool { return r.For == tick && r.Attempt == attempt && r.Cause == "" })
		if len(ends) != 1 {
			t.Errorf("the ledger has %d ends of attempt %d for the work of %v, want 1", len(ends), attempt, at)
		}
	}
	taken := 0
	for _, k := range proof.Takeovers(e) {
		if k.Killed.For != 0 && k.Next.Attempt == k.Killed.Attempt+1 && k.Next.Fence > k.Killed.Fence && k.Next.For == k.Killed.For {
			taken++
		}
	}
	t.Logf("%d runs of the backfill were taken over", taken)
}

// wasStopped checks that the stop left the rest of the ticks without a run, and that each run came to its
// end: at most one was superseded, the run that waited.
func (o outage) wasStopped(t *testing.T, b backfills) {
	t.Helper()
	given, superseded := 0, 0
	for tick, runs := range b.runs {
		if !o.has(tick) {
			continue
		}
		given += len(runs)
		for _, n := range runs {
			if b.superseded[n] {
				superseded++
			} else if len(b.ok[n]) != 1 {
				t.Errorf("the run of a stopped backfill for the work of %v ended ok %d times, want 1", time.UnixMilli(tick).UTC(), len(b.ok[n]))
			}
		}
	}
	t.Logf("the stopped backfill had %d runs, of which %d never started", given, superseded)
	if given < stopAfter || given >= repeated || superseded > 1 {
		t.Errorf("the stopped backfill had %d runs, of which %d never started, want %d to %d, at most one of them", given, superseded, stopAfter, repeated-1)
	}
}

// unharmed checks that no tick was skipped because of a manual run.
func unharmed(t *testing.T, j series.Journal) {
	t.Helper()
	if j.Truncated {
		t.Error("the journal has lost lines")
	}
	for _, l := range j.Lines {
		if l.Verdict == series.VerdictSkipped && spec.Manual(l.Blocker) {
			t.Errorf("the tick %v was skipped because of the run of a backfill", time.UnixMilli(l.To).UTC())
		}
	}
}

// backfills are the runs of backfills in a journal.
type backfills struct {
	runs       map[int64][]int64 // the instants of the runs for a tick
	ok         map[int64][]int   // the attempts of a run that ended ok
	superseded map[int64]bool    // the runs that never started
}

func readBackfills(j series.Journal) backfills {
	b := backfills{map[int64][]int64{}, map[int64][]int{}, map[int64]bool{}}
	for _, l := range j.Lines {
		switch {
		case l.Verdict == series.VerdictWaiting && l.For != 0:
			b.runs[l.For] = append(b.runs[l.For], l.To)
		case l.Verdict == series.VerdictSuperseded:
			b.superseded[l.To] = true
		case l.Outcome == series.OutcomeOK:
			b.ok[l.To] = append(b.ok[l.To], l.Attempt)
		}
	}
	return b
}
