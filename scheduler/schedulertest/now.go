package schedulertest

import (
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// RunNow runs a job for one tick, now, regardless of its spec, with its retries, timeout and middleware.
// It uses a node and a store of its own, separate from the cluster. It returns the state of the
// tick when the run has ended.
func (c *Cluster) RunNow(job scheduler.Job) verify.TickState {
	c.t.Helper()
	job.Spec, job.NotBefore, job.Until, job.Every, job.Exclude, job.Jitter = "", time.Time{}, time.Time{}, 0, nil, 0
	job.At = time.Now().Truncate(time.Second).Add(time.Second)
	alone := &Cluster{t: c.t, store: memlock.New(memlock.Options{})}
	defer alone.end()
	alone.Node(job)
	for {
		time.Sleep(100 * time.Millisecond)
		switch state := alone.Verdict(job.Name, job.At); state {
		case verify.TickFuture, verify.TickUndecided, verify.TickRunning, verify.TickWaiting, verify.TickNotKnown:
		default:
			return state
		}
	}
}
