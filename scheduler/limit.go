package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/policy"
)

// A Limit bounds how many runs go on at once, over all jobs that name it and all nodes: see
// [Job].Limit.
type Limit = policy.Limit

// places takes the places of runs in limits. It is safe for concurrent use.
type places struct {
	locker  *lock.Locker
	timeout time.Duration // of the requests that give a place back

	mu      sync.Mutex
	ended   bool           // the node waits for those requests, or has ended
	freeing sync.WaitGroup // the requests on their way
}

// around returns a function that calls f with a place in a job's limit, for each try a new one. The
// function waits for the place until its context ends. The context of f ends when the place is lost
// too.
func (p *places) around(j *Job, f Func) Func {
	limit, replicas := j.Limit, j.Replicas
	return func(ctx context.Context, run *Run) error {
		began := time.Now()
		place, err := p.locker.Acquire(ctx, limit.Key(), lock.Options{
			Limit: limit.Of, TTL: run.lease.Ref.TTL, Replicas: replicas, Context: ctx, Note: policy.PlaceNote(run.ID[strings.LastIndexByte(run.ID, '/')+1:]),
		})
		if err != nil {
			return &waitError{limit: limit.Name, waited: time.Since(began), ended: ctx.Err() != nil, err: err}
		}
		defer p.free(ctx, place) // also when f panics
		err = f(place.Context(), run)
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(place.Context()), lock.ErrLost) {
			return fmt.Errorf("%w (the run lost its place in the limit %s)", err, limit.Name)
		}
		return err
	}
}

// free gives a place back, beside the run: a store that does not answer would otherwise delay the end of a run, whose work is
// done, until its lease is lost. An error of the request is no error of the run: the place is free when its lease is over, as
// after a run that outlives its node.
func (p *places) free(ctx context.Context, place *lock.Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		place.Abandon(lock.ErrReleased)
		return
	}
	p.freeing.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer stop()
		_ = place.Release(ctx)
	})
}

// end waits until the places are given back, for a bounded time.
func (p *places) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), p.timeout)
	defer stop()
	_ = p.locker.Wait(ctx)
	p.freeing.Wait()
}

// A waitError is the error of a try that got no place.
type waitError struct {
	limit  string
	waited time.Duration
	ended  bool  // the run's context ended; the node adds the cause to the text of the run's error
	err    error // of the lock
}

func (e *waitError) Error() string {
	text := fmt.Sprintf("waited %v for a place in the limit %s", e.waited.Round(10*time.Millisecond), e.limit)
	if e.ended {
		return text
	}
	return text + ": " + e.err.Error()
}

func (e *waitError) Unwrap() error { return e.err }

// limitFaults checks the job's limit.
func (j *Job) limitFaults(bad func(field, format string, args ...any)) {
	j.Limit.Faults(func(field, text string) { bad("limit."+field, "%s", text) })
}

// limitFaults returns an error for each job that has a limit which the store cannot keep, or to
// which it gives another size than an earlier job does. The caller holds the mutex.
func (r *registry) limitFaults(jobs []Job) (errs []error) {
	first := map[string]*Job{} // by the limit's name
	for i := range jobs {
		j := &jobs[i]
		fits := j.Limit.Name != ""
		j.limitFaults(func(string, string, ...any) { fits = false })
		if !fits {
			continue
		}
		if len(first) == 0 {
			first = r.limited(jobs)
		}
		if _, can := r.store.(driver.Sharer); j.Limit.Of > 1 && !can && r.store != nil {
			errs = append(errs, fmt.Errorf("jobs[%d].limit: is %s, but the store shares no locks: Redis, PostgreSQL, MySQL, MariaDB, SQLite, ZooKeeper and the store in memory do", i, j.Limit))
		}
		if other := first[j.Limit.Name]; other == nil {
			first[j.Limit.Name] = j
		} else if other.Limit.Of != j.Limit.Of {
			errs = append(errs, fmt.Errorf("jobs[%d].limit.of: is %d, must be %d for the limit %s, as in the job %s", i, j.Limit.Of, other.Limit.Of, j.Limit.Name, other.Name))
		}
	}
	return errs
}

// limited returns the first job of each limit, without the jobs that others are to replace.
func (r *registry) limited(others []Job) map[string]*Job {
	replaced := make(map[string]bool, len(others))
	for i := range others {
		replaced[others[i].Name] = true
	}
	first, no := map[string]*Job{}, map[string]uint32{}
	for name, j := range r.names {
		l := j.Rules.Policy.Limit
		if known, has := no[l.Name]; l.Name == "" || replaced[name] || has && known < j.No {
			continue
		}
		first[l.Name], no[l.Name] = &Job{Name: name, Limit: l}, j.No
	}
	return first
}
