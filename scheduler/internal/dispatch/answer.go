package dispatch

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/runs"
)

// answered applies the answers to claims. Granted runs start first.
func (d *Dispatcher) answered(r *request, answers []claimer.Claimed, took time.Duration) {
	all := r.claims
	granted := make([]*runs.Attempt, 0, len(all))
	reached, failed := verdict(answers)
	d.mu.Lock()
	now := d.cfg.Clock.Ms()
	for i, p := range all {
		a := &answers[i]
		d.answers[min(a.Kind, series.KindOperator)]++
		if d.claims.Answer(p, a.Answer, now) > 0 {
			granted = d.attempts(granted, p, a)
		}
	}
	if reached {
		d.lead.answered(took)
	}
	fx := d.claims.Effects()
	d.arm()
	d.mu.Unlock()
	d.cfg.Runs.Start(d.life, d, granted, len(all))
	d.apply(fx)
	if reached || d.life.Err() == nil { // a request that was cut short by the end of the node proves nothing
		d.cfg.Health.Answered(health.Part{Partition: all[0].Partition(), Kind: health.Claims}, failed)
	}
	for i, p := range all {
		p.Report(answers[i].Answer, d.cfg.Events)
	}
	d.returned(r)
}

// verdict reports whether the store answered, and its failure if not. A store that answers some
// claims is reachable; the failures then concern the jobs of the other claims.
func verdict(answers []claimer.Claimed) (reached bool, failed error) {
	for i := range answers {
		if err := answers[i].Err; health.Reached(err) {
			reached = true
		} else {
			failed = err
		}
	}
	if reached {
		return true, nil
	}
	return false, failed
}

// attempts appends an attempt of a grant, or one for each granted shard. The caller holds the mutex.
func (d *Dispatcher) attempts(all []*runs.Attempt, p *claims.Pending, a *claimer.Claimed) []*runs.Attempt {
	g := runs.Grant{Run: d.claims.Run(p), Lease: a.Lease, Attempt: a.Attempt, Wait: a.Wait, LastOK: a.Last, For: a.For}
	if a.Lease != nil {
		return append(all, &runs.Attempt{Grant: g})
	}
	g.TickFence = a.Fence
	for i, s := range a.Shards {
		g.Lease, g.Attempt, g.Param = a.Leases[i], s.Attempt, s.Param
		all = append(all, &runs.Attempt{Grant: g})
	}
	return all
}

// apply performs the actions outside of the claims that answers require.
func (d *Dispatcher) apply(fx claims.Effects) {
	for _, j := range fx.Open {
		d.cfg.Open(j)
	}
	for _, r := range fx.Replace {
		d.cfg.Runs.Replace(r.Job, r.Newer)
	}
	if fx.ReadClock {
		d.cfg.Beat.Raise()
	}
	for _, p := range fx.Learn {
		d.cfg.Learn(p)
	}
	for _, s := range fx.Short {
		d.cfg.Events.Unreplicated(s)
	}
	for _, r := range fx.Regressed {
		d.cfg.Events.StoreForgot(r)
	}
	for _, f := range fx.Fenced {
		d.cfg.Events.FenceAhead(f)
	}
}

// Opened applies the store's state of opened jobs.
func (d *Dispatcher) Opened(all []job.Opened, slack time.Duration) {
	d.mu.Lock()
	now := d.cfg.Clock.Ms()
	for _, o := range all {
		d.claims.Opened(o.Job, o.Series, o.Former, o.Sent, now, slack)
	}
	fx := d.claims.Effects()
	d.arm()
	d.mu.Unlock()
	d.apply(fx)
}

// Vacated gives the slot of a run that returned to the next claim.
func (d *Dispatcher) Vacated() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claims.Vacate() {
		d.arm()
	}
}

// Ended starts the claims that waited for the end of a run.
func (d *Dispatcher) Ended(a *runs.Attempt, e series.EndAnswer) {
	if e.Sum != nil {
		d.cfg.Events.TickFinished(a.Job, e.Sum)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claims.Ended(a.Job, a.Tick, a.Lease.Ref.Fence, a.Backlog, e, d.cfg.Clock.Ms())
	d.arm()
}

// EndRefused lets a job go on although the store refuses the end of its run.
func (d *Dispatcher) EndRefused(a *runs.Attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claims.EndRefused(a.Job, a.Tick, a.Lease.Ref.Fence, d.cfg.Clock.Ms())
	d.arm()
}
