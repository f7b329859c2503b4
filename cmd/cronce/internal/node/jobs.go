package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	jobexec "github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/scheduler"
)

// resources are the inputs of the kinds of jobs.
type resources struct {
	client redis.Scripter
	out    io.Writer // output of jobs
	demo   bool      // kind sms is known
	runner *jobexec.Runner
	dry    bool // no job will run, so no secrets are read
}

// A kind makes a job from its settings, with policies that suit it.
type kind func(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error)

// kinds has all kinds of jobs that this binary can run.
var kinds = map[string]kind{
	"exec": execKind, "http": httpKind, "sleep": sleepKind,
}

// schedulerConfig returns the configuration of the scheduler. Its error joins the faults of the
// jobs' kinds and settings. A job with a fault keeps its place in the list, so that indexes in
// paths stay valid.
func schedulerConfig(c *config.Config, p resources) (scheduler.Config, error) {
	t := &c.Scheduler
	zone, _ := config.ParseZone(c.Zone) // config.faults has refused an unknown zone
	out := scheduler.Config{
		Name: c.Name, Zone: zone,
		Concurrency: t.Concurrency, Grace: time.Duration(t.Grace), CancelGrace: time.Duration(t.CancelGrace),
		Spread: time.Duration(t.Spread), StoreTimeout: time.Duration(t.StoreTimeout), ClockWarn: time.Duration(t.ClockWarn),
	}
	var errs []error
	if len(c.Jobs) == 0 {
		errs = append(errs, c.Fault("jobs", "none, at least one is needed (see config.yaml for an example)"))
	}
	for i := range c.Jobs {
		with := p
		with.dry = p.dry || c.Jobs[i].Off() // its secrets and its program may be missing here
		job, err := newJob(c, at(i), &c.Jobs[i], with)
		errs = append(errs, err)
		out.Jobs = append(out.Jobs, job)
	}
	return out, errors.Join(errs...)
}

// at returns the path of a job in the file.
func at(i int) string { return fmt.Sprintf("jobs[%d]", i) }

// disabled returns the names of the jobs that nodes with this file do not run at all. The jobs are
// the result of schedulerConfig.
func disabled(c *config.Config, jobs []scheduler.Job) (names []string) {
	for i := range c.Jobs {
		if c.Jobs[i].Off() {
			names = append(names, jobs[i].Name)
		}
	}
	return names
}

// newJob makes one job from its kind and the settings of the file.
func newJob(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	job := scheduler.Job{Func: idle}
	var err error
	if build, ok := kinds[j.Kind]; ok {
		job, err = build(c, at, j, p)
	} else if p.demo && j.Kind == demoKind {
		job, err = demoJob(c, p)
	} else {
		names := strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
		err = c.Fault(at+".kind", "is %s, must be %s", strictyaml.Quote(j.Kind), names)
	}
	text, fault := j.SpecOr(job.Spec)
	if fault != nil {
		err = errors.Join(err, c.Fault(at+".at", "%v", fault))
		text = j.Spec
	}
	job.Spec = text
	setPolicies(&job, j)
	return job, errors.Join(err, foreignSettings(c, at, j))
}

// foreignSettings refuses settings of another kind than the job's. That the kind is missing, or behind a merge key, is a fault of its own.
func foreignSettings(c *config.Config, at string, j *config.Job) error {
	if j.Kind == "" {
		return nil
	}
	var errs []error
	for name, set := range map[string]bool{"exec": j.Exec != nil, "http": j.HTTP != nil, "sleep": j.Sleep != nil} {
		if set && j.Kind != name {
			errs = append(errs, c.Fault(at+"."+name, "are settings of kind %s, but the job is of kind %s", name, strictyaml.Quote(j.Kind)))
		}
	}
	return errors.Join(errs...)
}

// setPolicies overrides the policies of the kind with those in the file.
func setPolicies(job *scheduler.Job, j *config.Job) {
	job.Name = cmp.Or(j.Name, job.Name)
	replace(&job.Overlap, j.Overlap)
	replace(&job.Misfire, j.Misfire)
	replace(&job.Takeover, j.Takeover)
	replace(&job.Interrupted, j.Interrupted)
	replace(&job.Attempts, j.Attempts)
	replace(&job.Window, j.Window)
	replace(&job.Deadline, j.Deadline)
	replace(&job.Timeout, j.Timeout)
	replace(&job.Jitter, j.Jitter)
	replace(&job.Lease, j.Lease)
	replace(&job.Replicas, j.Replicas)
	job.Shards, job.ShardParams, job.Broadcast = j.Shards, j.ShardParams, j.Broadcast
	replace(&job.ShardFail, j.ShardFail)
	if j.Limit != nil {
		job.Limit = scheduler.Limit{Name: j.Limit.Name, Of: j.Limit.Of}
	}
	job.Quiet = j.Quiet()
	if r := j.Retry; r != nil {
		job.Retry = scheduler.Retry{Tries: r.Tries, Wait: time.Duration(r.Wait), Max: time.Duration(r.Max), Jitter: r.Jitter, For: time.Duration(r.For)}
	}
}

// replace sets a value if the file has one.
func replace[T, F ~uint8 | ~int | ~int64](value *T, from *F) {
	if from != nil {
		*value = T(*from)
	}
}

// idle replaces the function of a job that has a fault.
func idle(context.Context, *scheduler.Run) error { return nil }
