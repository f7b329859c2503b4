package scheduler

import (
	"fmt"
	"slices"

	"github.com/cronce/cronce/scheduler/internal/health"
)

// Remarks returns the problems of parts of this node's work that do not keep it from being Ready:
// jobs whose data in the store cannot be read, the number of jobs that have not been opened because
// the store is slow, and jobs with a fence more than a day ahead. The node runs the other jobs, and
// retries these. From New on, Remarks also names jobs whose deadline is too short to be met
// reliably, and jobs whose lease is longer than their interval. Each remark names at most five
// jobs.
func (n *Node) Remarks() []string {
	remarks := append(n.registry.remarks(), n.reconciler.Remarks()...)
	if names, count := n.dispatcher.FenceAhead(health.MostListed); count > 0 {
		slices.Sort(names)
		remarks = append(remarks, fmt.Sprintf("%s a fence more than a day ahead of the store's clock, under which nothing is granted: %s",
			health.Jobs(count, "has", "have"), health.List(names, count)))
	}
	return remarks
}
