package claims

import "slices"

// maxUnanswered is the number of unanswered claims of a job from which on newer ticks of the job
// are not claimed. Each of these claims may hold a lease, so it is kept until it is answered or its
// lease would have expired. Without a bound, an outage would leave one claim for each tick.
const maxUnanswered = 4

// A stall is the state of a job whose claims are not answered. Only the latest of the newer ticks
// waits. In its place one of the older claims is sent, as often and at the same instants as the
// tick would be. Once this claim or any other is answered, the tick is sent. The other claims idle
// until then.
type stall struct {
	sent *Pending // sent in place of the tick; nil: the next claim that is not answered becomes it
	idle []*Pending
}

// countUnanswered counts a claim whose request was not answered. It reports whether to send the
// claim again; otherwise the claim idles.
func (c *Claims) countUnanswered(p *Pending) (again bool) {
	if p.from != 0 || c.leaves(p.e) {
		return true // there is one probe per run
	}
	e := p.e
	if !p.failed && e.unanswered < 1<<8-1 {
		p.failed = true
		e.unanswered++
	}
	s := c.stalled[e]
	switch {
	case s != nil && s.sent == nil:
		s.sent, p.tries = p, 0
	case s == nil && e.unanswered >= maxUnanswered:
		c.stalled[e] = &stall{sent: p}
	case s != nil && p.stale && s.sent != p:
		p.state = stateIdle
		s.idle = append(s.idle, p)
		return false
	}
	return true
}

// waitsForOlder reports whether a claim must wait until an older one of its job is answered.
func (c *Claims) waitsForOlder(p *Pending) bool {
	return len(c.stalled) > 0 && p.tries == 0 && p.from == 0 && !p.failed && c.stalled[p.e] != nil
}

// sendInPlace sends an older claim in place of one that waits.
func (c *Claims) sendInPlace(e *entry, now int64) {
	s := c.stalled[e]
	if s == nil {
		return // park has resumed the job
	}
	for _, p := range s.idle {
		if p.leaseOver(now) {
			c.resolve(p, false, now)
		}
	}
	if c.stalled[e] == nil {
		return
	}
	s.idle = slices.DeleteFunc(s.idle, func(p *Pending) bool {
		if !p.failed {
			p.state = stateOver
		}
		return !p.failed
	})
	s.sent = nil
	if last := len(s.idle) - 1; last >= 0 {
		s.sent, s.idle = s.idle[last], s.idle[:last]
		s.sent.tries = 0
		c.retries.add(now, s.sent)
	}
}

// resolve uncounts a claim that was answered, or whose lease would have expired.
func (c *Claims) resolve(p *Pending, answered bool, now int64) {
	if p.failed {
		p.failed = false
		p.e.unanswered--
	}
	if answered || p.e.unanswered < maxUnanswered {
		c.resume(p.e, now)
	}
}

// resume sends the claims of a job that waited for an answer, and those that idled.
func (c *Claims) resume(e *entry, now int64) {
	if len(c.stalled) == 0 {
		return
	}
	if s := c.stalled[e]; s != nil {
		delete(c.stalled, e)
		c.retries.add(now, s.idle...)
		c.unpark(e, now)
	}
}
