package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// drain ends a node in order: it claims nothing more, waits for the runs within the grace
// while their leases are renewed, ends their contexts, waits again, and lets the ends reach
// the store. Runs that go on all the same keep their leases until their functions return or
// the process ends.
func (n *Node) drain() error {
	n.events.nodeDraining()
	n.stopClaims()
	n.runs.Drain()
	n.waitUntilQuiet(n.cfg.Grace)
	n.runs.Cancel()
	n.waitUntilQuiet(n.cfg.CancelGrace)
	left := n.runs.Left()
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("scheduler: %d runs ignored the end of their context: %s", len(left), strings.Join(left, ", "))
}

// stopClaims gives up all asks but those that may hold a lease.
func (n *Node) stopClaims() {
	n.mu.Lock()
	defer n.mu.Unlock()
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
}

// quiet reports whether no run is left, the store has answered every end, and no ask is in
// doubt. An answer registers its runs before it counts as taken, so the asks come first.
func (n *Node) quiet() bool {
	n.mu.Lock()
	asks := n.agenda.count + n.sending
	n.mu.Unlock()
	return asks == 0 && n.runs.Quiet()
}

// waitUntilQuiet waits until the node is quiet, or for so long. Asks in doubt are repeated
// meanwhile.
func (n *Node) waitUntilQuiet(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	for !n.quiet() {
		select {
		case <-n.wake:
		case <-t.C:
			return
		}
	}
}
