package claims

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// A run is a run of another owner, or a tick that waits for the end of one. It is probed when its
// deadline has passed, so that a dead node is noticed without a leader.
type run struct {
	e    *entry
	tick int64
}

// A probe finds out whether a run is over, with a claim to take it over.
type probe struct {
	claim   *Pending
	at      int64 // when it is sent
	runPeek bool  // this node peeks at the run before that: see runpeeks.go
}

// of reports whether this is a probe of the run with this fence.
func (p probe) of(fence int64) bool { return p.claim != nil && p.claim.from == fence }

// watch probes the run that an answer names, if it may need another attempt or its end.
func (c *Claims) watch(e *entry, a *series.Answer, now int64) {
	r := run{e, a.Number}
	if a.State == series.RunNone || a.State >= series.RunDone || c.leaves(e) {
		c.cancel(r)
		return
	}
	if a.Left > 0 && c.queued(r) {
		c.cancel(r) // the run lives: no slot is needed yet
	}
	c.schedule(r, a.Fence, c.probeAt(e, a, now), c.peeksAtRun(e, a, now))
}

// watchWaiting probes a waiting tick when the run that it waits for is over. The node of that run
// starts the waiting tick at once; the probe covers the case that this node died.
func (c *Claims) watchWaiting(e *entry, a *series.Answer, now int64) {
	if !c.leaves(e) {
		c.schedule(run{e, a.Number}, a.Fence, c.probeAt(e, a, now), false)
	}
}

// schedule schedules a probe. An earlier probe of the same run is kept instead.
func (c *Claims) schedule(r run, fence, at int64, runPeek bool) {
	if p := c.probes[r]; p.of(fence) && p.at <= at {
		p.runPeek = p.runPeek || runPeek
		c.probes[r] = p
		return
	}
	p := &Pending{e: r.e, job: r.e.Job, tick: r.tick, after: r.tick - 1, from: fence, purpose: forProbe}
	c.plan(r, probe{p, at, runPeek})
	c.retries.add(at, p)
}

// plan replaces the probe of a run by p.
func (c *Claims) plan(r run, p probe) {
	if c.probes[r].claim != p.claim {
		c.cancel(r)
	}
	c.probes[r] = p
}

// aside is how far from each tick of a job, in milliseconds, its manual runs start: by then a node has
// claimed the tick, even if the clocks of the nodes differ a little.
const aside = 100

// stepsAside sends a probe of a manual run later if a tick of the job is due about now, or was due, as
// after an outage, and has no verdict yet: the tick goes first, and may otherwise be skipped or missed
// because of that run.
func (c *Claims) stepsAside(p *Pending, now int64) bool {
	e := p.e
	if p.purpose != forProbe || !spec.Manual(p.tick) || e.Rules.Overlap == series.OverlapAllow || p.mayHoldLease() {
		return false
	}
	if e.latest != nil || e.chain != nil {
		c.waitUntil(p, now+aside)
		return true
	}
	due := e.Due()
	if due == 0 || due-aside > now {
		due = e.DueAt(e.Last())
	}
	if due == 0 || due+aside <= now {
		return false
	}
	c.waitUntil(p, due+aside)
	return true
}

// cancel cancels the probe of a run, if one is scheduled.
func (c *Claims) cancel(r run) {
	if len(c.probes) == 0 {
		return
	}
	old := c.probes[r].claim
	delete(c.probes, r)
	if old != nil && old.state == stateQueued && c.cancelled(old) {
		c.waiting.leave(old)
	}
}

// granted cancels the probe of the previous tick's run if an answer shows that this tick was
// granted: where runs do not overlap, the grant settled the run before.
func (c *Claims) granted(e *entry, before int64, a *series.Answer) {
	if e.Rules.Overlap != series.OverlapAllow && (a.State == series.RunOpen || a.State == series.RunDone) {
		c.cancel(run{e, before})
	}
}

// cancelled reports whether a claim is a probe that was cancelled, or replaced by another one of its run.
func (c *Claims) cancelled(p *Pending) bool {
	return p.purpose == forProbe && !p.mayHoldLease() && c.probes[run{p.e, p.tick}].claim != p
}

// probeAnswered forgets a probe that was answered. The answer may lead to another probe.
func (c *Claims) probeAnswered(p *Pending) {
	if r := (run{p.e, p.tick}); p.from != 0 && c.probes[r].of(p.from) {
		c.cancel(r)
	}
}

// probeAt returns the time to probe a run: the end of its lease, rounded up to a grid that many
// probes share. The watcher that is first for the tick, not counting the run's own node, probes first.
func (c *Claims) probeAt(e *entry, a *series.Answer, now int64) int64 {
	switch {
	case a.Of > 0: // shards may end, or be given back, at any time
		return onGrid(now+time.Second.Milliseconds(), probeGrid)
	case a.Left == 0:
		return now
	}
	at := onGrid(now+a.Left.Milliseconds()+1, probeGrid)
	if !c.watchers(e.Partition).First(e.Hash, a.Number, a.Node) {
		at += max(c.cfg.Spread.Milliseconds(), retryGrid)
	}
	return at
}
