package scheduler

import (
	"io"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// MaxLead is how long before it is due a tick is claimed at most.
const MaxLead = maxLead * time.Millisecond

// DueAt is when a tick of a job is to be claimed, with its jitter.
func DueAt(j *Job, zone *time.Location, tick time.Time) time.Time {
	s, err := j.faults("job", zone)
	if err != nil {
		panic(err)
	}
	r := rulesOf(j)
	registered := job.New(j.Name, s, &r, 0, 0)
	e := timetable.Entry{Job: &registered}
	return time.UnixMilli(e.DueAt(tick.UnixMilli()))
}

// Free returns how many more runs the node has room for.
func (n *Node) Free() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.free
}

// Pending returns how many asks have no verdict.
func (n *Node) Pending() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := n.agenda.count + n.queue.count()
	for _, as := range n.parked {
		count += len(as)
	}
	for _, m := range n.mutes {
		count += len(m.idle)
	}
	return count
}

// StandardError is where the node tells that its logger panicked.
func (n *Node) StandardError(w io.Writer) { n.events.stderr = w }
