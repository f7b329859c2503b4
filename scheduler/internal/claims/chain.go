package claims

import "github.com/cronce/cronce/scheduler/policy"

// chain claims the next tick of a chain of missed ticks: the oldest one, or a later one if more
// than policy.Backlog are left. The claim replaces a claim of the chain that waits for the end of a
// run. The chain ends when no missed tick is left.
func (c *Claims) chain(e *entry, mark, now int64) {
	if old := e.chain; old != nil {
		if old.reply == replyOpen {
			old.freed = true
			return // the chain continues with its answer
		}
		c.supersede(old, now)
		e.chain = nil
	}
	if c.leaves(e) {
		return
	}
	tick := c.common(e, now)
	if ch := c.changes[e]; ch != nil && c.settle(e, tick, now) {
		ch.chains = true
		return // advance continues the chain
	}
	if tick == 0 {
		tick = e.oldest(max(mark, e.since), now)
	}
	if tick != 0 {
		e.chain = &Pending{e: e, job: e.Job, tick: tick, after: mark, between: c.missed(e, e.Spec, mark, tick), purpose: forBacklog}
		c.retries.add(now, e.chain)
	}
}

// oldest returns the oldest of the latest policy.Backlog ticks after an instant that are due, or 0.
func (e *entry) oldest(after, now int64) (tick int64) {
	at := e.DueLast(now)
	for range policy.Backlog {
		if at <= after {
			break
		}
		tick, at = at, e.Spec.PrevMilli(at-1)
	}
	return tick
}
