// Package single runs many jobs that are due evenly spread over time on one scheduler, in process,
// without a store or with the store in memory.
package single

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	netresearch "github.com/netresearch/go-cron"
	robfig "github.com/robfig/cron/v3"

	"github.com/cronce/cronce/bench/internal/blank"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// The schedulers.
const (
	Cronce      = "cronce"
	Timetable   = "cronce, claims refused" // on a store that keeps nothing
	Robfig      = "robfig/cron"
	Netresearch = "netresearch/go-cron"
	Bare        = "a bare timer" // the lower limit: only the wakes
)

// A Setup is n jobs, each due once per period, spread evenly over it in random order, or all at
// once.
type Setup struct {
	Scheduler string
	Jobs      int
	Period    time.Duration // whole seconds
	AtOnce    bool          // all due at whole multiples of the period
}

// A Scheduler runs the jobs of a setup.
type Scheduler struct {
	// Begins is the true time at which the first period begins.
	Begins time.Time
	// Add adds another job while the scheduler runs.
	Add func(name string) error
	// Ran counts the runs that were due so far, if the job's function is not called; otherwise nil.
	Ran func() int64
	// NameBytes is the size of a job's name on the heap.
	NameBytes float64
	// Run blocks until ctx ends.
	Run func(ctx context.Context) error
}

// New creates a scheduler whose first period begins after in. job is called with the time at which
// the run was due, on the true clock.
func New(s Setup, in time.Duration, job func(due time.Time)) (*Scheduler, error) {
	begins := time.Now().Add(in).Truncate(time.Second)
	if s.AtOnce {
		begins = begins.Add(s.untilPeriod(begins))
	}
	switch s.Scheduler {
	case Cronce, Timetable:
		return newCronce(s, begins, job)
	case Robfig:
		return newRobfig(s, begins, job), nil
	case Netresearch:
		return newNetresearch(s, begins, job), nil
	case Bare:
		return newBare(s, begins, job), nil
	}
	return nil, fmt.Errorf("single: %q is no scheduler", s.Scheduler)
}

// nameBytes is the size that the allocator uses for a name of 11 bytes.
const nameBytes = 16

// untilPeriod returns the time from t until a period of the Unix epoch begins.
func (s Setup) untilPeriod(t time.Time) time.Duration {
	period := s.Period.Milliseconds()
	return time.Duration((period-t.UnixMilli()%period)%period) * time.Millisecond
}

// newCronce creates a cronce scheduler. The jobs are spread by their jitter, and the store's clock
// is set so that a period of the epoch begins at begins.
func newCronce(s Setup, begins time.Time, job func(time.Time)) (*Scheduler, error) {
	shift := s.untilPeriod(begins)
	run := func(_ context.Context, run *scheduler.Run) error {
		job(run.Tick.Add(-shift))
		return nil
	}
	jobs := make([]scheduler.Job, s.Jobs)
	for i := range jobs {
		jobs[i] = s.job(fmt.Sprintf("job-%07d", i), run)
	}
	c := scheduler.Config{Name: "bench", Jobs: jobs, Concurrency: -1, Spread: -1, Grace: time.Second, CancelGrace: time.Second}
	made := &Scheduler{Begins: begins, NameBytes: nameBytes}
	if s.Scheduler == Timetable {
		store := &blank.Store{Shift: shift}
		c.Store, made.Ran = store, store.Asked
	} else {
		c.Store = memlock.New(memlock.Options{Now: func() time.Time { return time.Now().Add(shift) }})
	}
	node, err := scheduler.New(c)
	if err != nil {
		return nil, err
	}
	made.Run = node.Run
	made.Add = func(name string) error { return node.Add(s.job(name, run)) }
	return made, nil
}

func (s Setup) job(name string, run scheduler.Func) scheduler.Job {
	j := scheduler.Job{Name: name, Spec: fmt.Sprintf("@every %v", s.Period), Func: run}
	if !s.AtOnce {
		// Not the whole period: if two ticks of one job are due together, one counts as missed.
		j.Jitter = s.Period / 10 * 9
	}
	return j
}

// A phase is the schedule of one job, for the other schedulers.
type phase struct {
	first  time.Time
	period time.Duration
}

// Next returns the first instant of the phase after t.
func (p phase) Next(t time.Time) time.Time {
	if t.Before(p.first) {
		return p.first
	}
	return p.first.Add(t.Sub(p.first)/p.period*p.period + p.period)
}

// phases returns the phases of all jobs, in random order.
func (s Setup) phases(begins time.Time) []phase {
	all := make([]phase, s.Jobs)
	for i := range all {
		all[i] = phase{begins, s.Period}
		if !s.AtOnce {
			all[i].first = begins.Add(time.Duration(i) * s.Period / time.Duration(s.Jobs))
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func newRobfig(s Setup, begins time.Time, job func(time.Time)) *Scheduler {
	c := robfig.New(robfig.WithLocation(time.UTC))
	return s.peer(begins, job, func(p phase, run func()) { c.Schedule(p, robfig.FuncJob(run)) }, c.Start, c.Stop)
}

func newNetresearch(s Setup, begins time.Time, job func(time.Time)) *Scheduler {
	c := netresearch.New(netresearch.WithLocation(time.UTC))
	return s.peer(begins, job, func(p phase, run func()) { c.Schedule(p, netresearch.FuncJob(run)) }, c.Start, c.Stop)
}

// peer returns a scheduler of another library, with its jobs.
func (s Setup) peer(begins time.Time, job func(time.Time), schedule func(phase, func()), start func(), stop func() context.Context) *Scheduler {
	for _, p := range s.phases(begins) {
		schedule(p, func() { job(p.latest()) })
	}
	return &Scheduler{
		Begins: begins,
		Add: func(string) error {
			schedule(phase{begins, s.Period}, func() {})
			return nil
		},
		Run: func(ctx context.Context) error {
			start()
			<-ctx.Done()
			<-stop().Done()
			return nil
		},
	}
}

// newBare wakes when one of the jobs would be due, without having any job.
func newBare(s Setup, begins time.Time, job func(time.Time)) *Scheduler {
	gap := s.Period / time.Duration(s.Jobs)
	return &Scheduler{Begins: begins, Run: func(ctx context.Context) error {
		timer := time.NewTimer(time.Until(begins))
		defer timer.Stop()
		for due := begins; ; due = due.Add(gap) {
			timer.Reset(time.Until(due))
			select {
			case <-timer.C:
				go job(due)
			case <-ctx.Done():
				return nil
			}
		}
	}}
}

// latest returns the latest instant that was due.
func (p phase) latest() time.Time { return p.Next(time.Now()).Add(-p.period) }
