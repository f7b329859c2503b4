package schedulertest

import (
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// RunNow runs a job for one tick, now, whatever its spec: with its retries, its timeout and its
// middleware, on a node and a store of its own, beside the cluster. It returns how the tick stands when
// its run has ended.
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
