package scheduler_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A slow store answers the first batch of claims after 10 ms, the others after a second, and
// records when the first end came.
type slow struct {
	*memlock.Store
	batches atomic.Int64
	ended   atomic.Int64 // Unix milliseconds
	ends    atomic.Int64
}

func (s *slow) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	if s.batches.Add(1) == 1 {
		time.Sleep(10 * time.Millisecond)
	} else {
		time.Sleep(time.Second)
	}
	return s.Store.Claim(ctx, cs)
}

func (s *slow) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	s.ended.CompareAndSwap(0, time.Now().UnixMilli())
	s.ends.Add(int64(len(es)))
	return s.Store.ReleaseRuns(ctx, es)
}

// While many ticks are on their way to a start, the ends of runs wait for them, but not for long.
// All ends are sent eventually.
func TestStartsGoBeforeEnds(t *testing.T) {
	for _, c := range []struct {
		jobs  int
		after time.Duration // when the first end reaches the store
	}{
		{1024, 10 * time.Millisecond},
		{2048, 260 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &slow{Store: new(memlock.Store)}
			jobs := make([]scheduler.Job, c.jobs)
			for i := range jobs {
				jobs[i] = scheduler.Job{Name: fmt.Sprintf("job-%d", i), Spec: "@every 1m", Func: func(context.Context, *scheduler.Run) error { return nil }}
			}
			n, err := scheduler.New(scheduler.Config{Name: "a", Store: store, Jobs: jobs, Concurrency: -1, Spread: -1})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			due := time.Now().Truncate(time.Minute).Add(time.Minute)
			go func() { ended <- n.Run(ctx) }()
			time.Sleep(time.Until(due.Add(10 * time.Second)))
			if got := time.UnixMilli(store.ended.Load()).Sub(due); got != c.after {
				t.Errorf("%d jobs: the store got the first end after %v, want %v", c.jobs, got, c.after)
			}
			if got := store.ends.Load(); got != int64(c.jobs) {
				t.Errorf("the store got %d of %d ends", got, c.jobs)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
