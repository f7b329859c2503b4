package reconcile

import (
	"sync"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// Requests are the jobs that the parts of a node want to be opened soon, and the partitions whose jobs they want to be read. They are safe
// for concurrent use. Make them with NewRequests.
type Requests struct {
	raised  signal.Signal // raised when a job is added
	reading signal.Signal // raised when a partition is added

	mu         sync.Mutex
	jobs       []*job.Job
	partitions map[uint16]bool
}

// NewRequests returns Requests without jobs.
func NewRequests() *Requests { return &Requests{raised: signal.New(), reading: signal.New()} }

// Add requests that a job, or the one that has replaced it, be opened soon. A removed job is not
// opened.
func (q *Requests) Add(j *job.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, j)
	q.raised.Raise()
}

// Read requests that all jobs of a partition be read soon: the runs that other nodes have watched may belong to a node that dies next.
func (q *Requests) Read(partition uint16) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.partitions == nil {
		q.partitions = map[uint16]bool{}
	}
	q.partitions[partition] = true
	q.reading.Raise()
}

// take removes and returns the jobs.
func (q *Requests) take() []*job.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}

// takePartitions removes and returns the partitions.
func (q *Requests) takePartitions() map[uint16]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	partitions := q.partitions
	q.partitions = nil
	return partitions
}
