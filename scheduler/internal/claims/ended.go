package claims

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/spec"
)

// Run returns the run of a claim that was granted. The node must give back the grant if the job was
// removed, or if the claim was sent in a drain, to find out whether an earlier request was granted.
func (c *Claims) Run(p *Pending) job.Run {
	return job.Run{
		Job: p.job, Ending: &p.e.ending, Tick: p.tick, TTL: p.lease(),
		Backlog: p.purpose == forBacklog && p.job.Rules.Overlap != series.OverlapAllow,
		Void:    c.draining && p.latest == past || p.e.removed,
	}
}

// Ended starts the claims that waited for the end of a run of this node, and the next missed tick
// if chained. If another node has taken the run over, Ended schedules a probe of its run, because
// that node may die as well.
func (c *Claims) Ended(j *job.Job, tick, fence int64, chained bool, a series.EndAnswer, now int64) {
	e := c.entry(j)
	if a.Ended && a.Waiting == 0 && !e.Rules.Backlog() && e.latest == nil && len(c.parked[e]) == 0 {
		return // nothing waits
	}
	if !a.Ended && !c.leaves(e) {
		c.schedule(run{e, tick}, fence, now, false)
	}
	starts, manual := a.Waiting != 0 && !c.leaves(e), spec.Manual(a.Waiting)
	if starts && !manual {
		c.startWaiting(run{e, a.Waiting}, a.Fence, now)
	}
	if chained || e.chain != nil {
		c.chain(e, e.mark, now)
	}
	c.resendHeld(e, now)
	c.unpark(e, now)
	if starts && manual { // the ticks that waited for the run go first
		c.startWaiting(run{e, a.Waiting}, a.Fence, now)
	}
}

// startWaiting claims a tick, or a manual run, that waited for the end of a run.
func (c *Claims) startWaiting(r run, fence, now int64) {
	if p := c.probes[r]; p.of(fence) && p.claim.reply == replyOpen {
		p.claim.freed = true
		return
	}
	c.schedule(r, fence, now, false)
}

// resendHeld sends a claim again that was held by a run which has ended. The store has not recorded
// that this tick waits, so without the repeat nothing would start it before the lease of the run
// would have expired. Missed ticks that run in order need no repeat: the chain claims them.
func (c *Claims) resendHeld(e *entry, now int64) {
	switch old := e.latest; {
	case old == nil || e.chain != nil || c.leaves(e):
	case old.reply == replyOpen:
		old.freed = true
	case old.reply == replyBlocked:
		c.supersede(old, now)
		e.latest = &Pending{e: e, job: e.Job, tick: old.tick, after: old.after, between: old.between}
		c.retries.add(now, e.latest)
	}
}

// EndRefused lets a job go on although the store refuses the end of its run, and probes the run.
func (c *Claims) EndRefused(j *job.Job, tick, fence, now int64) {
	e := c.entry(j)
	c.unpark(e, now)
	if !c.leaves(e) {
		c.schedule(run{e, tick}, fence, now, false)
	}
}

// Opened applies the store's state of a job, the reply to an opening that sent the mark sent. It
// probes runs that are over or will expire, and claims the latest tick if no node has decided it
// and it is at least slack old. Ticks that former specs left undecided are settled.
func (c *Claims) Opened(j *job.Job, s *series.Series, former []job.Former, sent, now int64, slack time.Duration) {
	e := c.entry(j)
	if e.Job != j || e.removed {
		return // the job has changed since the opening was sent
	}
	if s.Mark < sent {
		c.regress(e, s.Mark)
	}
	e.mark, e.open = max(e.mark, s.Mark), true
	if e.since == 0 {
		e.since = s.Since // of this process's spec; its revision may change with the year
	}
	if c.draining {
		return // another node probes; a probe scheduled now would keep the drain waiting for it
	}
	for i := range s.Runs {
		c.found(e, &s.Runs[i], s, now)
	}
	c.changed(e, former, now)
	if e.Last() > max(e.mark, e.since) && e.latest == nil && e.chain == nil && now-e.Last() >= slack.Milliseconds() {
		e.latest = &Pending{e: e, job: e.Job, tick: e.Last(), after: e.Spec.PrevMilli(e.Last() - 1)}
		c.retries.add(now, e.latest)
	}
}

// found schedules a probe of a run that the store returned: for the end of its lease, or for now if
// the run was given back, or is manual and waits for no other run.
func (c *Claims) found(e *entry, r *series.Run, s *series.Series, now int64) {
	if r.Shards > 0 && r.State == series.RunOpen { // its nodes may all be dead
		c.watchShards(&Pending{e: e, job: e.Job}, &series.Answer{Number: r.Number, Fence: r.Fence, State: r.State, Of: r.Shards, Free: 1}, now)
		return
	}
	until := int64(0)
	waits := r.State == series.RunWaiting && !(r.Manual() && e.Rules.Overlap == series.OverlapAllow)
	for i := range s.Runs {
		if o := &s.Runs[i]; o.State == series.RunOpen && (o == r || waits) {
			until = max(until, o.Until)
		}
	}
	a := series.Answer{Number: r.Number, Node: driver.NodeOf(r.Owner), Left: time.Duration(max(0, until-s.Now)) * time.Millisecond}
	c.schedule(run{e, r.Number}, r.Fence, c.probeAt(e, &a, now), c.peeksAtRun(e, &a, now))
}
