package claims

import "github.com/cronce/cronce/scheduler/policy"

// chain claims the next tick of a chain of missed ones: the oldest, or the one from which
// on only policy.Backlog are left. It takes the place of a claim that waits for the end of
// a run. Without a missed tick the chain ends.
func (c *Claims) chain(e *entry, mark, now int64) {
	if old := e.chain; old != nil {
		if old.doubt {
			old.freed = true
			return // its answer goes on
		}
		c.supersede(old, now)
		e.chain = nil
	}
	first, oldest := max(mark, e.since), e.DueLast(now)
	if ch := c.changes[e]; ch != nil && ch.claim != nil {
		return // advance goes on
	}
	if tick := c.common(e, now); tick != 0 && !c.leaves(e) {
		e.chain = &Pending{e: e, job: e.Job, tick: tick, after: mark, between: c.missed(e, e.Spec, mark, tick), backlog: true}
		c.retries.add(now, e.chain)
		return
	}
	if oldest <= first || c.leaves(e) {
		return
	}
	for range policy.Backlog - 1 {
		before := e.Spec.PrevMilli(oldest - 1)
		if before <= first {
			break
		}
		oldest = before
	}
	skipped := e.Spec.Count(first, oldest-1, countLimit)
	e.chain = &Pending{e: e, job: e.Job, tick: oldest, after: mark, between: skipped, backlog: true}
	c.retries.add(now, e.chain)
}
