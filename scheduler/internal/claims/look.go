package claims

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

const (
	lookEvery = 700 * time.Millisecond // rounded up to the grid, this is less than a second
	lookers   = 2                      // number of nodes that look at a run, in case one of them dies
	looksMost = 1000                   // looks of one node per second
)

// looks reports whether this node peeks about once a second at a run of another node: one that is alive, because a drain may give it
// back, and no store notifies other nodes of that; or one that waits for a free slot of this node, because its lease may have been
// renewed, or another node may have taken it over. looks also schedules the next look.
func (c *Claims) looks(e *entry, a *series.Answer, now int64) bool {
	if !c.cfg.Peek || c.nodes.Self(a.Node) || !c.queued(run{e, a.Number}) && (a.Left == 0 || !c.watchers(e.Partition).Among(lookers, e.Hash, a.Number, a.Node)) {
		return false
	}
	c.lookSoon(now)
	return true
}

func (c *Claims) lookSoon(now int64) {
	if c.lookAt == 0 {
		c.lookAt = onGrid(now+max(lookEvery.Milliseconds(), int64(len(c.probes))*1000/looksMost), probeGrid)
	}
}

// queued reports whether the probe of a run waits for a free slot. A probe of shards does not count: it takes those that are free,
// while others are alive.
func (c *Claims) queued(r run) bool {
	p := c.probes[r].claim
	return p != nil && p.state == stateQueued && !r.e.divided()
}

// lookInstead looks at a run while its probe waits for a free slot.
func (c *Claims) lookInstead(p *Pending, now int64) {
	r := run{p.e, p.tick}
	if probe := c.probes[r]; c.cfg.Peek && probe.claim == p && !p.e.divided() {
		probe.look = true
		c.probes[r] = probe
		c.lookSoon(now)
	}
}

// takeLooks returns the looks that are due at now, as shares.
func (c *Claims) takeLooks(now int64) []*Share {
	if c.lookAt == 0 || c.lookAt > now {
		return nil
	}
	c.lookAt = 0
	looks := newDeferred(c.cfg.Partitions)
	for r, p := range c.probes {
		if p.look && !c.leaves(r.e) {
			looks.add(now, dueTick{e: r.e, job: r.e.Job, Tick: timetable.Tick{Number: r.tick}, look: true})
		}
	}
	return looks.take(now, nil)
}

// looked applies the answer to a look; a is nil if there is none.
func (c *Claims) looked(t *dueTick, a *series.Answer, now int64) {
	switch p, is := c.probes[run{t.e, t.Number}]; {
	case !is || c.leaves(t.e): // the run is over
	case a != nil:
		c.watch(t.e, a, now)
	case p.look && c.lookAt == 0:
		c.lookAt = onGrid(now+time.Second.Milliseconds(), probeGrid)
	}
}
