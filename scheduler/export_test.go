package scheduler

import (
	"io"
	"time"

	"github.com/cronce/cronce/scheduler/internal/dispatch"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// MaxLead is the longest time before its tick at which a claim is sent.
const MaxLead = dispatch.MaxLead

// DueAt returns when a tick of a job is to be claimed, with its jitter.
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

// Free returns the number of free slots of the node.
func (n *Node) Free() int {
	free, _ := n.dispatcher.Load()
	return free
}

// Pending returns the number of claims without a verdict.
func (n *Node) Pending() int {
	_, pending := n.dispatcher.Load()
	return pending
}

// StandardError sets where the node reports that its logger panicked.
func (n *Node) StandardError(w io.Writer) { n.events.log.Stderr = w }

// SpecText returns the text of a job's spec as it is recorded.
func (j *Job) SpecText() (string, error) { return j.spec() }
