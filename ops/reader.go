package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

const (
	keysEvery  = 30 * time.Second // the list of jobs is read again
	linesEvery = 5 * time.Minute  // a journal is read again though its state has not changed
	abreast    = 8                // journals are read at once
	leastLines = 8                // of a journal are kept
	mostLines  = 60
)

// A reader reads the store for a projection. One refresh at a time uses it.
type reader struct {
	o      Options
	keys   []string
	keysAt time.Time
}

// read makes the next snapshot of the last one.
func (r *reader) read(ctx context.Context, last *Snapshot) *Snapshot {
	next := &Snapshot{Namespace: r.o.Namespace}
	members, err := r.o.Store.Members(ctx)
	next.Nodes = NewNodeList(members, err)
	var silent error
	if len(r.keys) == 0 || time.Since(r.keysAt) > keysEvery || last.Down != "" {
		keys, keysErr := r.o.Store.Keys(ctx)
		if keysErr != nil {
			next.Faults = append(next.Faults, "not all jobs are known: "+r.explain(keysErr))
			silent = keysErr
		} else {
			r.keysAt = time.Now()
		}
		if keysErr == nil || len(keys) > 0 {
			r.keys = keys
		}
	}
	if err != nil {
		next.Faults = append(next.Faults, "which nodes live is not known: "+r.explain(err))
		silent = err
	}
	states := r.o.Store.ReadSeries(ctx, r.keys)
	if silent != nil && !slices.ContainsFunc(states, func(s driver.Series) bool { return s.Err == nil }) {
		return r.down(last, silent)
	}
	next.Read, next.AsOf = time.Now(), utc(members.Now)
	next.Jobs = r.jobs(ctx, next, last, states)
	if len(next.Jobs) > 0 && !slices.ContainsFunc(next.Jobs, func(j *Job) bool { return j.State != Unknown || j.Series.Err == nil }) {
		return r.down(last, next.Jobs[0].Series.Err)
	}
	if next.AsOf.IsZero() {
		for _, j := range next.Jobs {
			next.AsOf = utc(j.Series.Now)
		}
	}
	return next
}

// down is the last snapshot with the state of each job unknown.
func (r *reader) down(last *Snapshot, err error) *Snapshot {
	next := *last
	next.Down = r.explain(err)
	if last.Down == "" || last.DownSince.IsZero() {
		next.DownSince = time.Now()
	}
	next.Nodes = NewNodeList(driver.MemberList{}, err)
	next.Faults = nil
	next.Jobs = make([]*Job, len(last.Jobs))
	for i, j := range last.Jobs {
		next.Jobs[i] = unknownJob(j.Name, j, "the store does not answer: "+next.Down)
	}
	return &next
}

func (r *reader) explain(err error) string {
	if r.o.Explain != nil {
		if text := r.o.Explain(err); text != "" {
			return text
		}
	}
	return err.Error()
}

// jobs makes the jobs of a snapshot of their states. The journal is read of those that have changed.
func (r *reader) jobs(ctx context.Context, next, last *Snapshot, states []driver.Series) []*Job {
	jobs := make([]*Job, len(states))
	var stale []int
	for i := range states {
		s, before := &states[i], last.Job(states[i].Key)
		switch {
		case s.Err != nil:
			jobs[i] = unknownJob(s.Key, before, r.explain(s.Err))
			jobs[i].Series.Err = s.Err
		case before == nil || before.State == Unknown || before.changed(s) || s.Now-before.read > linesEvery.Milliseconds():
			stale = append(stale, i)
		default:
			jobs[i] = before.at(*s, next.Nodes)
		}
	}
	lines := min(max(r.o.Lines/max(len(states), 1), leastLines), mostLines)
	r.readLines(ctx, next, last, states, stale, lines, jobs)
	for i := range jobs {
		if before := last.Job(jobs[i].Name); len(jobs[i].Overdue) > 0 && (before == nil || before.State != Overdue) {
			r.readLines(ctx, next, last, states, []int{i}, 0, jobs) // first it is judged by its whole journal, as by cronce overdue
		}
		next.suspects = next.suspects || !jobs[i].suspected.IsZero()
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return strings.Compare(a.Name, b.Name) })
	return jobs
}

// readLines reads the newest lines of some jobs, and their states once more: a state must be younger than the
// lines. Lines 0: all of them.
func (r *reader) readLines(ctx context.Context, next, last *Snapshot, states []driver.Series, which []int, lines int, jobs []*Job) {
	journals, errs := make([]driver.Journal, len(which)), make([]error, len(which))
	work := make(chan int)
	var reading sync.WaitGroup
	for range min(abreast, len(which)) {
		reading.Go(func() {
			for k := range work {
				journals[k], errs[k] = r.o.Store.Journal(ctx, states[which[k]].Key, lines)
			}
		})
	}
	keys := make([]string, len(which))
	for k, i := range which {
		work <- k
		keys[k] = states[i].Key
	}
	close(work)
	reading.Wait()
	for k, s := range r.o.Store.ReadSeries(ctx, keys) {
		before := last.Job(s.Key)
		if err := firstError(errs[k], s.Err); err != nil {
			jobs[which[k]] = unknownJob(s.Key, before, r.explain(err))
			jobs[which[k]].Series.Err = err
			continue
		}
		job := newJob(r.o.Namespace, journals[k], s, next.Nodes, before)
		if most := mostLines; len(job.Journal.Lines) > most {
			job.Journal.Lines = slices.Clone(job.Journal.Lines[len(job.Journal.Lines)-most:])
			job.Journal.Truncated = true
			job.Runs = job.Runs[:min(len(job.Runs), most)]
		}
		jobs[which[k]] = job
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("ops: %w", err)
		}
	}
	return nil
}
