package scheduler

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/heartbeat"
)

// heedNotices acts at once when an operator requests or cancels a run, until life ends. A store that
// does not notify has its audit read instead. A notice may be lost. Then the next renewal says that a
// run is cancelled, and the next turn of the reconciler, or the next end of a run, finds a request.
func (n *Node) heedNotices(life context.Context) {
	notifier, notifies := n.cfg.Store.(series.RunNotifier)
	if controlled, can := n.cfg.Store.(series.Controlled); can && !notifies {
		n.pollAudit(life, controlled)
	}
	for failures := 1; notifies && life.Err() == nil; failures++ {
		began := time.Now()
		_, _ = wait.Call(life, 0, func(ctx context.Context) (struct{}, error) { // a drain does not wait for a store that is silent
			return struct{}{}, notifier.NotifyRuns(ctx, n.heed)
		})
		if time.Since(began) > renotify.Longest {
			failures = 1
		}
		_ = wait.Sleep(life, renotify.After(failures))
	}
}

// renotify are the pauses before a store that does not notify of runs is requested to again.
var renotify = wait.Backoff{First: time.Second, Longest: time.Minute, Spread: true}

// heed renews the runs of a job, and reads the job for a run that an operator has requested.
func (n *Node) heed(name string) {
	n.claimer.RenewNow(name)
	if j := n.registry.named(name); j != nil && !n.dispatcher.Draining() {
		n.unopened.Add(j)
	}
}

// newest is how many records of the audit are read for requests.
const newest = 200

// pollAudit reads the newest records of the audit in the interval of heartbeats, and heeds those that
// are new.
func (n *Node) pollAudit(life context.Context, controlled series.Controlled) {
	known := map[int]int64{} // the highest number of each shard
	for first := true; wait.Sleep(life, heartbeat.Every) == nil; {
		records, err := wait.CallWithin(life, n.cfg.StoreTimeout, func(ctx context.Context) ([]series.AuditRecord, error) {
			return controlled.Audit(ctx, "", newest)
		})
		if err != nil {
			continue // the heartbeat reports that the store does not answer
		}
		highest := map[int]int64{}
		for i := range records {
			r := &records[i]
			highest[r.Shard] = max(highest[r.Shard], r.Number)
			if asks := r.Action == series.ActionRun || r.Action == series.ActionCancel; asks && !first && r.Number > known[r.Shard] {
				n.heed(r.Key)
			}
		}
		known, first = highest, false // a store that lost its audit begins with 1 again
	}
}
