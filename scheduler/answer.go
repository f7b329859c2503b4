package scheduler

import (
	"errors"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/runs"
	"github.com/cronce/cronce/scheduler/policy"
)

// answered takes the answers to a batch: starts what was granted, asks again
// where it must, and tells the log.
func (n *Node) answered(asks []*ask, answers []lock.Claimed, took time.Duration) {
	now := n.clock.Ms()
	starts := make([]*runs.Attempt, 0, len(asks))
	var failed error
	heard := false // of the store; something else may be wrong with one job
	n.mu.Lock()
	for i, a := range asks {
		c := &answers[i]
		if c.Err == nil || isShort(c.Err) || errors.Is(c.Err, driver.ErrUnreadable) || errors.Is(c.Err, driver.ErrFence) {
			heard = true
		} else {
			failed = c.Err
		}
		if r := n.answer(a, c, now); r != nil {
			starts = append(starts, r)
		}
	}
	if heard {
		n.lead.answered(took)
	}
	n.arm()
	n.unlockBeside() // what was granted does not wait for the logger
	n.runs.Start(starts, len(asks))
	if heard {
		failed = nil
	}
	n.monitor.Answered(health.Part{Shard: int(asks[0].e.Shard), Kind: health.Claims}, failed)
	for i, a := range asks {
		n.tell(a, &answers[i].Answer)
	}
	n.mu.Lock()
	n.sending--
	n.stir()
	n.mu.Unlock()
	n.wg.Done()
}

// isShort reports whether the store answered, and its replicas did not.
func isShort(err error) bool {
	_, is := errors.AsType[*driver.ReplicasError](err)
	return is
}

// answer decides what follows from one answer. It returns a run to start.
func (n *Node) answer(a *ask, claimed *lock.Claimed, now int64) *runs.Attempt {
	c := &claimed.Answer
	if c.Err == nil {
		n.certain(a, true, now)
		if c.Now > a.until {
			a.until = 0
		}
	}
	if c.Kind != driver.KindUnknown {
		a.doubt = false
		if c.From != 0 && c.From < a.seen {
			n.forgot(a.e, c.From)
		}
		delete(n.fenced, a.e)
		a.e.mark = max(a.e.mark, c.Mark)
		n.looked(a)
	}
	switch c.Kind {
	case driver.KindGranted:
		n.done(a)
		n.outrun(a.e, a.after, c)
		if a.e.Rules.Overlap == driver.OverlapAllow {
			n.follow(a, c.Mark, now)
		}
		return n.newAttempt(a, claimed)
	case driver.KindUnknown, driver.KindAhead:
		n.unanswered(a, c, now)
	case driver.KindExpired:
		n.expired(a, now)
	case driver.KindEarly:
		n.again(a, now+c.Wait.Milliseconds())
	case driver.KindGap:
		n.gap(a, c, now)
	case driver.KindOrphan:
		n.adopt(a, c, now)
	case driver.KindHeld:
		n.held(a, c, now)
	case driver.KindOver, driver.KindPassed:
		n.drop(a, now)
		n.outrun(a.e, a.after, c)
		n.watch(a.e, c, now)
		n.follow(a, c.Mark, now)
	case driver.KindWaiting:
		n.done(a)
		n.watchWaiting(a, c, now)
	case driver.KindMissed, driver.KindSkipped, driver.KindPaused:
		n.done(a)
		n.follow(a, c.Mark, now)
	}
	return nil
}

// done forgets an ask that has its verdict. Its slot goes on to the run, if one
// starts, or is free again.
func (n *Node) done(a *ask) {
	if a.e.latest == a {
		a.e.latest = nil
	}
	if a.e.link == a {
		a.e.link = nil
	}
	n.unslot(a)
}

// drop is done for an ask that was answered no. A request of it that was thought
// lost may still be on its way to be granted: then it asks once more when the
// time of that request is over.
func (n *Node) drop(a *ask, now int64) {
	n.done(a)
	if a.until != 0 && (a.from != 0 || a.e.mark < a.tick) {
		a.stale, a.doubt = true, true
		n.agenda.add(onGrid(max(a.until+1, now+n.retryAfter(a)), retryGrid), a)
	}
}

