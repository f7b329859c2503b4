package claims

import "github.com/cronce/cronce/lock/series"

// A run is one of another owner, or a tick that waits for its end. It is probed when its
// deadline has passed, so that a dead node is noticed without a leader.
type run struct {
	e    *entry
	tick int64
}

// A probe asks, by a claim to take it over, whether a run is over.
type probe struct {
	claim *Pending
	at    int64 // when it is sent
	look  bool  // this node looks at the run before that: see look.go
}

// of reports whether there is a probe of the run with this fence.
func (p probe) of(fence int64) bool { return p.claim != nil && p.claim.from == fence }

// watch probes the run that an answer names, if it may need another attempt or its end.
func (c *Claims) watch(e *entry, a *series.Answer, now int64) {
	r := run{e, a.Number}
	if a.State == series.RunNone || a.State >= series.RunDone || c.leaves(e) {
		c.cancel(r)
		return
	}
	c.schedule(r, a.Fence, c.probeAt(e, a, now), c.looks(e, a, now))
}

// watchWaiting probes a waiting tick when the run it waits for is over. The node that runs
// it starts the waiting tick at once; the probe is for when that node died.
func (c *Claims) watchWaiting(e *entry, a *series.Answer, now int64) {
	if !c.leaves(e) {
		c.schedule(run{e, a.Number}, a.Fence, c.probeAt(e, a, now), false)
	}
}

// schedule schedules a probe. Another one of the same run stays if it is earlier.
func (c *Claims) schedule(r run, fence, at int64, look bool) {
	if p := c.probes[r]; p.of(fence) && p.at <= at {
		p.look = p.look || look
		c.probes[r] = p
		return
	}
	p := &Pending{e: r.e, job: r.e.Job, tick: r.tick, after: r.tick - 1, from: fence, probe: true}
	c.plan(r, probe{p, at, look})
	c.retries.add(at, p)
}

// plan lets p take the place of the probe of a run that there is.
func (c *Claims) plan(r run, p probe) {
	c.cancel(r)
	c.probes[r] = p
}

// cancel cancels the probe of a run, if one is scheduled.
func (c *Claims) cancel(r run) {
	if len(c.probes) == 0 {
		return
	}
	old := c.probes[r].claim
	delete(c.probes, r)
	if old != nil && old.queued && c.cancelled(old) {
		c.waiting.leave(old)
	}
}

// granted cancels the probe of the run of the tick before, if an answer says that the tick
// itself was granted: where runs do not overlap, that settled the run before.
func (c *Claims) granted(e *entry, before int64, a *series.Answer) {
	if e.Rules.Overlap == series.OverlapSkip && (a.State == series.RunOpen || a.State == series.RunDone) {
		c.cancel(run{e, before})
	}
}

// cancelled reports whether a claim is a probe that was cancelled.
func (c *Claims) cancelled(p *Pending) bool {
	return p.probe && p.tries == 0 && c.probes[run{p.e, p.tick}].claim != p
}

// probeAnswered forgets a probe that was answered; the answer may lead to another.
func (c *Claims) probeAnswered(p *Pending) {
	if r := (run{p.e, p.tick}); p.from != 0 && c.probes[r].of(p.from) {
		c.cancel(r)
	}
}

// probeAt is when to probe a run: when its lease is over, on a grid that many probes share.
// The node that comes first for the tick without the run's node is first.
func (c *Claims) probeAt(e *entry, a *series.Answer, now int64) int64 {
	if a.Left == 0 {
		return now
	}
	at := onGrid(now+a.Left.Milliseconds()+1, probeGrid)
	if !c.nodes.First(e.Hash, a.Number, a.Node) {
		at += max(c.cfg.Spread.Milliseconds(), retryGrid)
	}
	return at
}
