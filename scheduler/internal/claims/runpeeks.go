package claims

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

const (
	runPeekEvery = 700 * time.Millisecond // rounded up to the grid, this is less than a second
	runPeekers   = 2                      // number of nodes that peek at a run, in case one of them dies
	mostRunPeeks = 1000                   // peeks of one node per second
)

// peeksAtRun reports whether this node peeks about once a second at a run of another node: one that is alive, because a drain may give it
// back, and no store notifies other nodes of that; or one that waits for a free slot of this node, because its lease may have been
// renewed, or another node may have taken it over. peeksAtRun also schedules the next peek.
func (c *Claims) peeksAtRun(e *entry, a *series.Answer, now int64) bool {
	if !c.cfg.Peek || c.nodes.Self(a.Node) || !c.queued(run{e, a.Number}) && (a.Left == 0 || !c.watchers(e.Partition).Among(runPeekers, e.Hash, a.Number, a.Node)) {
		return false
	}
	c.scheduleRunPeek(now)
	return true
}

func (c *Claims) scheduleRunPeek(now int64) {
	if c.runPeekAt == 0 {
		c.runPeekAt = onGrid(now+max(runPeekEvery.Milliseconds(), int64(len(c.probes))*1000/mostRunPeeks), probeGrid)
	}
}

// queued reports whether the probe of a run waits for a free slot. A probe of shards does not count: it takes those that are free,
// while others are alive.
func (c *Claims) queued(r run) bool {
	p := c.probes[r].claim
	return p != nil && p.state == stateQueued && !r.e.divided()
}

// peekAtRunInstead peeks at a run while its probe waits for a free slot.
func (c *Claims) peekAtRunInstead(p *Pending, now int64) {
	r := run{p.e, p.tick}
	if probe := c.probes[r]; c.cfg.Peek && probe.claim == p && !p.e.divided() {
		probe.runPeek = true
		c.probes[r] = probe
		c.scheduleRunPeek(now)
	}
}

// takeRunPeeks returns the peeks that are due at now, as shares.
func (c *Claims) takeRunPeeks(now int64) []*Share {
	if c.runPeekAt == 0 || c.runPeekAt > now {
		return nil
	}
	c.runPeekAt = 0
	peeks := newDeferred(c.cfg.Partitions)
	for r, p := range c.probes {
		if p.runPeek && !c.leaves(r.e) {
			peeks.add(now, dueTick{e: r.e, job: r.e.Job, Tick: timetable.Tick{Number: r.tick}, runPeek: true})
		}
	}
	return peeks.take(now, nil)
}

// peekedAtRun applies the answer to a peek; a is nil if there is none.
func (c *Claims) peekedAtRun(t *dueTick, a *series.Answer, now int64) {
	switch p, is := c.probes[run{t.e, t.Number}]; {
	case !is || c.leaves(t.e): // the run is over
	case a != nil:
		c.watch(t.e, a, now)
	case p.runPeek && c.runPeekAt == 0:
		c.runPeekAt = onGrid(now+time.Second.Milliseconds(), probeGrid)
	}
}
