package reconcile

import (
	"context"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// logDiffering logs each job once for which other nodes have another spec. The line has both specs.
func (r *Reconciler) logDiffering(ctx context.Context) {
	r.mu.Lock()
	jobs := r.differing
	r.differing = nil
	r.mu.Unlock()
	for _, j := range jobs {
		own, other := inZone(j.Spec.Text(), j.Spec.Zone().String()), r.otherSpec(ctx, j)
		if other == own {
			other += ", by another time zone database"
		}
		r.cfg.Events.SpecsDiffer(j, own, other)
	}
}

// otherSpec returns the spec of the other revision, or the revision itself if the journal does not
// have the spec.
func (r *Reconciler) otherSpec(ctx context.Context, j *job.Job) string {
	r.mu.Lock()
	other := r.other[j]
	r.mu.Unlock()
	journal, _ := wait.CallWithin(ctx, r.cfg.Timeout, func(ctx context.Context) (series.Journal, error) {
		return r.cfg.Store.Journal(ctx, j.Name, 1)
	})
	for _, rev := range journal.Revisions {
		if rev.Revision == other {
			return inZone(rev.Spec, rev.Zone)
		}
	}
	return other
}

// inZone adds the zone, because a spec text without a zone does not show it.
func inZone(text, zone string) string { return text + " (" + zone + ")" }
