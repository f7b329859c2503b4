package reconcile

import (
	"sync"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// Requests are the jobs that the parts of a node want to be opened soon. They are safe for concurrent
// use. Make them with NewRequests.
type Requests struct {
	raised signal.Signal // raised when a job is added

	mu   sync.Mutex
	jobs []*job.Job
}

// NewRequests returns Requests without jobs.
func NewRequests() *Requests { return &Requests{raised: signal.New()} }

// Add requests that a job, or the one that has replaced it, be opened soon. A removed job is not
// opened.
func (q *Requests) Add(j *job.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, j)
	q.raised.Raise()
}

// take removes and returns the jobs.
func (q *Requests) take() []*job.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}
