package reconcile

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// A pending job could not be opened.
type pending struct {
	job   *job.Job
	tries int
	at    time.Time // when to retry it
	err   error     // why the last try failed
	place int       // index in the order
}

// The openings are the jobs that are still to be opened. However many cannot be opened, the cost of
// each method only depends on the number of jobs that it takes. They are not safe for concurrent
// use.
type openings struct {
	fresh    []*job.Job            // jobs not tried yet, or forgotten by the store
	trying   int                   // number of fresh jobs that were taken and may not have been tried
	pending  map[*job.Job]*pending // jobs that were tried and are to be tried again
	order    byTime                // the pending jobs, by time
	reported time.Time             // when the pending jobs were last logged; zero: never
}

const (
	openPause   = time.Second // first wait before a job is retried
	openLongest = time.Minute
	openRetries = 4 * batchMax // the most jobs that are retried at a time
)

// add requests that a job be opened soon, unless it waits for another try.
func (o *openings) add(j *job.Job) {
	if _, waits := o.pending[j]; !waits {
		o.fresh = append(o.fresh, j)
	}
}

// untried puts back jobs that were taken and not tried.
func (o *openings) untried(jobs []*job.Job) {
	for _, j := range jobs {
		o.add(j)
	}
}

// left reports whether jobs are still to be opened.
func (o *openings) left() bool { return len(o.fresh)+len(o.order) > 0 }

// take returns the jobs to open now: those not tried yet, then those that have waited longest. A
// job that failed is not returned before its pause is over, so that the others are opened however
// many fail.
func (o *openings) take(now time.Time) []*job.Job {
	jobs := o.fresh
	o.fresh, o.trying = nil, len(o.fresh)
	var again []*pending
	for len(o.order) > 0 && len(again) < openRetries && !o.order[0].at.After(now) {
		p := heap.Pop(&o.order).(*pending)
		again = append(again, p)
		jobs = append(jobs, p.job)
	}
	for _, p := range again {
		heap.Push(&o.order, p) // it stays pending until it is known to be open
	}
	return jobs
}

// failed schedules another try of a job after a pause.
func (o *openings) failed(j *job.Job, err error, now time.Time) {
	p := o.pending[j]
	if p == nil {
		if o.pending == nil {
			o.pending = map[*job.Job]*pending{}
		}
		p = &pending{job: j}
		o.pending[j] = p
		heap.Push(&o.order, p)
	}
	p.tries++
	p.at, p.err = now.Add(wait.Backoff{First: openPause, Longest: openLongest}.After(p.tries)), err
	heap.Fix(&o.order, p.place)
}

// forget forgets a job that is no longer to be opened.
func (o *openings) forget(j *job.Job) {
	o.done(j)
	o.fresh = slices.DeleteFunc(o.fresh, func(other *job.Job) bool { return other == j })
}

// done forgets a job that is open.
func (o *openings) done(j *job.Job) {
	if p := o.pending[j]; p != nil {
		delete(o.pending, j)
		heap.Remove(&o.order, p.place)
	}
}

// report returns the number of jobs that cannot be opened and whether the log is due to have it,
// which it is at first and then once per Reminder; whether jobs are left to open; and whether the
// log had such jobs and none is left.
func (o *openings) report(now time.Time) (count int, due, left, ended bool) {
	o.trying = 0
	count, left = len(o.order), o.left()
	due = count > 0 && (o.reported.IsZero() || now.Sub(o.reported) >= health.Reminder)
	ended = !left && !o.reported.IsZero()
	switch {
	case due:
		o.reported = now
	case !left:
		o.reported = time.Time{}
	}
	return count, due, left, ended
}

// some returns the jobs that cannot be opened, up to the number that a line names, sorted by name.
func (o *openings) some() []pending {
	var some []pending
	for _, p := range o.order[:min(len(o.order), health.MostListed)] {
		some = append(some, *p)
	}
	slices.SortFunc(some, func(x, y pending) int { return cmp.Compare(x.job.Name, y.job.Name) })
	return some
}

// byTime is a heap of pending jobs, ordered by the time of their next try.
type byTime []*pending

func (h byTime) Len() int { return len(h) }

func (h byTime) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].job.Name, h[j].job.Name)) < 0
}

func (h byTime) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *byTime) Push(x any) {
	p := x.(*pending)
	p.place = len(*h)
	*h = append(*h, p)
}

func (h *byTime) Pop() any {
	old := *h
	last := len(old) - 1
	p := old[last]
	old[last], *h = nil, old[:last]
	return p
}
