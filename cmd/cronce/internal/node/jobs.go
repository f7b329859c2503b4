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

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/shop"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// The resources of a node are what its kinds of jobs are made with.
type resources struct {
	client redis.UniversalClient
	out    io.Writer  // for what a job prints
	shop   *shop.Shop // nil without one
	dry    bool       // nothing will run: read no secrets
}

// A kind makes a job of its settings, with the policies that suit it.
type kind func(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error)

// kinds are all kinds of jobs that this binary can run.
var kinds = map[string]kind{
	"sms": smsKind, "sleep": sleepKind,
	stock.SettleOrdersName: settleKind, stock.ReleaseExpiredName: releaseKind, stock.ReconcileName: reconcileKind,
	config.KindStream: deliverKind, config.KindWebhook: deliverKind, config.KindTexts: deliverKind,
}

// schedulerConfig makes what the scheduler wants of the configuration. Its error
// joins what is wrong with the jobs' kinds and settings; a job with a fault has
// its place all the same, so that paths count the same everywhere.
func schedulerConfig(c *config.Config, p resources) (scheduler.Config, error) {
	t := &c.Scheduler
	zone, _ := config.ParseZone(c.Zone) // config.faults has refused one that is not known
	out := scheduler.Config{
		Name: c.Name, Zone: zone,
		Concurrency: t.Concurrency, Grace: time.Duration(t.Grace), CancelGrace: time.Duration(t.CancelGrace),
		Spread: time.Duration(t.Spread), StoreTimeout: time.Duration(t.StoreTimeout), ClockWarn: time.Duration(t.ClockWarn),
	}
	var errs []error
	jobs, unfit := c.AllJobs()
	for i := range jobs {
		job, err := newJob(c, fmt.Sprintf("jobs[%d]", i), &jobs[i], p)
		errs = append(errs, err)
		out.Jobs = append(out.Jobs, job)
	}
	return out, errors.Join(append(errs, unfit)...)
}

// newJob makes one job: what its kind says, and over it what the file says.
func newJob(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	job := scheduler.Job{Func: idle}
	var err error
	if build, ok := kinds[j.Kind]; ok {
		job, err = build(c, at, j, p)
	} else {
		names := strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
		err = c.Fault(at+".kind", "is %s, must be %s", strictyaml.Quote(j.Kind), names)
	}
	setPolicies(&job, j)
	return job, errors.Join(err, foreignSettings(c, at, j))
}

// foreignSettings refuses settings of a kind that the job is not.
func foreignSettings(c *config.Config, at string, j *config.Job) error {
	var errs []error
	for name, set := range map[string]bool{"sms": j.SMS != nil, "sleep": j.Sleep != nil} {
		if set && j.Kind != name {
			errs = append(errs, c.Fault(at+"."+name, "are settings of kind %s, but the job is of kind %s", name, strictyaml.Quote(j.Kind)))
		}
	}
	return errors.Join(errs...)
}

// setPolicies sets what the file says of a job, over what its kind says.
func setPolicies(job *scheduler.Job, j *config.Job) {
	job.Name = cmp.Or(j.Name, job.Name)
	job.Spec = cmp.Or(j.Spec, job.Spec)
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
	if r := j.Retry; r != nil {
		job.Retry = scheduler.Retry{Tries: r.Tries, Wait: time.Duration(r.Wait), Max: time.Duration(r.Max)}
	}
}

// replace sets a value unless the file says nothing about it.
func replace[T, F ~uint8 | ~int | ~int64](value *T, from *F) {
	if from != nil {
		*value = T(*from)
	}
}

// idle stands in for the function of a job that has a fault.
func idle(context.Context, *scheduler.Run) error { return nil }
