package reconcile

import (
	"context"
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

// A node that reads all of its jobs leaves a partition that does not answer after one request: the openings of other partitions wait
// for the reading.
func TestReadingOfASilentPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &halfSilent{}
		daily, err := spec.Parse("@daily", nil)
		if err != nil {
			t.Fatal(err)
		}
		d := many{jobs: make([]*job.Job, 8*batchMax)}
		for i := range d.jobs {
			d.jobs[i] = &job.Job{Name: "job", Rules: &job.Rules{}, No: uint32(i), Spec: daily, Partition: uint16(i % 2)}
		}
		r := New(Config{Store: s, Node: "a", Partitions: 2, Clock: &clock.Clock{}, Revisions: &job.Revisions{}, Dispatcher: d, Health: deaf{}, Opened: func(*job.Job) {}, Timeout: time.Second})
		began := time.Now()
		r.read(t.Context(), d.jobs)
		if took := time.Since(began); took != time.Second || s.answered != 4*batchMax {
			t.Errorf("the reading took %v, and %d jobs were read, want 1s and %d", took, s.answered, 4*batchMax)
		}
	})
}

// halfSilent answers requests about the jobs of partition 0 alone.
type halfSilent struct {
	Store
	answered int
}

func (s *halfSilent) Open(ctx context.Context, all []series.OpenRequest) []series.Series {
	if all[0].Mark != 0 {
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
	jobs []*job.Job
}

func (d many) Job(no int) claims.Known {
	return claims.Known{Job: d.jobs[no], Open: true, Mark: int64(d.jobs[no].Partition)}
}
func (d many) Opened([]job.Opened, time.Duration) {}

type deaf struct{ Health }

func (deaf) Answered(health.Part, error) {}
