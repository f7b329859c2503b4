package scheduler

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/spec"
)

// A registry checks jobs and keeps those it accepts, with their functions. Jobs share what
// is equal: specs and policies. It is safe for concurrent use.
type registry struct {
	store  Store
	shards int
	zone   *time.Location
	spread time.Duration

	mu    sync.Mutex
	names map[string]struct{}
	jobs  job.Rows[job.Job]
	funcs job.Rows[Func] // of the same
	specs map[specKey]*spec.Schedule
	rules map[job.Rules]*job.Rules
	added func(j *job.Job) // gets each job, in the order of numbers; nil: jobs are only kept
	ended bool             // the node takes no more jobs

	intervals map[*spec.Schedule]time.Duration // the shortest, of those of jobs with a lease of their own
	leases    listed                           // jobs whose leases are longer than that
	deadlines listed                           // jobs with a short deadline
}

// listed are the first names of some jobs, and how many there are.
type listed struct {
	names []string
	count int
}

func (l *listed) add(name string) {
	if l.count++; l.count <= health.MostListed {
		l.names = append(l.names, name)
	}
}

func (l *listed) String() string { return health.List(l.names, l.count) }

type specKey struct{ text, zone string }

func newRegistry(cfg *Config, shards int) *registry {
	return &registry{
		store: cfg.Store, shards: shards, zone: cfg.Zone, spread: cfg.Spread, names: make(map[string]struct{}, len(cfg.Jobs)),
		specs: map[specKey]*spec.Schedule{}, rules: map[job.Rules]*job.Rules{}, intervals: map[*spec.Schedule]time.Duration{},
	}
}

// start passes the jobs there are to added, and from now on each new one.
func (r *registry) start(added func(j *job.Job)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added = added
	for no := range r.jobs.Size() {
		added(r.jobs.At(no))
	}
}

// close ends the registry: it takes no more jobs.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// addAll adds jobs and returns the faults of all. A job that is refused takes its name all
// the same.
func (r *registry) addAll(jobs []Job) (errs []error) {
	refused := map[string]bool{}
	for i := range jobs {
		path, name := fmt.Sprintf("jobs[%d]", i), jobs[i].Name
		_, registered := r.names[name]
		twice := refused[name] && !registered
		_, err := r.add(path, &jobs[i])
		if twice {
			err = errors.Join(err, taken(path, name))
		}
		if err != nil {
			errs = append(errs, err)
			refused[name] = name != ""
		}
	}
	return errs
}

func taken(path, name string) error {
	return fmt.Errorf("%s.name: %s is taken by another job", path, text.Quote(name))
}

// add checks a job and keeps it.
func (r *registry) add(path string, j *Job) (*job.Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, fmt.Errorf("%s: %s comes too late, the node drains or has ended", path, text.Quote(j.Name))
	}
	s, err := r.schedule(path, j)
	if _, twice := r.names[j.Name]; twice {
		err = errors.Join(err, taken(path, j.Name))
	}
	if _, can := r.store.(driver.Replicated); j.Replicas > 0 && !can && r.store != nil {
		err = errors.Join(err, fmt.Errorf("%s.replicas: is %d, but the store cannot wait for replicas", path, j.Replicas))
	}
	if err != nil {
		return nil, err
	}
	no := uint32(r.jobs.Size())
	registered := r.jobs.Add()
	*registered = job.New(j.Name, s, r.share(rulesOf(j)), no, r.shardOf(j.Name))
	*r.funcs.Add() = j.Func
	r.names[j.Name] = struct{}{}
	r.noteLease(j, s)
	if j.short(r.spread) {
		r.deadlines.add(j.Name)
	}
	if r.added != nil {
		r.added(registered)
	}
	return registered, nil
}

// noteLease notes a job whose lease is longer than its shortest interval, and than the lease that
// such a job has by default.
func (r *registry) noteLease(j *Job, s *spec.Schedule) {
	if j.Lease == 0 {
		return
	}
	least, known := r.intervals[s]
	if !known {
		least = shortest(s)
		r.intervals[s] = least
	}
	if least != 0 && j.Lease > max(least, job.MinLease) {
		r.leases.add(fmt.Sprintf("%s (%v, every %v)", j.Name, j.Lease, least))
	}
}

// remarks returns what New accepts and a user may not want.
func (r *registry) remarks() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := &r.deadlines; d.count > 0 {
		all = append(all, fmt.Sprintf("%d jobs have a deadline below %v, or no longer than the spread of %v, and miss ticks when a node or the store is busy: %s",
			d.count, leastDeadline, r.spread, d))
	}
	if l := &r.leases; l.count > 0 {
		all = append(all, fmt.Sprintf("%d jobs have a lease that is longer than their interval, and stand still for so long when their node dies: %s",
			l.count, l))
	}
	return all
}

// schedule parses a job's spec; jobs with the same spec share one.
func (r *registry) schedule(path string, j *Job) (*spec.Schedule, error) {
	s, err := j.faults(path, r.zone)
	if err != nil {
		return nil, err
	}
	key := specKey{s.Text(), s.Zone().String()}
	if known := r.specs[key]; known != nil {
		return known, nil
	}
	r.specs[key] = s
	return s, nil
}

// shardOf returns the shard of the store that a job lives in.
func (r *registry) shardOf(name string) uint16 {
	if r.shards <= 1 {
		return 0
	}
	return uint16(r.store.(driver.Sharded).Shard(name))
}

// share returns one of the rules that are equal.
func (r *registry) share(rules job.Rules) *job.Rules {
	if known := r.rules[rules]; known != nil {
		return known
	}
	r.rules[rules] = &rules
	return &rules
}

// function returns the function of a job.
func (r *registry) function(j *job.Job) Func {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.funcs.At(int(j.No))
}
