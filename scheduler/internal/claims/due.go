package claims

import (
	"slices"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// freshMax is how many fresh ticks are taken at a time.
const freshMax = 1024

// A Batch is what is to be sent.
type Batch struct {
	Claims []*Pending
	Peeks  []*Share
	More   bool // is due
}

// A dueTick is a tick that the timetable handed out.
type dueTick struct {
	e   *entry
	job *job.Job
	timetable.Tick
	look bool // it peeks at an alive run
}

// claim returns the claim of the tick.
func (t *dueTick) claim() *Pending {
	p := &Pending{e: t.e, job: t.e.Job, tick: t.Number, after: t.After}
	t.e.latest = p
	return p
}

// Take takes what is to be sent at now, fresh ticks up to lead milliseconds before they are
// due. It arms every next tick.
//
// A tick for which this node comes first is claimed at once. Others are left to the node
// that comes first for a moment: then they are peeked at, or claimed if the store cannot
// be peeked at.
func (c *Claims) Take(now, lead int64) (b Batch) {
	for range freshMax {
		if !c.ticksDue(now + lead) {
			break
		}
		t, ok := c.handOut(now + lead)
		later := max(now, t.Number) + c.cfg.Spread.Milliseconds()
		switch {
		case !ok:
		case c.cfg.Spread == 0 || c.nodes.First(t.e.Hash, t.Number, ""):
			b.Claims = append(b.Claims, t.claim())
		case !c.cfg.Peek:
			c.retries.add(later, t.claim())
		default:
			c.deferred.add(later, t)
		}
	}
	c.deferred.close()
	b.Peeks = append(c.deferred.take(now), c.takeLooks(now)...)
	b.Claims = c.admit(append(b.Claims, c.retries.take(now)...), now)
	b.More = c.ticksDue(now + lead)
	return b
}

// ticksDue reports whether fresh ticks are due at an instant.
func (c *Claims) ticksDue(at int64) bool {
	next := c.table.Next()
	return next != 0 && next <= at && !c.draining
}

// Next returns the instant at which something is due: now, if it is already, and 0 if
// nothing ever is.
func (c *Claims) Next(now, lead int64) int64 {
	if c.waiting.count() > 0 && c.free > 0 {
		return now
	}
	next := c.retries.next()
	for _, at := range []int64{c.deferred.next(), c.lookAt} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	if at := c.table.Next() - lead; at > 0 && !c.draining && (next == 0 || at < next) {
		next = at
	}
	return next
}

// handOut takes the earliest job's tick and arms its next one.
func (c *Claims) handOut(now int64) (t dueTick, ok bool) {
	e := c.entries.At(c.table.First())
	tick, ok := e.Advance(now)
	c.table.Reset(e.Due())
	if !ok || !e.open { // what became due of a job that is not open yet is claimed when it is
		return t, false
	}
	switch old := e.latest; {
	case old == nil:
	case old.queued:
		c.replaceQueued(old, tick)
		return t, false
	default:
		old.stale, e.latest = true, nil
	}
	return dueTick{e: e, job: e.Job, Tick: tick}, true
}

// replaceQueued lets a newer tick take the place of one that waits for a slot, so that a
// job keeps its turn. The older tick is claimed when its deadline is over, to be recorded
// as missed.
func (c *Claims) replaceQueued(queued *Pending, newer timetable.Tick) {
	old, e := *queued, queued.e
	*queued = Pending{e: e, job: e.Job, tick: newer.Number, after: newer.After, queued: true}
	old.queued, old.settle = false, true
	deadline, _ := old.job.Rules.StartWithin(old.job.Spec.Interval(old.tick))
	c.retries.add(onGrid(old.tick+deadline.Milliseconds()+1, probeGrid), &old)
}

// admit lets through the claims that have a free slot, or need none, and keeps the others
// until a slot is free. Those that waited for one come first. Where no slot is free they are
// not looked at.
func (c *Claims) admit(all []*Pending, now int64) []*Pending {
	var waited []*Pending
	for c.free > 0 {
		p := c.waiting.pop()
		if p == nil {
			break
		}
		if c.admits(p, now) {
			waited = append(waited, p)
		}
	}
	return append(waited, slices.DeleteFunc(all, func(p *Pending) bool { return !c.admits(p, now) })...)
}

// admits reports whether a claim may be sent now. Without a slot it is queued. A claim whose
// tick is covered by a newer one, or in a drain by other nodes, is only sent to learn
// whether it was granted.
func (c *Claims) admits(p *Pending, now int64) bool {
	given := p.stale || c.leaves(p.e)
	switch {
	case c.cancelled(p):
		return false
	case given && (!p.mayHoldLease() || p.leaseOver(now)):
		c.resolve(p, false, now)
		c.freeSlot(p)
		return false
	case !given && p.e.ending.Load() > 0:
		c.park(p, now)
		return false
	case !given && c.waitsForOlder(p):
		c.park(p, now)
		c.sendInPlace(p.e, now)
		return false
	case given || p.doubt || p.slot || p.settle: // the first two may hold a lease already
		return true
	case c.free > 0:
		c.free--
		p.slot = true
		return true
	}
	c.waiting.push(p)
	return false
}

func (c *Claims) freeSlot(p *Pending) {
	if p.slot {
		p.slot = false
		c.free++
	}
}

// Vacate frees the slot of a run. It reports whether claims wait for one.
func (c *Claims) Vacate() bool {
	c.free++
	return c.waiting.count() > 0
}

// park keeps a claim until the ends of runs of its job, or older claims of it, are
// answered. Claims parked before that it covers are given up, or sent at once if they may
// hold a lease. Of those that are sent only to be recorded as missed the latest covers the
// others.
func (c *Claims) park(p *Pending, now int64) {
	c.freeSlot(p)
	kept := c.parked[p.e][:0]
	for _, old := range c.parked[p.e] {
		switch {
		case p.settle && old.settle && old.former == nil && !old.mayHoldLease(): // given up
		case !old.stale:
			kept = append(kept, old)
		case old.mayHoldLease():
			c.retries.add(now, old)
		}
	}
	c.parked[p.e] = append(kept, p)
}

// unpark sends the claims of a job that were parked.
func (c *Claims) unpark(e *entry, now int64) {
	if all := c.parked[e]; len(all) > 0 {
		delete(c.parked, e)
		c.retries.add(now, all...)
	}
}

// supersede makes a claim stale, because another one covers its tick.
func (c *Claims) supersede(p *Pending, now int64) {
	p.stale = true
	if !p.queued {
		return
	}
	c.waiting.leave(p)
	if p.mayHoldLease() {
		c.retries.add(now, p)
	}
}
