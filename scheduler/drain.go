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
	n.dispatcher.Drain()
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

// quiet reports whether no claim is in doubt, no run is left, and the store has answered
// every end. An answer registers its runs before it counts as taken, so the claims come
// first.
func (n *Node) quiet() bool { return n.dispatcher.Quiet() && n.runs.Quiet() }

// waitUntilQuiet waits until the node is quiet, or for so long. Claims in doubt are repeated
// meanwhile.
func (n *Node) waitUntilQuiet(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	for !n.quiet() {
		select {
		case <-n.changed:
		case <-t.C:
			return
		}
	}
}
