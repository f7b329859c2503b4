package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/internal/health"
)

// drain stops a node in order. It stops claiming, leaves the list of nodes, waits for the runs within the grace while it
// renews their leases, cancels their contexts, waits again, and lets the ends reach the store. Runs
// that still go on keep their leases until their functions return or the process ends.
func (n *Node) drain() error {
	n.events.nodeDraining()
	n.registry.close()
	n.dispatcher.Drain()
	n.heart.Drain()
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

// An unfinished counts the work that a drain waits for, with some of its names.
type unfinished struct {
	claims, runs, ends     int // ends that the store has not answered
	namedClaims, namedRuns []string
}

// unfinished returns the work that a drain waits for. It reads the claims first: an answer
// registers its runs before its claim no longer counts, so no run is overlooked in between.
func (n *Node) unfinished() (u unfinished) {
	u.namedClaims, u.claims = n.dispatcher.InDoubt(health.MostListed)
	u.namedRuns, u.runs, u.ends = n.runs.Unfinished(health.MostListed)
	return u
}

func (u *unfinished) count() int { return u.claims + u.runs + u.ends }

// A drain that still waits logs its unfinished work after firstWaits, and then every nextWaits.
const (
	firstWaits = time.Second
	nextWaits  = 5 * time.Second
)

// waitUntilQuiet waits until no claim is in doubt, no run is left, and the store has answered every
// end, for at most limit. Claims in doubt are repeated meanwhile.
func (n *Node) waitUntilQuiet(limit time.Duration) {
	over, line := time.NewTimer(limit), time.NewTimer(firstWaits)
	defer over.Stop()
	defer line.Stop()
	for u := n.unfinished(); u.count() > 0; u = n.unfinished() {
		select {
		case <-n.changed:
		case <-line.C:
			n.events.drainWaits(u)
			line.Reset(nextWaits)
		case <-over.C:
			return
		}
	}
}
