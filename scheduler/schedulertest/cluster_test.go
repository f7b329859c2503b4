package schedulertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/schedulertest"
	"github.com/cronce/cronce/scheduler/verify"
)

var start = time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

// A monthly job runs once a month on three nodes, and a quarter of a year takes less than a second.
func TestQuarterOfAYear(t *testing.T) {
	runs := 0
	job := scheduler.Job{Name: "invoice", Spec: "0 6 1 * *", Func: func(context.Context, *scheduler.Run) error { runs++; return nil }}
	schedulertest.Run(t, start, func(c *schedulertest.Cluster) {
		for range 3 {
			c.Node(job)
		}
		c.Advance(92 * 24 * time.Hour)
		day := func(month time.Month) time.Time { return time.Date(2027, month, 1, 6, 0, 0, 0, time.UTC) }
		c.WantRan("invoice", day(3), day(4), day(5))
	})
	if runs != 3 {
		t.Errorf("%d runs, want 3", runs)
	}
}

// A node is killed during a run. The run is taken over once its lease is over, and only then.
func TestKill(t *testing.T) {
	for _, takeover := range []scheduler.Takeover{scheduler.TakeoverRerun, scheduler.TakeoverLost} {
		schedulertest.Run(t, start, func(c *schedulertest.Cluster) {
			var cause error
			job := scheduler.Job{Name: "report", Spec: "5 * * * *", Lease: 30 * time.Second, Takeover: takeover,
				Func: func(ctx context.Context, run *scheduler.Run) error {
					if run.Attempt > 1 {
						return nil
					}
					<-ctx.Done()
					cause = context.Cause(ctx)
					return cause
				}}
			first := c.Node(job)
			c.Advance(5*time.Minute + time.Second)
			second := c.Node(job)
			first.Kill()
			c.Advance(20 * time.Second)
			c.Want("report", at(5*time.Minute), verify.TickRunning)
			c.Advance(time.Minute)
			want := map[scheduler.Takeover]verify.TickState{scheduler.TakeoverRerun: verify.TickRan, scheduler.TakeoverLost: verify.TickLost}
			c.Want("report", at(5*time.Minute), want[takeover])
			if !errors.Is(cause, schedulertest.ErrKilled) {
				t.Errorf("the run ended with %v, want ErrKilled", cause)
			}
			if err := second.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The states of ticks are the ones that cronce verify reports.
func TestVerdicts(t *testing.T) {
	job := scheduler.Job{Name: "report", Spec: "5 * * * *", Func: func(context.Context, *scheduler.Run) error { return errors.New("no") }}
	schedulertest.Run(t, start, func(c *schedulertest.Cluster) {
		c.Node(job)
		c.Advance(time.Hour)
		c.Want("report", at(5*time.Minute), verify.TickFailed)
		c.Want("report", at(6*time.Minute), verify.NotATick)
		c.Want("report", at(65*time.Minute), verify.TickFuture)
		c.WantRan("report")
		if got := c.Verdict("unknown", at(0)); got != verify.TickNotKnown {
			t.Errorf("a tick of an unknown job is %q", got)
		}
	})
}

// A job runs now, with its retries, independently of the cluster.
func TestRunNow(t *testing.T) {
	tries := 0
	job := scheduler.Job{Name: "report", Spec: "5 * * * *", Retry: scheduler.Retry{Tries: 3, Wait: time.Minute},
		Func: func(context.Context, *scheduler.Run) error {
			if tries++; tries%3 != 0 {
				return errors.New("not yet")
			}
			return nil
		}}
	schedulertest.Run(t, start, func(c *schedulertest.Cluster) {
		c.Node(job)
		if got := c.RunNow(job); got != verify.TickRan || tries != 3 {
			t.Errorf("%s after %d tries", got, tries)
		}
		c.WantRan("report")
		job.Retry = scheduler.Retry{}
		if got := c.RunNow(job); got != verify.TickFailed || tries != 4 {
			t.Errorf("%s after %d tries without a retry", got, tries)
		}
	})
}
