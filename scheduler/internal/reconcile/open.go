package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// markAhead is how far a mark may be ahead of the store's clock.
const markAhead = time.Second

// unseen is the longest time that a spec may not be seen, while another one is, and still count as
// in force without a break. In a rolling deploy both are in use, and the nodes of a small fleet
// read each job more often than this. In a large fleet, a spec that few nodes have may count as new again.
const unseen = 2 * time.Minute

// openDue opens the jobs that are due to be opened, separately for each partition, so that a partition that
// does not answer delays no other. It reports whether all jobs are open.
func (r *Reconciler) openDue(ctx context.Context) bool {
	r.mu.Lock()
	r.gather()
	jobs := r.openings.take(time.Now())
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, partition := range job.ByPartition(r.cfg.Partitions, jobs, partitionOf) {
		wg.Go(func() { r.openPartition(ctx, partition) })
	}
	wg.Wait()
	return ctx.Err() != nil || r.logUnopened()
}

// openPartition opens jobs of one partition. Once its requests have used up the time of two, it stops, and
// the rest comes first next time.
func (r *Reconciler) openPartition(ctx context.Context, jobs []*job.Job) {
	began := time.Now()
	for len(jobs) > 0 && ctx.Err() == nil {
		if time.Since(began) >= r.cfg.Timeout {
			r.mu.Lock()
			r.openings.untried(jobs)
			r.mu.Unlock()
			return
		}
		batch := jobs[:min(len(jobs), batchMax)]
		_ = r.request(ctx, batch, 0) // which retries its jobs later
		jobs = jobs[len(batch):]
	}
}

// request registers jobs of one partition in the store and reads their state. A job that cannot be
// opened is retried later. It returns an error if the store has answered for none of them.
func (r *Reconciler) request(ctx context.Context, jobs []*job.Job, slack time.Duration) error {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *job.Job) bool { return !r.has(j) })
	if len(jobs) == 0 {
		return nil // an opened job counts as a job of this node
	}
	requests := make([]series.OpenRequest, len(jobs))
	now := r.cfg.Clock.Ms()
	for i, j := range jobs {
		known := r.cfg.Dispatcher.Job(int(j.No))
		requests[i] = series.OpenRequest{
			Key: j.Name, Node: r.cfg.Node, Revision: r.cfg.Revisions.Of(j.Spec, now),
			Spec: j.Spec.Text(), Zone: j.Spec.Zone().String(), Policies: j.Rules.Recorded, Mark: known.Mark,
		}
		if !known.Open {
			requests[i].Unseen, requests[i].Begin = unseen, begin(j, now)
		}
	}
	answers, err := wait.CallWithin(ctx, r.cfg.Timeout, func(ctx context.Context) ([]series.Series, error) {
		return r.cfg.Store.Open(ctx, requests), nil
	})
	if ctx.Err() != nil {
		return ctx.Err() // the node stops: a request that was cut short proves nothing about the store
	}
	if err != nil {
		answers = make([]series.Series, len(jobs))
		for i := range answers {
			answers[i].Err = err
		}
	}
	opened := make([]job.Opened, 0, len(jobs))
	reached := false // whether the store answered; the fault may concern one job only
	for i := range answers {
		switch {
		case answers[i].Err == nil:
			reached = true
			opened = append(opened, job.Opened{Job: jobs[i], Series: &answers[i], Former: job.Formers(&answers[i], unseen), Sent: requests[i].Mark})
		case errors.Is(answers[i].Err, driver.ErrUnreadable):
			reached = true
			err = answers[i].Err
		default:
			err = answers[i].Err
		}
	}
	r.note(jobs, answers)
	for _, o := range opened {
		r.cfg.Opened(o.Job)
		if o.Series.Mark > o.Series.Now+markAhead.Milliseconds() {
			r.cfg.Events.MarkAhead(o.Job, o.Series.Mark)
		}
	}
	r.cfg.Dispatcher.Opened(opened, slack)
	if reached {
		err = nil
	}
	r.cfg.Health.Answered(health.Part{Partition: int(jobs[0].Partition), Kind: health.Openings}, err)
	return err
}

// begin returns the mark that a job with one tick gets if it is new to the store: its tick may have
// passed and still be allowed to start. It returns 0 for a job that begins now, as any other does.
func begin(j *job.Job, now int64) int64 {
	at := j.Spec.At()
	within, _ := j.Rules.StartWithin(0)
	if tick := at.UnixMilli(); !at.IsZero() && now-tick <= within.Milliseconds() {
		return tick - 1
	}
	return 0
}

// has reports whether the node has a job: it was neither removed nor replaced.
func (r *Reconciler) has(j *job.Job) bool { return r.cfg.Dispatcher.Job(int(j.No)).Job == j }

// note records which jobs are open, and which have another revision on another node.
func (r *Reconciler) note(jobs []*job.Job, opened []series.Series) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	for i, j := range jobs {
		s := &opened[i]
		if !r.has(j) {
			continue
		}
		if s.Err != nil {
			r.openings.failed(j, s.Err, at)
			continue
		}
		r.openings.done(j)
		if s.Other != "" && r.other[j] != s.Other {
			r.other[j] = s.Other
			r.differing = append(r.differing, j)
		}
	}
}

// unopened reports whether there are jobs left to open.
func (r *Reconciler) unopened() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gather()
	return r.openings.left()
}

// logUnopened logs the jobs that cannot be opened, once a minute, and logs when all are open again.
// It reports whether all jobs are open.
func (r *Reconciler) logUnopened() bool {
	r.mu.Lock()
	count, due, left, ended := r.openings.report(time.Now())
	r.mu.Unlock()
	switch {
	case due:
		names, cause := r.names()
		r.cfg.Events.JobsNotOpen(count, names, cause)
	case ended:
		r.cfg.Events.JobsOpen()
	}
	return !left
}

// names returns the names of some of the jobs that cannot be opened, each with its reason, and the
// count of the others. The cause is the error of the first named job.
func (r *Reconciler) names() (names string, cause error) {
	r.mu.Lock()
	some, count := r.openings.some(), len(r.openings.order)
	r.mu.Unlock()
	texts := make([]string, len(some))
	for i, p := range some {
		texts[i] = fmt.Sprintf("job %q: %s", p.job.Name, r.cfg.Health.Explain(p.err))
		cause = cmp.Or(cause, p.err)
	}
	return health.List(texts, count), cause
}

// Remarks reports the jobs that cannot be opened, and the number of jobs that no request has
// covered yet because the store is slow.
func (r *Reconciler) Remarks() (remarks []string) {
	r.mu.Lock()
	r.gather()
	count, fresh := len(r.openings.order), len(r.openings.fresh)+r.openings.trying
	r.mu.Unlock()
	if count > 0 {
		names, _ := r.names()
		remarks = append(remarks, fmt.Sprintf("%s be opened: %s", health.Jobs(count, "cannot", "cannot"), names))
	}
	if fresh > 0 {
		remarks = append(remarks, health.Jobs(fresh, "is", "are")+" still to be opened")
	}
	return remarks
}
