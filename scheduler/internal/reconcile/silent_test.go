package reconcile

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/spec"
)

// A node that reads all of its jobs leaves a partition that does not answer after one request, since the openings of other partitions
// wait for the reading. It retries the jobs later.
func TestReadingOfASilentPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &halfSilent{}
		d := newMany(t, 8*batchMax, 2)
		r := newReader(s, d, 2)
		began := time.Now()
		r.read(t.Context(), d.jobs)
		if took := time.Since(began); took != time.Second || s.answered != 4*batchMax {
			t.Errorf("the reading took %v, and %d jobs were read, want 1s and %d", took, s.answered, 4*batchMax)
		}
		if again := len(r.openings.order); again != 4*batchMax {
			t.Errorf("%d jobs are retried, want %d", again, 4*batchMax)
		}
	})
}

// All jobs of a request are refused, each for a fault of its own. The others are read.
func TestReadingBehindRefusedJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &refusesFirst{}
		d := newMany(t, 3*batchMax, 1)
		r := newReader(s, d, 1)
		r.read(t.Context(), d.jobs)
		if again := len(r.openings.order); s.answered != 2*batchMax || again != batchMax {
			t.Errorf("%d jobs were read, and %d are retried, want %d and %d", s.answered, again, 2*batchMax, batchMax)
		}
	})
}

// A node that must know the runs of one partition reads the jobs of that partition alone, and in a drain none.
func TestReadingOfOnePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, draining := &halfSilent{}, new(atomic.Bool)
		d := newMany(t, 2*batchMax, 2)
		d.draining = draining
		r := newReader(s, d, 2)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		read := func(partition uint16, asked, answered int) {
			t.Helper()
			r.cfg.Requests.Read(partition)
			r.cfg.Requests.Read(partition)
			synctest.Wait()
			if s.answered != answered || s.asked.Load() != int32(asked) {
				t.Errorf("%d jobs were asked for, and %d read, want %d and %d", s.asked.Load(), s.answered, asked, answered)
			}
		}
		read(0, batchMax, batchMax)
		read(1, 2*batchMax, batchMax) // its partition does not answer
		time.Sleep(time.Second)
		draining.Store(true)
		read(0, 2*batchMax, batchMax)
		cancel()
		<-ended
	})
}

func newReader(s Store, d many, partitions int) *Reconciler {
	return New(Config{Store: s, Node: "a", Partitions: partitions, Clock: &clock.Clock{}, Requests: NewRequests(), Revisions: &job.Revisions{}, Dispatcher: d, Health: deaf{}, Opened: func(*job.Job) {}, Timeout: time.Second})
}

func newMany(t *testing.T, jobs, partitions int) many {
	daily, err := spec.Parse("@daily", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := many{jobs: make([]*job.Job, jobs)}
	for i := range d.jobs {
		d.jobs[i] = &job.Job{Name: "job", Rules: &job.Rules{}, No: uint32(i), Spec: daily, Partition: uint16(i % partitions)}
	}
	return d
}

// refusesFirst refuses all jobs of the first request.
type refusesFirst struct {
	Store
	asked    bool
	answered int
}

func (s *refusesFirst) Open(_ context.Context, all []series.OpenRequest) []series.Series {
	answers := make([]series.Series, len(all))
	if !s.asked {
		s.asked = true
		for i := range answers {
			answers[i].Err = errors.New("refused")
		}
		return answers
	}
	s.answered += len(all)
	return answers
}

// halfSilent answers requests about the jobs of partition 0 alone.
type halfSilent struct {
	Store
	asked    atomic.Int32
	answered int
}

func (s *halfSilent) Open(ctx context.Context, all []series.OpenRequest) []series.Series {
	if s.asked.Add(int32(len(all))); all[0].Mark != 0 {
		<-ctx.Done()
	} else {
		s.answered += len(all)
	}
	answers := make([]series.Series, len(all))
	for i := range answers {
		answers[i].Err = ctx.Err()
	}
	return answers
}

// many has jobs, whose mark is their partition.
type many struct {
	Dispatcher
	jobs     []*job.Job
	draining *atomic.Bool // nil: it is not
}

func (d many) Job(no int) claims.Known {
	return claims.Known{Job: d.jobs[no], Open: true, Mark: int64(d.jobs[no].Partition)}
}
func (d many) Jobs() int                          { return len(d.jobs) }
func (d many) Draining() bool                     { return d.draining != nil && d.draining.Load() }
func (d many) Opened([]job.Opened, time.Duration) {}

type deaf struct{ Health }

func (deaf) Answered(health.Part, error) {}
