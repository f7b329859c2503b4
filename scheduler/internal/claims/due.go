package claims

import (
	"slices"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// freshMax is the number of fresh ticks that Take takes at a time.
const freshMax = 1024

// A Batch has the requests to send.
type Batch struct {
	Claims []*Pending
	Peeks  []*Share
	Keeps  []series.Group // are decided
	More   bool           // more fresh ticks are due
	Beat   bool           // the list of nodes is needed now, for a broadcast
}

// A dueTick is a tick that the timetable has handed out.
type dueTick struct {
	e   *entry
	job *job.Job
	timetable.Tick
	runPeek  bool // peek at an alive run
	replaces bool // the claim of an earlier tick, of shards, has no answer
}

// claim returns a new claim of the tick.
func (t *dueTick) claim() *Pending {
	p := &Pending{e: t.e, job: t.e.Job, tick: t.Number, after: t.After, replaces: t.replaces}
	t.e.latest = p
	return p
}

// Take returns the requests to send at now. Fresh ticks are included up to lead milliseconds before
// they are due. Take arms the next tick of every job that it takes.
//
// If this node is first for a tick, the tick is claimed at once. Otherwise Take leaves the tick to
// the first node for a moment. Then this node peeks at it, or claims it if the store does not
// support peeking. In a large fleet only some nodes peek: see group.go.
func (c *Claims) Take(now, lead int64) (b Batch) {
	for range freshMax {
		if !c.ticksDue(now + lead) {
			break
		}
		t, ok := c.handOut(now + lead)
		later := max(now, t.Number) + c.cfg.Spread.Milliseconds()
		switch {
		case !ok:
		case t.e.Rules.Policy.Broadcast:
			b.Claims = append(b.Claims, t.claim())
		case t.e.Rules.Shards > 0:
			b.Claims = c.takeSharded(b.Claims, &t, later)
		case c.cfg.Spread == 0 || c.first(&t):
			b.Claims = append(b.Claims, t.claim())
		case !c.cfg.Peek:
			c.retries.add(later, t.claim())
		case c.watches(t.job.Partition) || c.hasty(&t):
			c.deferred.add(later, t)
		}
	}
	c.deferred.close()
	b.Peeks, b.Keeps = c.takeGroups(now)
	b.Peeks = append(append(b.Peeks, c.deferred.take(now, c.sent)...), c.takeRunPeeks(now)...)
	b.Claims = c.admit(append(b.Claims, c.retries.take(now)...), now)
	b.More = c.ticksDue(now + lead)
	b.Beat, c.listing = c.listing, false
	return b
}

// ticksDue reports whether fresh ticks are due at an instant.
func (c *Claims) ticksDue(at int64) bool {
	next := c.table.Next()
	return next != 0 && next <= at && !c.draining
}

// Next returns the instant at which the next request is due: now if one is due already, 0 if none
// ever will be.
func (c *Claims) Next(now, lead int64) int64 {
	if c.waiting.count() > 0 && c.free > 0 {
		return now
	}
	next := c.retries.next()
	for _, at := range []int64{c.deferred.next(c.sent), c.nextGroup(), c.runPeekAt} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	if at := c.table.Next() - lead; at > 0 && !c.draining && (next == 0 || at < next) {
		next = at
	}
	return next
}

// handOut hands out the tick of the earliest job and arms its next one.
func (c *Claims) handOut(now int64) (t dueTick, ok bool) {
	e := c.entries.At(c.table.First())
	tick, ok := e.Advance(now)
	c.table.Reset(e.Due())
	if !ok || !e.open { // a tick that becomes due before its job is open is claimed when the job is opened
		return t, false
	}
	t = dueTick{e: e, job: e.Job, Tick: tick}
	c.group(&t)
	switch old := e.latest; {
	case old == nil:
	case old.state == stateQueued:
		c.replaceQueued(old, tick)
		return t, false
	default:
		old.stale, e.latest, t.replaces = true, nil, e.divided()
	}
	return t, true
}

// replaceQueued puts a newer tick in the place of an older one that waits for a slot, so that a job
// keeps its position. The older tick is claimed after its deadline, only to be recorded as missed.
func (c *Claims) replaceQueued(queued *Pending, newer timetable.Tick) {
	old, e := *queued, queued.e
	*queued = Pending{e: e, job: e.Job, tick: newer.Number, after: newer.After, state: stateQueued, replaces: e.divided()}
	if e.Rules.Policy.Broadcast { // so that it is sent as soon as it has a slot: other claims would take that meanwhile
		c.needList(queued)
	}
	old.purpose, old.replaces = forVerdict, false // the newer one reads it, once there is a slot
	deadline, _ := old.job.Rules.StartWithin(old.job.Spec.Interval(old.tick))
	c.retries.add(onGrid(old.tick+deadline.Milliseconds()+1, probeGrid), &old)
}

// admit returns the claims that have or need no free slot, and queues the others until a slot is
// free. Claims that already waited for a slot come first. While no slot is free, admit does not
// examine the waiting claims.
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

// admits reports whether a claim may be sent now. Without a free slot it queues the claim. If a
// newer tick covers the claim, or the node no longer claims the job, the claim is sent only to find
// out whether an earlier request was granted.
func (c *Claims) admits(p *Pending, now int64) bool {
	given := p.stale || c.leaves(p.e)
	switch {
	case c.cancelled(p):
		p.state = stateOver
		return false
	case given && (!p.mayHoldLease() || p.leaseOver(now)):
		c.forget(p, now)
		return false
	case !given && p.e.ending.Load() > 0:
		c.park(p, now)
		return false
	case !given && c.stepsAside(p, now):
		return false
	case !given && c.waitsForOlder(p):
		c.park(p, now)
		c.sendInPlace(p.e, now)
		return false
	case !given && c.needsList(p):
		c.list(p, now)
		return false
	case !given && p.first.awaitsList():
		c.waitUntil(p, now+listing+1) // just after it
		return false
	case given || p.reply == replyOpen || p.slots > 0 || p.purpose == forVerdict: // the first two may already hold a lease
		return true
	case c.free > 0:
		p.slots = min(c.free, c.most(p))
		c.free -= p.slots
		return true
	}
	c.waiting.push(p)
	c.peekAtRunInstead(p, now)
	return false
}

func (c *Claims) freeSlot(p *Pending) {
	c.free += p.slots
	p.slots = 0
}

// Vacate frees the slot of a run. It reports whether claims wait for a slot.
func (c *Claims) Vacate() bool {
	c.free++
	return c.waiting.count() > 0
}

// park keeps a claim until the ends of runs of its job, or older claims of the job, are answered.
// It gives up parked claims that this one covers, or sends them at once if they may hold a lease.
// Among claims that are sent only to be recorded as missed, the latest covers the others.
func (c *Claims) park(p *Pending, now int64) {
	c.freeSlot(p)
	var covered []*Pending
	kept := c.parked[p.e][:0]
	for _, old := range c.parked[p.e] {
		switch {
		case !old.stale && (p.purpose != forVerdict || old.purpose != forVerdict || old.former != nil || old.mayHoldLease()):
			kept = append(kept, old)
		case old.mayHoldLease():
			c.retries.add(now, old)
		default:
			covered = append(covered, old)
		}
	}
	p.state = stateParked
	c.parked[p.e] = append(kept, p)
	for _, old := range covered {
		c.forget(old, now)
	}
}

// unpark sends the parked claims of a job.
func (c *Claims) unpark(e *entry, now int64) {
	if all := c.parked[e]; len(all) > 0 {
		delete(c.parked, e)
		c.retries.add(now, all...)
	}
}

// supersede makes a claim stale, because another one covers its tick.
func (c *Claims) supersede(p *Pending, now int64) {
	p.stale = true
	if p.state != stateQueued {
		return
	}
	c.waiting.leave(p)
	if p.mayHoldLease() {
		c.retries.add(now, p)
	} else {
		c.forget(p, now)
	}
}
