package claims

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

const (
	lookEvery = 700 * time.Millisecond // on its grid that is less than a second
	lookers   = 2                      // nodes that look at a run, since one of them may be gone
	looksMost = 1000                   // in a second, of one node
)

// looks reports whether this node peeks at an alive run of another one about every second: a
// drain may give it back, and no store notifies others of that. It sees to it that the next
// look comes.
func (c *Claims) looks(e *entry, a *series.Answer, now int64) bool {
	if !c.cfg.Peek || a.Left == 0 || c.nodes.Self(a.Node) || !c.nodes.Among(lookers, e.Hash, a.Number, a.Node) {
		return false
	}
	if c.lookAt == 0 {
		c.lookAt = onGrid(now+max(lookEvery.Milliseconds(), int64(len(c.probes))*1000/looksMost), probeGrid)
	}
	return true
}

// takeLooks returns the looks that are due at now, as shares.
func (c *Claims) takeLooks(now int64) []*Share {
	if c.lookAt == 0 || c.lookAt > now {
		return nil
	}
	c.lookAt = 0
	looks := newDeferred(c.cfg.Shards)
	for r, p := range c.probes {
		if p.look && !c.leaves(r.e) {
			looks.add(now, dueTick{e: r.e, job: r.e.Job, Tick: timetable.Tick{Number: r.tick}, look: true})
		}
	}
	return looks.take(now)
}

// looked takes the answer to a look; nil: there is none.
func (c *Claims) looked(t *dueTick, a *series.Answer, now int64) {
	switch p, is := c.probes[run{t.e, t.Number}]; {
	case !is || c.leaves(t.e): // the run is over
	case a != nil:
		c.watch(t.e, a, now)
	case p.look && c.lookAt == 0:
		c.lookAt = onGrid(now+time.Second.Milliseconds(), probeGrid)
	}
}
