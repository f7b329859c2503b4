package claims

import (
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// Answer applies the answer to a claim. It returns how many runs start; each of them then owns a slot
// of the claim.
func (c *Claims) Answer(p *Pending, a *series.Answer, now int64) (starts int) {
	c.sent[p.job.Partition]--
	c.learn(p, a, now)
	do := decide(c.situation(p), a)
	switch do.step {
	case stepEnd:
		c.end(p)
	case stepDrop:
		c.drop(p, now)
	case stepDoubt:
		c.doubt(p, a, now)
	case stepRetry:
		grid := int64(retryGrid)
		if a.Kind == series.KindOrphan {
			grid = probeGrid
		}
		c.sendAt(p, onGrid(now+c.retryAfter(p), grid))
	case stepWait:
		c.waitUntil(p, now+a.Wait.Milliseconds())
	case stepHold:
		c.hold(p, a, now)
	case stepCover:
		c.cover(p, a.Mark)
		c.retries.add(now, p) // the claim keeps its slot
	case stepTakeOver:
		c.takeOver(p, a, now)
	}
	c.proceed(p, a, do, now)
	if do.start {
		starts = granted(a)
		c.free -= starts // may become negative: a lease that exists counts even above the bound
	}
	return starts
}

// takeOver claims the run that keeps a tick from its grant, and the tick after it: a claim that is repeated before that would get the
// same answer again. If the answer of the store to the first is doubt, as at maxmemory, the second is asked again later, as it would
// get that answer as often as it is asked.
func (c *Claims) takeOver(p *Pending, a *series.Answer, now int64) {
	if first := p.first; first != nil && first.from == a.Fence && first.state != stateOver {
		c.sendAt(p, onGrid(now+c.retryAfter(p), probeGrid))
		return
	}
	first := &Pending{e: p.e, job: p.job, tick: a.Number, after: a.Number - 1, from: a.Fence, purpose: forTakeOver, slots: p.slots, free: a.Free, of: a.Of}
	p.slots, p.first = 0, first
	c.retries.add(now, first)
	c.retries.add(now, p)
}

// cover lets a claim cover the gap behind the store's mark. Ticks from before its spec was in force do
// not count as missed.
func (c *Claims) cover(p *Pending, mark int64) {
	p.after = mark
	if p.former != nil {
		p.between = p.former.Spec.Count(max(mark, p.former.Since), p.tick-1, countLimit)
	} else {
		p.between = c.missed(p.e, p.job.Spec, mark, p.tick)
	}
}

// countLimit bounds the recorded number of missed ticks.
const countLimit = 1_000_000

// learn records the state of the job that an answer carries, independently of the decision.
func (c *Claims) learn(p *Pending, a *series.Answer, now int64) {
	e := p.e
	if a.Err == nil {
		c.resolve(p, true, now)
		if a.Now > p.until {
			p.until = 0
		}
	}
	if a.Kind == series.KindUnknown {
		c.learnDoubt(p, a)
		return
	}
	p.reply = replyNone
	if a.From != 0 && a.From < p.seen {
		c.regress(e, a.From)
	}
	delete(c.fenced, e)
	e.mark = max(e.mark, a.Mark)
	if a.Kind == series.KindGranted {
		e.fence = max(e.fence, a.Highest())
	}
}

// learnDoubt records the reason why a claim has no answer.
func (c *Claims) learnDoubt(p *Pending, a *series.Answer) {
	e := p.e
	switch {
	case a.Err == nil: // the store has forgotten the job, or never had it
		p.reply = replyNone
		c.regress(e, 0)
	case errors.Is(a.Err, driver.ErrNotDone):
		if p.until == 0 { // no earlier request may have been granted
			p.reply = replyNone
		}
	default:
		p.until = max(p.until, p.latest)
	}
	if short, is := errors.AsType[*driver.ReplicasError](a.Err); is {
		c.effects.Short = append(c.effects.Short, Short{p.job, p.tick, short.Want, short.Acked})
	}
	if errors.Is(a.Err, driver.ErrFence) {
		_, known := c.fenced[e]
		c.fenced[e] = struct{}{}
		c.effects.Fenced = append(c.effects.Fenced, Fenced{e.Job, !known})
	}
}

// regress records that the store has lost decisions, as after a failover, a restart without its
// data, or a mistake of an operator: the store has no mark of the job, or a mark below one that
// this node has seen. Ticks between the two marks may run again.
func (c *Claims) regress(e *entry, mark int64) {
	if e.mark == 0 || c.regressed[e] == e.mark {
		return
	}
	c.regressed[e] = e.mark
	c.effects.Regressed = append(c.effects.Regressed, Regressed{e.Job, mark, e.mark})
}

// situation returns the state of a claim that decide needs.
func (c *Claims) situation(p *Pending) situation {
	e := p.e
	return situation{
		overlap: p.job.Rules.Overlap, backlog: p.job.Rules.Backlog(), draining: c.leaves(e), stale: p.stale, settle: p.purpose == forVerdict, former: p.former != nil,
		covered: p.tick < e.Last() && e.latest != p && e.chain != p, chained: e.chain != nil && e.chain != p,
	}
}

// proceed applies the effects of an answer on other claims, on runs and on the clock.
func (c *Claims) proceed(p *Pending, a *series.Answer, do actions, now int64) {
	e := p.e
	if do.step == stepEnd || do.step == stepDrop {
		c.probeAnswered(p)
	}
	if do.settles {
		c.granted(e, p.after, a)
	}
	switch {
	case a.Of > 0 && do.watch != watchNothing && do.watch != watchWaiting:
		c.watchShards(p, a, now)
	case do.watch == watchRun:
		c.watch(e, a, now)
	case do.watch == watchWaiting:
		c.watchWaiting(e, a, now)
	}
	if do.begin || do.follow && p.purpose == forBacklog {
		c.chain(e, a.Mark, now)
	}
	c.readEarlier(p, a, do.step)
	if do.replace {
		c.effects.Replace = append(c.effects.Replace, Replace{e.Job, a.Number})
	}
	if do.open && !e.removed {
		c.effects.Open = append(c.effects.Open, e.Job)
	}
	if ch := c.changes[e]; ch != nil && (do.step == stepEnd || do.step == stepDrop) {
		if ch.claim == p {
			ch.claim = nil
		}
		c.advance(e, now)
	}
	c.effects.ReadClock = c.effects.ReadClock || do.readClock
}

// end forgets a claim that has its verdict, and frees its slot unless a run has taken it over.
func (c *Claims) end(p *Pending) {
	if p.e.latest == p {
		p.e.latest = nil
	}
	if p.e.chain == p {
		p.e.chain = nil
	}
	p.state = stateOver
	c.freeSlot(p)
}

// drop is end for a claim that was refused. An earlier request of it that seemed lost may still be
// on its way and be granted. In this case the claim is sent once more after that request has
// expired.
func (c *Claims) drop(p *Pending, now int64) {
	c.end(p)
	if p.until != 0 && (p.from != 0 || p.e.mark < p.tick) {
		p.stale, p.reply = true, replyOpen
		c.retries.add(onGrid(max(p.until+1, now+c.retryAfter(p)), retryGrid), p)
	}
}

// sendAt sends a claim again at an instant.
func (c *Claims) sendAt(p *Pending, at int64) {
	c.freeSlot(p)
	c.retries.add(at, p)
}

// doubt sends a claim again that has no verdict and may have been granted. In a drain, doubt gives
// up a claim that was certainly not granted.
func (c *Claims) doubt(p *Pending, a *series.Answer, now int64) {
	c.freeSlot(p)
	if c.leaves(p.e) && !p.mayHoldLease() {
		c.forget(p, now)
		return
	}
	if a.Err == nil || c.countUnanswered(p) {
		c.retries.add(onGrid(now+c.retryAfter(p), retryGrid), p)
	}
}

// hold sends a claim again when the run that blocks it is over. If a run ended since the claim was
// sent, it may have been this one, and no further notice would come, so the claim is sent at once.
func (c *Claims) hold(p *Pending, a *series.Answer, now int64) {
	p.reply = replyBlocked
	at := c.probeAt(p.e, a, now)
	if p.freed {
		at = now
	}
	c.waitUntil(p, at)
}

// waitUntil sends a claim again at an instant. A claim that takes a run over is the probe of that run
// meanwhile.
func (c *Claims) waitUntil(p *Pending, at int64) {
	if p.from != 0 {
		c.plan(run{p.e, p.tick}, probe{claim: p, at: at})
	}
	c.sendAt(p, at)
}

// retryAfter returns the pause before a claim in doubt is sent again.
func (c *Claims) retryAfter(p *Pending) int64 {
	if s := c.stalled[p.e]; p.stale && (s == nil || s.sent != p) {
		return p.pause(5 * time.Second) // no tick waits for it
	}
	return p.pause(time.Second)
}