func (n *Node) unslot(a *ask) {
	if a.slot {
		a.slot = false
		n.free++
	}
}

// again puts an ask back on the agenda. In a drain it is given up.
func (n *Node) again(a *ask, at int64) {
	if n.draining.Load() {
		n.drop(a, at)
		return
	}
	n.unslot(a)
	n.agenda.add(at, a)
}

// unanswered repeats an ask in doubt. A series without a mark is opened first:
// the store has forgotten it, or never knew it.
func (n *Node) unanswered(a *ask, c *driver.Answer, now int64) {
	n.unslot(a)
	if c.Err != nil {
		if short, is := errors.AsType[*driver.ReplicasError](c.Err); is {
			e, tick := a.e, a.tick // the ask may be another's by then
			n.afterUnlock(func() { n.events.unreplicated(e.Job, tick, short) })
		}
		a.until = max(a.until, a.latest)
	}
	if c.Kind == driver.KindUnknown && c.Err == nil {
		a.doubt = false
		n.forgot(a.e, 0)
		j := a.e.Job
		n.afterUnlock(func() { n.reconciler.Open(j) })
	}
	if c.Err == nil || n.countUnsure(a) {
		n.agenda.add(onGrid(now+n.retryAfter(a), retryGrid), a) // also in a drain: it may hold a lease
	}
}

// expired: the store read the ask after its time. If it only wanted to know
// whether it had been granted, it has not.
func (n *Node) expired(a *ask, now int64) {
	if a.stale || n.draining.Load() {
		n.drop(a, now)
		return
	}
	n.again(a, onGrid(now+n.retryAfter(a), retryGrid))
	n.early.Raise() // our clock may be behind the store's
}

// gap: ticks before this one are undecided. Ticks from before the store saw this
// spec first are nobody's loss.
func (n *Node) gap(a *ask, c *driver.Answer, now int64) {
	e := a.e
	switch {
	case n.draining.Load(), a.tick < e.Last() && e.latest != a: // others, or a newer tick, cover this one
		n.drop(a, now)
	case e.Rules.Backlog():
		n.drop(a, now)
		if e.link == nil {
			n.link(e, c.Mark, now)
		}
	default:
		a.after, a.between = c.Mark, e.Spec.Count(max(c.Mark, e.since), a.tick-1, countLimit)
		n.agenda.add(now, a) // with its slot
	}
}

// countLimit bounds what is recorded as the number of missed ticks.
const countLimit = 1_000_000

// link asks for the next missed tick of a chain: the oldest, or the one from
// which on only policy.Backlog are left. It takes the place of an ask that waits for
// the end of a run. Without a missed tick the chain ends.
func (n *Node) link(e *entry, mark, now int64) {
	if old := e.link; old != nil {
		if old.doubt {
			old.freed = true
			return // its answer goes on
		}
		n.outdate(old, now)
		e.link = nil
	}
	first, oldest := max(mark, e.since), e.DueLast(now)
	if oldest <= first || n.draining.Load() {
		return
	}
	for range policy.Backlog - 1 {
		before := e.Spec.PrevMilli(oldest - 1)
		if before <= first {
			break
		}
		oldest = before
	}
	skip := e.Spec.Count(first, oldest-1, countLimit)
	e.link = &ask{e: e, tick: oldest, after: mark, between: skip, backlog: true}
	n.agenda.add(now, e.link)
}

// follow goes on with a chain after one of its ticks got its verdict.
func (n *Node) follow(a *ask, mark, now int64) {
	if a.backlog {
		n.link(a.e, mark, now)
	}
}

// adopt takes over the orphan first, then asks again.
func (n *Node) adopt(a *ask, c *driver.Answer, now int64) {
	if a.settle { // asked without a slot, it would not wait for the takeover
		n.again(a, onGrid(now+n.retryAfter(a), lookGrid))
		return
	}
	if n.draining.Load() {
		n.drop(a, now)
		return
	}
	first := &ask{e: a.e, tick: c.Number, after: c.Number - 1, from: c.Fence, slot: a.slot}
	a.slot = false
	n.agenda.add(now, first, a)
}
