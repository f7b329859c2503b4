package proof_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// The node that runs a job is stopped for longer than its lease, and then continues. Meanwhile another
// node runs the tick again. The run of the stopped node is cancelled with the cause, and its later
// writes are refused by their fence.
func TestPause(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, proof.Member)
	writer := proof.Job{Name: "writer", Every: 8 * time.Second, Work: 6 * time.Second, Lease: 2 * time.Second,
		Takeover: scheduler.TakeoverRerun, Attempts: 100, Writes: 20 * time.Millisecond}
	jobs := []proof.Job{writer, {Name: "quick", Every: time.Second, Lease: 2 * time.Second}}
	startNodes(c, 3, proof.Node{Jobs: jobs})
	c.Warm(jobs...)
	for begun := time.Now(); time.Since(begun) < running(); {
		pauseWinner(t, c, writer)
	}
	e := c.Finish(jobs...)
	e.Allowed = explainedByPause
	acquit(t, e)
}

// pauseWinner stops the node that runs the job until another node writes, lets it continue, and checks
// the consequences.
func pauseWinner(t *testing.T, c *proof.Cluster, j proof.Job) {
	t.Helper()
	var old proof.Record
	c.Must("a run of the job writes", func(v proof.View) bool {
		for _, r := range v.UnderWay(func(r *proof.Record) bool { return r.Job == j.Name }) {
			if len(v.Find(isWrite, of(r))) > 0 && c.Process(r.Pid).Alive() {
				old = r
				return true
			}
		}
		return false
	})
	victim := c.Process(old.Pid)
	stopped := victim.Pause()
	c.Must("another node writes", func(v proof.View) bool {
		return len(v.Find(isWrite, attemptAfter(old), accepted)) > 0
	})
	if took := time.Since(stopped); took < j.Lease/2 || took > j.Lease+j.Every/2+c.Starved(stopped, time.Now()) {
		t.Errorf("another node wrote %v after the winner was stopped, with a lease of %v", took, j.Lease)
	}
	continued := victim.Continue()
	c.Must("the old run ends because its lease is lost", func(v proof.View) bool {
		return len(v.Find(func(r *proof.Record) bool {
			return r.Kind == proof.End && strings.HasPrefix(r.Cause, lock.ErrLost.Error())
		}, of(old))) == 1 &&
			v.Say("lease lost", about(old)) == 1 && v.Say("run finished", about(old), outcome("lost")) == 1
	})
	c.Must("its late writes are refused", func(v proof.View) bool {
		late := v.Find(isWrite, of(old), func(r *proof.Record) bool { return r.At.After(continued) })
		return len(late) > 0 && len(late) == len(v.Find(isWrite, of(old), refused))
	})
}

func isWrite(r *proof.Record) bool  { return r.Kind == proof.Write }
func refused(r *proof.Record) bool  { return r.Refused }
func accepted(r *proof.Record) bool { return !r.Refused }

func by(pid int) func(*proof.Record) bool {
	return func(r *proof.Record) bool { return r.Pid == pid }
}

// of matches the records of a run.
func of(o proof.Record) func(*proof.Record) bool {
	return func(r *proof.Record) bool { return r.Job == o.Job && r.Tick == o.Tick && r.Fence == o.Fence }
}

// about matches the log lines of a run's own process about it.
func about(o proof.Record) func(*proof.Line) bool {
	return func(l *proof.Line) bool {
		return l.Pid == o.Pid && l.Str("job") == o.Job && l.Tick() == o.Tick && l.Int("fence") == o.Fence
	}
}

func outcome(want string) func(*proof.Line) bool {
	return func(l *proof.Line) bool { return l.Str("outcome") == want }
}

// explainedByPause explains verdicts after a stop: the run of a stopped node blocks later ticks until
// its lease is over. A run that was granted and had not started when the node was stopped, or that the
// job does not allow again, is lost.
func explainedByPause(j *proof.Job, _ int64, v series.Verdict, reason string) bool {
	return v == series.VerdictSkipped && reason == series.ReasonOverlap ||
		v == series.VerdictLost && j.Takeover == scheduler.TakeoverLost
}
