package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/spec"
)

// add checks jobs and keeps them, all or none. Its error joins every fault.
func (r *registry) add(jobs []Job) (added []*job.Job, err error) {
	funcs, wrong := wrap(jobs, r.around, r.places)
	r.mu.Lock()
	defer r.mu.Unlock()
	specs, errs := r.check(jobs, wrong, func(path string, j *Job, twice bool) error {
		if _, known := r.names[j.Name]; known || twice {
			return fmt.Errorf("%s.name: %s is taken by another job", path, text.Quote(j.Name))
		}
		return nil
	})
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var fresh, back []*job.Job
	for i := range jobs {
		old := r.removed[jobs[i].Name]
		if old == nil {
			no := r.jobs.Size()
			*r.funcs.Add() = nil
			fresh = append(fresh, r.put(r.jobs.Add(), &jobs[i], funcs[i], specs[i], uint32(no)))
			continue
		}
		delete(r.removed, jobs[i].Name)
		back = append(back, r.put(new(job.Job), &jobs[i], funcs[i], specs[i], old.No))
	}
	r.changed(fresh, nil, back)
	return append(fresh, back...), nil
}

// replace checks jobs and replaces the jobs that have their names, all or none. It returns the jobs
// that were replaced and the jobs that replaced them. A job that differs only in its function is in
// neither list.
func (r *registry) replace(jobs []Job) (former, replaced []*job.Job, err error) {
	funcs, wrong := wrap(jobs, r.around, r.places)
	r.mu.Lock()
	defer r.mu.Unlock()
	specs, errs := r.check(jobs, wrong, func(path string, j *Job, twice bool) error {
		if _, known := r.names[j.Name]; !known || twice {
			return r.unknown(path+".name", j.Name, known)
		}
		return nil
	})
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	for i := range jobs {
		old, rules := r.names[jobs[i].Name], r.share(rulesOf(&jobs[i]))
		if old.Spec == specs[i] && old.Rules == rules {
			*r.funcs.At(int(old.No)) = funcs[i]
			continue
		}
		former = append(former, old)
		replaced = append(replaced, r.put(new(job.Job), &jobs[i], funcs[i], specs[i], old.No))
	}
	r.changed(nil, nil, replaced)
	return former, replaced, nil
}

// remove removes jobs by name, all or none.
func (r *registry) remove(names []string) (removed []*job.Job, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := r.late()
	seen := map[string]bool{}
	for i, name := range names {
		if _, known := r.names[name]; !known || seen[name] {
			errs = append(errs, r.unknown(fmt.Sprintf("names[%d]", i), name, known))
		}
		seen[name] = true
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, name := range names {
		j := r.names[name]
		delete(r.names, name)
		r.removed[name] = j
		removed = append(removed, j)
	}
	r.changed(nil, removed, nil)
	return removed, nil
}

// late returns an error if the node takes no more changes. The caller holds the mutex.
func (r *registry) late() []error {
	if r.ended {
		return []error{errors.New("the node drains or has ended")}
	}
	return nil
}

// unknown returns the error for a name that is given twice or that no job of the node has.
func (r *registry) unknown(path, name string, twice bool) error {
	if twice {
		return fmt.Errorf("%s: %s was given twice", path, text.Quote(name))
	}
	return fmt.Errorf("%s: %s is no job of this node", path, text.Quote(name))
}

// check returns the specs of jobs and all faults, including the given faults of their middleware
// and the faults of their names, which named returns. The caller holds the mutex.
func (r *registry) check(jobs []Job, middleware []error, named func(path string, j *Job, twice bool) error) (specs []*spec.Schedule, errs []error) {
	errs = slices.Concat(r.late(), middleware, r.limitFaults(jobs))
	specs, seen := make([]*spec.Schedule, len(jobs)), make(map[string]bool, len(jobs))
	for i := range jobs {
		path, j := fmt.Sprintf("jobs[%d]", i), &jobs[i]
		s, err := r.schedule(path, j)
		specs[i] = s
		err = errors.Join(err, named(path, j, seen[j.Name]))
		if _, can := r.store.(driver.Replicated); j.Replicas > 0 && !can && r.store != nil {
			err = errors.Join(err, fmt.Errorf("%s.replicas: is %d, but the store cannot wait for replicas", path, j.Replicas))
		}
		err = errors.Join(err, r.shardFault(path, j))
		if err != nil {
			errs = append(errs, err)
		}
		seen[j.Name] = j.Name != ""
	}
	return specs, errs
}

// shardFault returns an error if the store cannot divide a job's ticks.
func (r *registry) shardFault(path string, j *Job) error {
	if j.Shards == 0 && !j.Broadcast || r.store == nil {
		return nil
	}
	s, can := r.store.(series.Sharder)
	switch {
	case !can && j.Broadcast:
		return fmt.Errorf("%s.broadcast: is true, but the store keeps no shards: Redis, PostgreSQL, MySQL, MariaDB, SQLite and the store in memory do", path)
	case !can:
		return fmt.Errorf("%s.shards: is %d, but the store keeps no shards: Redis, PostgreSQL, MySQL, MariaDB, SQLite and the store in memory do", path, j.Shards)
	case s.MostShards() < j.Shards && j.Shards <= series.MaxShards: // more are too many for any store
		return fmt.Errorf("%s.shards: is %d, must be at most %d on this store", path, j.Shards, s.MostShards())
	}
	return nil
}

// put makes a job with a number and keeps it and its function. The caller holds the mutex.
func (r *registry) put(to *job.Job, j *Job, f Func, s *spec.Schedule, no uint32) *job.Job {
	*to = job.New(j.Name, s, r.share(rulesOf(j)), no, r.partitionOf(j.Name))
	*r.funcs.At(int(no)) = f
	r.names[j.Name] = to
	return to
}

// changed passes a change on, and computes the remarks anew if jobs were removed. The caller holds
// the mutex.
func (r *registry) changed(added, removed, replaced []*job.Job) {
	remarked := slices.Concat(added, replaced)
	if len(removed)+len(replaced) > 0 && r.leases.count+r.deadlines.count > 0 {
		r.leases, r.deadlines = listed{}, listed{}
		remarked = r.all()
	}
	for _, j := range remarked {
		r.remark(j)
	}
	if r.change != nil {
		r.change(added, removed, replaced)
	}
}

// all returns the jobs by their numbers. The caller holds the mutex.
func (r *registry) all() []*job.Job {
	return slices.SortedFunc(maps.Values(r.names), func(a, b *job.Job) int { return int(a.No) - int(b.No) })
}
