package proof_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

const lease = 3 * time.Second

// Nodes are killed in the middle of their runs, again and again, and others take
// their place. Where the job asks for it each run has a new attempt within its
// lease and a second; where it does not, the tick is lost and says so.
func TestKill(t *testing.T) {
	t.Parallel()
	both(t, kill)
}

func kill(t *testing.T, p proof.Program) {
	want := 20
	if testing.Short() {
		want = 4
	}
	c := proof.NewCluster(t, p)
	jobs := mortal()
	startNodes(c, 3, proof.Node{Jobs: jobs})
	c.Warm(jobs...)
	begun, measured := time.Now(), 0
	for i := 3; time.Since(begun) < running() || measured < want; i++ {
		measured += killBusiest(c, isRerun)
		c.Start(proof.Node{Name: fmt.Sprint("n", i), Jobs: jobs})
	}
	c.Must("each run of a dead node has a new attempt", func(v proof.View) bool { // also one whose start was reported late
		return !slices.ContainsFunc(v.UnderWay(isRerun, ofDead(c)), func(r proof.Record) bool { return len(v.Find(isStart, attemptAfter(r))) == 0 })
	})
	c.Settle(jobs...)
	e := c.Finish(jobs...)
	e.Allowed = explainedByDeath
	acquit(t, e)
	punctual(t, e, want)
}

// mortal are jobs whose ticks are run again, and some whose ticks are lost. The
// former tick so rarely that no later tick's claim finds a dead run in time: it
// takes a node that watches.
func mortal() (jobs []proof.Job) {
	for i := range 9 {
		jobs = append(jobs, proof.Job{Name: fmt.Sprint("rerun", i), Every: 10 * time.Second, Work: 3 * time.Second,
			Lease: lease, Takeover: scheduler.TakeoverRerun, Attempts: 100})
	}
	for i := range 4 {
		jobs = append(jobs, proof.Job{Name: fmt.Sprint("lost", i), Every: 2 * time.Second, Work: time.Second, Lease: lease})
	}
	return jobs
}

func isRerun(r *proof.Record) bool { return r.Job[0] == 'r' }

// killBusiest waits for a node with at least two runs under way, kills it, waits
// until all of them have a new attempt, and returns how many there were.
func killBusiest(c *proof.Cluster, which func(*proof.Record) bool) int {
	var victim *proof.Process
	c.Must("a node is busy", func(v proof.View) bool {
		victim = busiest(c, v, which)
		return victim != nil
	})
	victim.Kill()
	dead := c.View().UnderWay(which, by(victim.Pid))
	c.Must("its runs have new attempts", func(v proof.View) bool {
		for _, d := range dead {
			if len(v.Find(isStart, attemptAfter(d))) == 0 {
				return false
			}
		}
		return true
	})
	return len(dead)
}

// busiest returns the node with the most runs under way, if these are two or more.
func busiest(c *proof.Cluster, v proof.View, which func(*proof.Record) bool) (victim *proof.Process) {
	runs := map[int]int{}
	for _, r := range v.UnderWay(which) {
		runs[r.Pid]++
	}
	most := 1
	for _, p := range c.Alive() {
		if runs[p.Pid] > most {
			victim, most = p, runs[p.Pid]
		}
	}
	return victim
}

// ofDead returns which records are of processes that do not live.
func ofDead(c *proof.Cluster) func(*proof.Record) bool {
	alive := map[int]bool{}
	for _, p := range c.Alive() {
		alive[p.Pid] = true
	}
	return func(r *proof.Record) bool { return !alive[r.Pid] }
}

func isStart(r *proof.Record) bool { return r.Kind == proof.Start }
func isEnd(r *proof.Record) bool   { return r.Kind == proof.End }

func attemptAfter(d proof.Record) func(*proof.Record) bool {
	return func(r *proof.Record) bool { return r.Job == d.Job && r.Tick == d.Tick && r.Attempt > d.Attempt }
}

// explainedByDeath: a dead node's run is in the way of later ticks until its
// lease is over, and is lost then if its job says so.
func explainedByDeath(j *proof.Job, _ int64, v series.Verdict, reason string) bool {
	return v == series.VerdictSkipped && reason == series.ReasonOverlap ||
		v == series.VerdictLost && j.Takeover == scheduler.TakeoverLost
}

// punctual holds takeovers to their time: the lease, a second, and as long as an ordinary start took on this machine.
func punctual(t *testing.T, e *proof.Evidence, want int) {
	t.Helper()
	n, slowest, late := 0, time.Duration(0), lateness(e)
	for _, o := range proof.Takeovers(e) {
		if !isRerun(&o.Killed) {
			continue
		}
		took := o.Next.At.Sub(o.Fault.From)
		limit := lease + time.Second + late + e.Starved(o.Fault.From, o.Next.At)
		switch {
		case o.Next.Attempt == 0:
			t.Errorf("%s@%v: no attempt came after the kill of attempt %d", o.Killed.Job, o.Killed.Instant(), o.Killed.Attempt)
			continue
		case took > limit:
			t.Errorf("%s@%v: attempt %d came %v after the kill, want at most %v", o.Killed.Job, o.Killed.Instant(), o.Next.Attempt, took, limit)
		}
		slowest = max(slowest, took)
		n++
	}
	t.Logf("%d takeovers, the slowest %v after the kill", n, slowest)
	if n < want {
		t.Errorf("%d takeovers measured, want %d", n, want)
	}
}

// lateness is how long after its tick a first attempt started: a claim and a start, on this machine and this store. One in
// twenty took longer: those may have waited for a dead node.
func lateness(e *proof.Evidence) time.Duration {
	var late []time.Duration
	for _, r := range e.Find(isStart, func(r *proof.Record) bool { return r.Attempt == 1 }) {
		late = append(late, r.At.Sub(r.Instant()))
	}
	slices.Sort(late)
	return max(0, late[len(late)*19/20])
}
