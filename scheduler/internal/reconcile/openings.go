package reconcile

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// A pending job could not be opened.
type pending struct {
	job   *job.Job
	tries int
	at    time.Time // when it is tried again
	err   error     // why it failed
	place int       // in the order
}

// The openings are the jobs that are to be opened. However many cannot be, each method
// costs no more than the jobs it takes. They are not safe for concurrent use.
type openings struct {
	fresh    []*job.Job            // not tried yet, or forgotten by the store
	trying   int                   // how many of those were taken and may not have been tried
	pending  map[*job.Job]*pending // tried, and to be tried again
	order    byTime                // of the same
	reported time.Time             // when the log had those last; zero: not
}

const (
	openPause   = time.Second // before a job is tried again, doubling
	openLongest = time.Minute
	openRetries = 4 * batchMax // how many are tried again at a time
)

// ask lets a job be opened soon, unless it waits for another try.
func (o *openings) ask(j *job.Job) {
	if _, waits := o.pending[j]; !waits {
		o.fresh = append(o.fresh, j)
	}
}

// untried lets jobs be taken again that were taken and not tried.
func (o *openings) untried(jobs []*job.Job) {
	for _, j := range jobs {
		o.ask(j)
	}
}

// left reports whether jobs are still to be opened.
func (o *openings) left() bool { return len(o.fresh)+len(o.order) > 0 }

// take returns the jobs that are to be opened now: those not tried yet, then those that
// have waited longest. A job that failed does not come again before its pause is over, so
// however many fail, the others are opened.
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
		heap.Push(&o.order, p) // until it is known to be open
	}
	return jobs
}

// failed lets a job be tried again after a pause.
func (o *openings) failed(j *job.Job, err error, now time.Time) {
	p := o.pending[j]
	if p == nil {
		if o.pending == nil {
			o.pending = map[*job.Job]*pending{}
		}
		p = &pending{job: j, at: now}
		o.pending[j] = p
		heap.Push(&o.order, p)
	}
	p.at, p.err = now.Add(min(openPause<<min(p.tries, 10), openLongest)), err
	p.tries++
	heap.Fix(&o.order, p.place)
}

// forget forgets a job that is not to be opened any more.
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

// report returns how many jobs cannot be opened and whether the log is due that, first and
// then once in a Reminder; whether jobs are left to be opened; and whether there were such
// jobs in the log and none is left.
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

// some returns as many of the jobs that cannot be opened as are named, sorted by name.
func (o *openings) some() []pending {
	var some []pending
	for _, p := range o.order[:min(len(o.order), health.MostListed)] {
		some = append(some, *p)
	}
	slices.SortFunc(some, func(x, y pending) int { return cmp.Compare(x.job.Name, y.job.Name) })
	return some
}

// byTime is a heap of pending jobs, by when they are tried again.
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
