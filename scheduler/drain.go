package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// drain ends a node in order: it claims nothing more, waits for the runs within
// the grace while their leases are renewed, ends their contexts, waits again,
// and lets the endings reach the store. Runs that go on all the same keep their
// leases until their functions return or the process ends.
func (n *Node) drain() error {
	n.events.nodeDraining()
	n.mu.Lock()
	n.draining.Store(true)
	n.agenda.add(n.clock.Ms(), n.queue.all()...)
	for e := range n.mutes {
		n.unmute(e, n.clock.Ms())
	}
	for e := range n.parked {
		n.unpark(e, n.clock.Ms())
	}
	n.agenda, n.shelf = n.agenda.doubts(), shelf{}
	n.arm()
	n.mu.Unlock()
	n.close()
	n.waitUntil(n.cfg.Grace, n.quiet)
	n.mu.Lock()
	n.cut = true
	for _, r := range n.runs {
		r.lease.Cancel(ErrDrained)
	}
	n.mu.Unlock()
	n.waitUntil(n.cfg.CancelGrace, n.quiet)
	return n.left()
}

// quiet reports whether no run is left, every ending has its answer, and no ask
// is in doubt.
func (n *Node) quiet() bool {
	return len(n.runs) == 0 && n.unended.Load() == 0 && n.agenda.count == 0 && n.sending == 0
}

// waitUntil waits for a condition. The alarm goes on asking about doubts meanwhile.
func (n *Node) waitUntil(limit time.Duration, met func() bool) {
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		n.mu.Lock()
		is := met()
		n.mu.Unlock()
		if is {
			return
		}
		select {
		case <-n.wake:
		case <-t.C:
			return
		}
	}
}

// left names the runs that did not end.
func (n *Node) left() error {
	n.mu.Lock()
	defer n.unlock()
	if len(n.runs) == 0 {
		return nil
	}
	var names []string
	for _, r := range n.runs {
		names = append(names, r.e.Name+"@"+formatTick(r.tick))
		if !r.named {
			n.afterUnlock(func() { n.events.ignoresContext(r) })
		}
	}
	slices.Sort(names)
	return fmt.Errorf("scheduler: %d runs ignored the end of their context: %s", len(names), strings.Join(names, ", "))
}

// inspect looks at the runs whose context has ended. The mutex is held, until unlock.
func (n *Node) inspect(now time.Time) {
	if now.Sub(n.inspected) < maxSleep {
		return
	}
	n.inspected = now
	for _, r := range n.runs {
		if r.lease.Context().Err() != nil {
			r.inspect(now)
		}
	}
}

// inspect tells of a lost lease, and names a run that goes on long after its
// context ended. One that a newer tick waits for loses its lease then.
func (r *running) inspect(now time.Time) {
	if r.ending.IsZero() {
		r.ending = now
	}
	if r.lost() {
		r.tellLoss()
	}
	if now.Sub(r.ending) < r.node.cfg.CancelGrace {
		return
	}
	if !r.named {
		r.named = true
		r.node.afterUnlock(func() { r.node.events.ignoresContext(r) })
	}
	if r.replaced || r.lease.Replaced() {
		r.lease.Abandon(ErrReplaced)
	}
}

// tellLoss logs a lost lease once. The node's mutex is held, until unlock.
func (r *running) tellLoss() {
	if !r.lossTold {
		r.lossTold = true
		r.node.afterUnlock(func() { r.node.events.leaseLost(r) })
	}
}

// replace tells a run of this node that a newer tick waits for its end. Runs of
// other nodes are told through their renewal.
func (n *Node) replace(e *entry, newer int64) {
	for _, r := range n.runs {
		if r.e == e && r.tick < newer {
			r.replaced = true
			r.lease.Cancel(ErrReplaced)
		}
	}
}
