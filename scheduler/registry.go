package scheduler

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/spec"
)

// A registry checks jobs and keeps the accepted ones with their functions. Jobs share equal specs
// and policies. It is safe for concurrent use.
type registry struct {
	store      Store
	partitions int
	zone       *time.Location
	spread     time.Duration
	around     []Middleware // wraps the functions of all jobs
	places     *places      // of their runs in limits

	mu      sync.Mutex
	names   map[string]*job.Job // the jobs of the node
	removed map[string]*job.Job // removed jobs, whose numbers are reused when the jobs come back
	jobs    job.Rows[job.Job]   // the jobs, in the order in which they were added
	funcs   job.Rows[Func]      // the functions, by job number
	specs   map[specKey]*spec.Schedule
	rules   map[job.Rules]*job.Rules
	change  func(added, removed, replaced []*job.Job) // gets each change; nil: jobs are only kept
	ended   bool                                      // the node takes no more changes

	intervals map[*spec.Schedule]time.Duration // the shortest interval of each spec, for jobs that set a lease
	leases    listed                           // jobs whose lease is longer than their interval
	deadlines listed                           // jobs with a short deadline
}

// A listed has the first names of some jobs, and their number.
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

func newRegistry(cfg *Config, partitions int, runs *places) *registry {
	return &registry{
		store: cfg.Store, partitions: partitions, zone: cfg.Zone, spread: cfg.Spread, around: slices.Clone(cfg.Middleware), places: runs, names: make(map[string]*job.Job, len(cfg.Jobs)), removed: map[string]*job.Job{},
		specs: map[specKey]*spec.Schedule{}, rules: map[job.Rules]*job.Rules{}, intervals: map[*spec.Schedule]time.Duration{},
	}
}

// start passes the present jobs to change, and from then on each change.
func (r *registry) start(change func(added, removed, replaced []*job.Job)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*job.Job, r.jobs.Size())
	for no := range all {
		all[no] = r.jobs.At(no)
	}
	r.change = change
	change(all, nil, nil)
}

// close ends the registry: it accepts no more changes.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// remark records properties of a job that New accepts but that a user may not want.
func (r *registry) remark(j *job.Job) {
	if r.short(j.Rules.Policy.Deadline) {
		r.deadlines.add(j.Name)
	}
	lease := j.Rules.Lease
	if lease == 0 {
		return
	}
	least, known := r.intervals[j.Spec]
	if !known {
		least = shortest(j.Spec)
		r.intervals[j.Spec] = least
	}
	if least != 0 && lease > max(least, job.MinLease) {
		r.leases.add(fmt.Sprintf("%s (%v, every %v)", j.Name, lease, least))
	}
}

// short reports whether a tick may miss its deadline while nothing is wrong: another node takes a
// tick over from a busy one only after the spread, and a request to the store takes time.
func (r *registry) short(deadline time.Duration) bool {
	return deadline > 0 && (deadline < leastDeadline || deadline <= r.spread)
}

// remarks returns the properties of jobs that New accepts but that a user may not want.
func (r *registry) remarks() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := &r.deadlines; d.count > 0 {
		all = append(all, fmt.Sprintf("%s a deadline below %v, or no longer than the spread of %v, so that ticks are missed when a node or the store is busy: %s",
			health.Jobs(d.count, "has", "have"), leastDeadline, r.spread, d))
	}
	if l := &r.leases; l.count > 0 {
		all = append(all, fmt.Sprintf("%s a lease that is longer than the interval, so that ticks are missed for so long when a node dies: %s",
			health.Jobs(l.count, "has", "have"), l))
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

// partitionOf returns the partition of the store that holds a job.
func (r *registry) partitionOf(name string) uint16 {
	if r.partitions <= 1 {
		return 0
	}
	return uint16(r.store.(series.Partitioned).Partition(name))
}

// share returns the one copy of equal rules.
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

// named returns the job with a name; nil if the node has none.
func (r *registry) named(name string) *job.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name]
}
