package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
)

// Add registers jobs, before or while the node runs. It adds all of them in one step, or none and
// returns an error that joins every fault. If the node runs, it soon opens the jobs in the store.
// Once the node drains, or Run has returned, Add returns an error.
func (n *Node) Add(jobs ...Job) error {
	added, err := n.registry.add(jobs)
	if err != nil {
		return fmt.Errorf("scheduler: add: %w", err)
	}
	n.opened(added)
	return nil
}

// Replace replaces the jobs of this node that have the same names, in one step: all of them, or
// none and it returns an error that joins every fault. Runs that are alive go on with the function
// and the policies that they began with. A job with another spec is opened anew, as in a deploy:
// every earlier tick is decided by the rules for a changed spec. Once the node drains, or Run has
// returned, Replace returns an error.
func (n *Node) Replace(jobs ...Job) error {
	former, replaced, err := n.registry.replace(jobs)
	if err != nil {
		return fmt.Errorf("scheduler: replace: %w", err)
	}
	n.forget(former)
	n.opened(replaced)
	return nil
}

// Remove removes jobs from this node by name, in one step: all of them, or none and it returns an
// error that joins every fault. The node starts no more runs of them. Runs that are alive go on to
// their ends, also those that wait for a place in their limit. A tick that is granted at this moment
// is given back, for other nodes that have the job. The node keeps about 300 bytes for each removed job until it ends, because a job with the
// same name may be added again. Once the node drains, or Run has returned, Remove returns an error.
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
		n.wanted.Add(j)
	}
}

// A JobStatus describes one job of a node, as the node knows it.
type JobStatus struct {
	Name  string
	Spec  string    // as given, with H replaced by values
	Zone  string    // the zone of the spec
	Next  time.Time // the next tick, UTC; zero if the spec has no more ticks
	Mark  time.Time // every tick up to here is known to be decided, UTC; zero before the job was opened
	Open  bool      // the job is open in the store
	Alive int       // runs on this node whose functions have not returned
}

// jobsAtOnce is the number of jobs that Jobs reads at once, so that no tick waits for all of them.
const jobsAtOnce = 256

// Jobs returns the current jobs of the node, sorted by name. It sends no request to the store.
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

// instant converts Unix milliseconds to a time. It returns the zero time for 0.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
