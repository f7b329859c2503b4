package scheduler

import "github.com/cronce/cronce/lock/driver"

// A watched run belongs to another owner: this node looks again when its
// deadline has passed, so that a dead winner is noticed without a leader.
type watched struct {
	e    *entry
	tick int64
}

// A plan is the next look at a run: the ask, and when it is sent.
type plan struct {
	ask *ask
	at  int64
}

// of reports whether there is a plan, and it is to look at the run with this fence.
func (p plan) of(fence int64) bool { return p.ask != nil && p.ask.from == fence }

// watch looks again at the run that an answer named, if it may need another
// attempt or its end.
func (n *Node) watch(e *entry, c *driver.Answer, now int64) {
	w := watched{e, c.Number}
	if c.State == driver.RunNone || c.State >= driver.RunDone || n.draining.Load() {
		n.unwatch(w)
		return
	}
	n.look(w, c.Fence, n.lookAt(e, c, now))
}

// watchWaiting looks at a waiting tick when the run it waits for is over. The
// node that runs it starts the waiting tick at once; this is for when it died.
func (n *Node) watchWaiting(a *ask, c *driver.Answer, now int64) {
	if a.e.Rules.Overlap == driver.OverlapReplace {
		n.runs.Replace(a.e.Job, c.Number)
	}
	if !n.draining.Load() {
		n.look(watched{a.e, c.Number}, c.Fence, n.lookAt(a.e, c, now))
	}
}

// look plans a takeover of a run: the store tells whether it is over. Another
// look is only planned if it is an earlier one.
func (n *Node) look(w watched, fence, at int64) {
	if p := n.watches[w]; p.of(fence) && p.at <= at {
		return
	}
	a := &ask{e: w.e, tick: w.tick, after: w.tick - 1, from: fence, look: true}
	n.plan(w, plan{a, at})
	n.agenda.add(at, a)
}

// plan lets p take the place of the plan that there is. The node's mutex is held.
func (n *Node) plan(w watched, p plan) {
	n.unwatch(w)
	n.watches[w] = p
}

// unwatch gives up the look at a run, if one is planned. The node's mutex is held.
func (n *Node) unwatch(w watched) {
	if len(n.watches) == 0 {
		return
	}
	old := n.watches[w].ask
	delete(n.watches, w)
	if old != nil && old.queued && n.vain(old) {
		n.queue.leave(old)
	}
}

// outrun gives up the look at the run of the tick before, if c says that the tick
// itself was granted: where runs do not overlap that settled the one before.
func (n *Node) outrun(e *entry, before int64, c *driver.Answer) {
	if e.Rules.Overlap == driver.OverlapSkip && (c.State == driver.RunOpen || c.State == driver.RunDone) {
		n.unwatch(watched{e, before})
	}
}

// vain reports whether an ask is a look that was given up.
func (n *Node) vain(a *ask) bool {
	return a.look && a.tries == 0 && !n.watches[watched{a.e, a.tick}].of(a.from)
}

// lookAt is when to look at a run: when its lease is over, on a grid that many
// looks share. The node that comes first by rendezvous looks first.
func (n *Node) lookAt(e *entry, c *driver.Answer, now int64) int64 {
	if c.Left == 0 {
		return now
	}
	at := onGrid(now+c.Left.Milliseconds()+1, lookGrid)
	if !n.members.First(e.Hash, c.Number, c.Node) {
		at += max(n.cfg.Spread.Milliseconds(), retryGrid)
	}
	return at
}

// looked forgets a look that was answered; the answer may ask for another.
func (n *Node) looked(a *ask) {
	if w := (watched{a.e, a.tick}); a.from != 0 && n.watches[w].of(a.from) {
		n.unwatch(w)
	}
}

// lookFreed looks at a tick that waited for a run which has ended.
func (n *Node) lookFreed(w watched, fence, now int64) {
	if p := n.watches[w]; p.of(fence) && p.ask.doubt {
		p.ask.freed = true
		return
	}
	n.look(w, fence, now)
}

// held waits for the end of the run that is in the way. If one ended since the ask
// was sent, that may have been it, and nothing else will tell: it asks again at once.
func (n *Node) held(a *ask, c *driver.Answer, now int64) {
	a.held = true
	at := n.lookAt(a.e, c, now)
	if a.freed {
		at = now
	}
	if a.from != 0 {
		n.plan(watched{a.e, a.tick}, plan{a, at})
	}
	n.again(a, at)
}

// askHeld asks again for a tick that was held by a run which has ended: the store does
// not know that it waits, so nothing else tells of the end until the run's lease would
// have been over. Missed ticks that run in order come to it by themselves.
func (n *Node) askHeld(e *entry, now int64) {
	switch old := e.latest; {
	case old == nil || e.link != nil || n.draining.Load():
	case old.doubt:
		old.freed = true
	case old.held:
		n.outdate(old, now)
		e.latest = &ask{e: e, tick: old.tick, after: old.after, between: old.between}
		n.agenda.add(now, e.latest)
	}
}
