package scheduler

import (
	"fmt"
	"slices"

	"github.com/cronce/cronce/scheduler/internal/health"
)

// Remarks returns what is wrong with a part of what this node does, though it is Ready:
// the jobs of which the store has something that cannot be read, how many jobs the store
// was not asked for yet because it is slow, and the jobs with a fence more than a day ahead.
// The node runs the others, and tries those again. It also names jobs whose lease is longer than
// their interval, or whose deadline is too short to be met always, from New on. At most five of each are named.
func (n *Node) Remarks() []string {
	remarks := n.reconciler.Remarks()
	if names, count := n.dispatcher.FenceAhead(health.MostListed); count > 0 {
		slices.Sort(names)
		remarks = append(remarks, fmt.Sprintf("%d jobs have a fence more than a day ahead of the store's clock, and nothing is granted under them: %s",
			count, health.List(names, count)))
	}
	return append(remarks, n.registry.remarks()...)
}
