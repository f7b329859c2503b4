package reconcile

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

const (
	retireEvery = 5 * time.Minute // one of the nodes looks for removed jobs
	retireMost  = 1000            // the most jobs whose journals it reads in one turn
	retireReads = 256             // jobs that are read at once
)

// retireReason is the reason that is recorded when a node retires a job.
const retireReason = "no node has it"

// Retire retires the jobs that were removed from all nodes, until ctx ends. If all nodes have the
// same list of nodes, one node at a time looks for such jobs. Otherwise several do, and the store
// still retires a job once.
func (r *Reconciler) Retire(ctx context.Context) {
	if r.cfg.Control == nil {
		return
	}
	for {
		now := r.cfg.Clock.Ms()
		turn := now / retireEvery.Milliseconds()
		left := time.Duration((turn+1)*retireEvery.Milliseconds()-now) * time.Millisecond
		if wait.Sleep(ctx, max(left, time.Second)) != nil {
			return
		}
		r.mu.Lock()
		first := r.nodes.First(rendezvous.Hash("retire"), turn+1, "")
		r.mu.Unlock()
		if first && !r.cfg.Dispatcher.Draining() {
			r.retireRemoved(ctx, int(turn+1))
		}
	}
}

// retireRemoved retires the removed jobs. Each turn begins at another job and ends at the first
// error, so that a later turn reaches the rest.
func (r *Reconciler) retireRemoved(ctx context.Context, turn int) {
	keys, err := wait.CallWithin(ctx, r.cfg.Timeout, r.cfg.Store.Keys)
	if err != nil {
		return
	}
	keys = r.others(keys)
	members, err := wait.CallWithin(ctx, r.cfg.Timeout, r.cfg.Store.Members)
	if err != nil || len(keys) == 0 {
		return
	}
	left := retireMost
	for from := range (len(keys) + retireReads - 1) / retireReads {
		at := (from + turn) % ((len(keys) + retireReads - 1) / retireReads) * retireReads
		part := keys[at:min(at+retireReads, len(keys))]
		all, err := wait.CallWithin(ctx, r.cfg.Timeout, func(ctx context.Context) ([]series.Series, error) {
			return r.cfg.Store.ReadSeries(ctx, part), nil
		})
		if err != nil {
			return
		}
		for i := range all {
			s := &all[i]
			if s.Err != nil || s.Mark == 0 || s.Paused || s.Now-s.Mark < series.SightedWithin.Milliseconds() {
				continue // unknown, paused by an operator, retired, or recently decided by a node
			}
			if left--; left < 0 || !r.retire(ctx, &members, s) {
				return
			}
		}
	}
}

// others returns the keys of jobs that this node does not have.
func (r *Reconciler) others(keys []string) (others []string) {
	own := map[string]bool{}
	for no := range r.cfg.Dispatcher.Jobs() {
		if known := r.cfg.Dispatcher.Job(no); known.Job != nil {
			own[known.Name] = true
		}
	}
	for _, key := range keys {
		if !own[key] {
			others = append(others, key)
		}
	}
	return others
}

// retire retires a job that was removed long enough ago. It reports whether the store answered.
func (r *Reconciler) retire(ctx context.Context, members *series.MemberList, s *series.Series) bool {
	opened, ok := r.sightings(ctx, s.Key)
	if !ok {
		return false
	}
	at, removed := members.Removed(s, opened)
	if !removed || s.Now-at < series.SightedWithin.Milliseconds() {
		return true
	}
	a, err := r.control(ctx, series.Control{Key: s.Key, Action: series.ActionRetire, Reason: retireReason, Seen: s.Change})
	if err != nil {
		return false
	}
	if !a.Made {
		return true // the job has changed, or a run is alive
	}
	again, ok := r.sightings(ctx, s.Key)
	for i := range again {
		if again[i].Last > at { // a node has opened it meanwhile, and would notice the retirement only at its next opening
			_, err = r.control(ctx, series.Control{Key: s.Key, Action: series.ActionResume, Reason: "a node has it", Seen: a.Change})
			return ok && err == nil
		}
	}
	r.cfg.Events.JobRetired(s.Key, retireReason)
	return ok
}

// control requests a change.
func (r *Reconciler) control(ctx context.Context, c series.Control) (series.ControlAnswer, error) {
	c.Op, c.Who = uuid.NewString(), r.cfg.Node
	return wait.CallWithin(ctx, r.cfg.Timeout, func(ctx context.Context) (series.ControlAnswer, error) {
		a := r.cfg.Control.Control(ctx, c)
		return a, a.Err
	})
}

// sightings returns the nodes that have opened a job, with their specs.
func (r *Reconciler) sightings(ctx context.Context, key string) ([]series.RevisionUse, bool) {
	journal, err := wait.CallWithin(ctx, r.cfg.Timeout, func(ctx context.Context) (series.Journal, error) {
		return r.cfg.Store.Journal(ctx, key, 1)
	})
	return journal.Revisions, err == nil
}
