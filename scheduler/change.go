package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
)

// Add registers jobs, before or while the node runs, in one step: all, or none and an error that
// joins every fault. While the node runs they are opened soon. Once the node drains, or Run has
// returned, Add returns an error.
func (n *Node) Add(jobs ...Job) error {
	added, err := n.registry.add(jobs)
	if err != nil {
		return fmt.Errorf("scheduler: add: %w", err)
	}
	n.opened(added)
	return nil
}

// Replace lets jobs take the place of those of this node with the same names, in one step: all,
// or none and an error that joins every fault. Alive runs go on as they began, with their function
// and their policies. A job with another spec is opened anew, as in a deploy: each tick before is
// decided by the rules of the change of a spec. Once the node drains, or Run has returned, Replace
// returns an error.
func (n *Node) Replace(jobs ...Job) error {
	former, replaced, err := n.registry.replace(jobs)
	if err != nil {
		return fmt.Errorf("scheduler: replace: %w", err)
	}
	n.forget(former)
	n.opened(replaced)
	return nil
}

// Remove takes jobs off this node by name, in one step: all, or none and an error that joins every
// fault. The node starts no more runs of them. Alive runs go on to their ends, and a tick that is
// granted in this moment is given back, for other nodes that have the job. What the node knows of a
// removed job, some 300 bytes, is kept until it ends: a job with the same name may be added again.
// Once the node drains, or Run has returned, Remove returns an error.
func (n *Node) Remove(names ...string) error {
	removed, err := n.registry.remove(names)
	if err != nil {
		return fmt.Errorf("scheduler: remove: %w", err)
	}
	n.forget(removed)
	return nil
}

func (n *Node) forget(jobs []*job.Job) {
	for _, j := range jobs {
		n.reconciler.Forget(j)
	}
}

func (n *Node) opened(jobs []*job.Job) {
	if !n.clock.Ready() {
		return // all are opened when Run begins
	}
	for _, j := range jobs {
		n.reconciler.Open(j)
	}
}

// A JobStatus is what a node knows of one of its jobs.
type JobStatus struct {
	Name  string
	Spec  string    // as it was given, with values in place of H
	Zone  string    // of the spec
	Next  time.Time // the next tick, UTC; zero if the spec has none left
	Mark  time.Time // the latest instant up to which all ticks are known to be decided, UTC; zero before the job was opened
	Open  bool      // the store has the job
	Alive int       // runs on this node whose functions have not returned
}

// jobsAtOnce is how many jobs are read at once: no tick waits for the others.
const jobsAtOnce = 256

// Jobs returns the jobs of the node as they are now, by name. It asks the store nothing.
func (n *Node) Jobs() []JobStatus {
	alive, count := n.runs.Alive(), n.dispatcher.Jobs()
	all := make([]JobStatus, 0, count)
	for from := 0; from < count; from += jobsAtOnce {
		for _, k := range n.dispatcher.Known(from, min(from+jobsAtOnce, count)) {
			all = append(all, JobStatus{Name: k.Name, Spec: k.Spec.Text(), Zone: k.Spec.Zone().String(),
				Next: instant(k.Next), Mark: instant(k.Mark), Open: k.Open, Alive: alive[k.No]})
		}
	}
	slices.SortFunc(all, func(a, b JobStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// instant returns the time of an instant in Unix milliseconds, or the zero time of 0.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
