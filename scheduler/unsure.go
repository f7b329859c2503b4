package scheduler

import (
	"slices"
	"time"
)

// mostUnsure is how many asks of a job whose requests were not answered keep newer
// ticks of it from being asked for. Each may hold a lease, so each is kept until it
// is answered or that lease would be over: without a bound an outage would leave one for
// each tick.
const mostUnsure = 4

// A mute is the state of a job whose asks are not answered. Newer ticks wait unsent, the
// latest of them alone. In place of a tick that waits one of the older asks is sent, as
// often and at the same instants as the tick itself would be: once it, or any other, is answered
// the tick is sent. The others idle until then.
type mute struct {
	standIn *ask // nil: the next one that is not answered
	idle    []*ask
}

// countUnsure counts an ask whose request was not answered. It reports whether the ask is
// to be sent again; else it idles. The node's mutex is held.
func (n *Node) countUnsure(a *ask) (again bool) {
	if a.from != 0 || n.draining.Load() {
		return true // of looks there is one for each run
	}
	e := a.e
	if !a.failed && e.unsure < 1<<8-1 {
		a.failed = true
		e.unsure++
	}
	m := n.mutes[e]
	switch {
	case m != nil && m.standIn == nil:
		m.standIn, a.tries = a, 0
	case m == nil && e.unsure >= mostUnsure:
		n.mutes[e] = &mute{standIn: a}
	case m != nil && a.stale && m.standIn != a:
		m.idle = append(m.idle, a)
		return false
	}
	return true
}

// standInFor sends an older ask in place of one that waits. The node's mutex is held.
func (n *Node) standInFor(e *entry, now int64) {
	m := n.mutes[e]
	for _, a := range m.idle {
		if a.hopeless(now) {
			n.certain(a, false, now)
		}
	}
	if n.mutes[e] == nil {
		return
	}
	m.idle = slices.DeleteFunc(m.idle, func(a *ask) bool { return !a.failed })
	m.standIn = nil
	if last := len(m.idle) - 1; last >= 0 {
		m.standIn, m.idle = m.idle[last], m.idle[:last]
		m.standIn.tries = 0
		n.agenda.add(now, m.standIn)
	}
}

// certain takes an ask off the count that was answered, or whose lease would be over.
// The node's mutex is held.
func (n *Node) certain(a *ask, answered bool, now int64) {
	if a.failed {
		a.failed = false
		a.e.unsure--
	}
	if answered || a.e.unsure < mostUnsure {
		n.unmute(a.e, now)
	}
}

// unmute sends what waited for an answer about a job, and what idled. The node's mutex is held.
func (n *Node) unmute(e *entry, now int64) {
	if len(n.mutes) == 0 {
		return
	}
	if m := n.mutes[e]; m != nil {
		delete(n.mutes, e)
		n.agenda.add(now, m.idle...)
		n.unpark(e, now)
	}
}

// muted reports whether an ask has to wait until an older one of its job is answered.
func (n *Node) muted(a *ask) bool {
	return len(n.mutes) > 0 && a.tries == 0 && a.from == 0 && !a.failed && n.mutes[a.e] != nil
}

// retryAfter is the pause before an ask in doubt is sent again.
func (n *Node) retryAfter(a *ask) int64 {
	if m := n.mutes[a.e]; a.stale && (m == nil || m.standIn != a) {
		return a.pause(5 * time.Second) // nothing waits for it
	}
	return a.pause(time.Second)
}
