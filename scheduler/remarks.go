package scheduler

import (
	"fmt"
	"slices"

	"github.com/cronce/cronce/scheduler/internal/health"
)

// Remarks returns what is wrong with a part of what this node does, though it is Ready:
// the jobs of which the store has something that cannot be read, how many jobs the store
// was not asked for yet because it is slow, and the jobs with a fence more than a day ahead.
// The node runs the others, and tries those again. At most five of each are named.
func (n *Node) Remarks() []string {
	remarks := n.reconciler.Remarks()
	if names, count := n.fenceAhead(); count > 0 {
		remarks = append(remarks, fmt.Sprintf("%d jobs have a fence more than a day ahead of the store's clock, and nothing is granted under them: %s",
			count, health.List(names, count)))
	}
	return remarks
}

// fenceAhead names some of the jobs that have a fence more than a day ahead, and counts
// all.
func (n *Node) fenceAhead() (names []string, count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for e := range n.fenced {
		if names = append(names, e.Name); len(names) == health.MostListed {
			break
		}
	}
	slices.Sort(names)
	return names, len(n.fenced)
}
