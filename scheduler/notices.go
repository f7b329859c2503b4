package scheduler

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/heartbeat"
)

// heedNotices acts at once when an operator requests or cancels a run, until life ends. A store that
// does not notify has its audit read instead, in the interval of heartbeats. A notice may be lost. Then
// the next renewal says that a run is cancelled, and the audit, which is read before each further
// subscription, the next turn of the reconciler or the next end of a run finds a request.
func (n *Node) heedNotices(life context.Context) {
	controlled, _ := n.cfg.Store.(series.Controlled)
	audit := auditReader{store: controlled, timeout: n.cfg.StoreTimeout, heed: n.onNotice}
	notifier, notifies := n.cfg.Store.(series.RunNotifier)
	for failures := 1; life.Err() == nil && (notifies || controlled != nil); failures++ {
		pause := heartbeat.Every
		if notifies {
			began := time.Now()
			_, _ = wait.Call(life, 0, func(ctx context.Context) (struct{}, error) { // a drain does not wait for a store that is silent
				return struct{}{}, notifier.NotifyRuns(ctx, n.onNotice)
			})
			if time.Since(began) > worked {
				failures = 1
			}
			pause = renotify.After(failures)
		}
		if wait.Sleep(life, pause) == nil {
			audit.read(life)
		}
	}
}

// worked is the shortest time after which a subscription counts as one that worked. Most attempts that fail are shorter, and most
// proxies cut an idle connection later.
const worked = 20 * time.Second

// renotify are the pauses before the node subscribes again to the notices of a store that has ended them. A subscription that
// worked begins them anew.
var renotify = wait.Backoff{First: time.Second, Longest: time.Minute, Spread: true}

// onNotice renews the runs of a job, and reads the job for a run that an operator has requested.
func (n *Node) onNotice(name string) {
	n.claimer.RenewNow(name)
	if j := n.registry.named(name); j != nil && !n.dispatcher.Draining() {
		n.wanted.Add(j)
	}
}

// An auditReader finds requests and cancels of runs, and backfills, in the audit. It is not safe for concurrent use.
type auditReader struct {
	store   series.Controlled // nil: there is no audit
	timeout time.Duration
	heed    func(job string)
	known   map[int]int64 // the highest number of each partition that was read
}

// heeded are the actions that a node heeds at once.
var heeded = map[series.Action]bool{series.ActionRun: true, series.ActionBackfill: true, series.ActionCancel: true}

// newest is how many records of the audit are read for requests.
const newest = 200

// read reads the newest records, and heeds those that it has not read before.
func (a *auditReader) read(ctx context.Context) {
	if a.store == nil {
		return
	}
	records, err := wait.CallWithin(ctx, a.timeout, func(ctx context.Context) ([]series.AuditRecord, error) {
		return a.store.Audit(ctx, "", newest)
	})
	if err != nil {
		return // the heartbeat reports that the store does not answer
	}
	highest := map[int]int64{} // a store that lost its audit begins with 1 again
	for i := range records {
		r := &records[i]
		highest[r.Partition] = max(highest[r.Partition], r.Number)
		if heeded[r.Action] && r.Number > a.known[r.Partition] {
			a.heed(r.Key)
		}
	}
	a.known = highest
}
