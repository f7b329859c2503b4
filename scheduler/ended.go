package scheduler

import (
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/runs"
)

// dispatcher is what package runs may ask of a node.
type dispatcher struct{ *Node }

// newAttempt makes an attempt of a grant. The node's mutex is held.
func (n *Node) newAttempt(a *ask, c *lock.Claimed) *runs.Attempt {
	n.free-- // may go below zero: the bound gives way to a lease that is there
	r := n.room.New()
	r.Grant = runs.Grant{
		Job: a.e.Job, Ending: &a.e.ending, Lease: c.Lease, Tick: a.tick, Attempt: c.Attempt, Wait: c.Wait, LastOK: c.Last,
		Backlog: a.backlog && a.e.Rules.Overlap != driver.OverlapAllow,
		Void:    n.draining.Load() && a.latest == past,
	}
	return r
}

// Vacated gives the slots of runs that returned to the next.
func (d dispatcher) Vacated(runs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free += runs
	if d.queue.count() > 0 {
		d.arm()
	}
}

// Ended starts what waited for the end of a run, and the next of missed ticks. If this
// node was not the one that ended the run, it probes the run that has the tick now: that
// node may die as well.
func (d dispatcher) Ended(r *runs.Attempt, a driver.EndAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.At(int(r.Job.No))
	if a.Ended && a.Waiting == 0 && !e.Rules.Backlog() && e.latest == nil && len(d.parked[e]) == 0 {
		return // nothing waits
	}
	now := d.clock.Ms()
	if !a.Ended && !d.draining.Load() {
		d.look(watched{e, r.Tick}, r.Lease.Fence(), now)
	}
	if a.Waiting != 0 && !d.draining.Load() {
		d.lookFreed(watched{e, a.Waiting}, a.Fence, now)
	}
	if r.Backlog || e.link != nil {
		d.link(e, e.mark, now)
	}
	d.askHeld(e, now)
	d.unpark(e, now)
	d.arm()
}

// EndRefused lets the job of a run go on whose end the store refuses.
func (d dispatcher) EndRefused(r *runs.Attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, now := d.entries.At(int(r.Job.No)), d.clock.Ms()
	d.unpark(e, now)
	d.look(watched{e, r.Tick}, r.Lease.Fence(), now)
	d.arm()
}

// afterEnd reports whether an ask has to wait for the answer to an end: see runs.Grant.
func (a *ask) afterEnd() bool { return a.e.ending.Load() > 0 }

// park keeps an ask until ends of its job, or older asks of it, are answered. Those
// before it that are covered by it are given up, or asked for at once if they may hold a lease;
// of those that are only asked for to be recorded as missed the latest covers the others. The node's
// mutex is held.
func (n *Node) park(a *ask, ms int64) {
	n.unslot(a)
	kept := n.parked[a.e][:0]
	for _, old := range n.parked[a.e] {
		switch {
		case a.settle && old.settle && !old.unsure(): // given up
		case !old.stale:
			kept = append(kept, old)
		case old.unsure():
			n.agenda.add(ms, old)
		}
	}
	n.parked[a.e] = append(kept, a)
}

// unpark sends what waited. The node's mutex is held.
func (n *Node) unpark(e *entry, now int64) {
	if all := n.parked[e]; len(all) > 0 {
		delete(n.parked, e)
		n.agenda.add(now, all...)
	}
}
