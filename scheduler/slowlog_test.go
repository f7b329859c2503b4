package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A logger takes ten seconds for each line about a run that ignores its context, and there is one
// every two seconds. The ticks of all jobs run in time.
func TestSlowLoggerDelaysNoTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := []scheduler.Job{{Name: "a", Spec: "@every 5s", Func: nothing}}
		for i := range 20 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("deaf", i), Spec: fmt.Sprintf("%d * * * * *", 7+2*i), Timeout: time.Second,
				Func: func(context.Context, *scheduler.Run) error { time.Sleep(20 * time.Second); return nil }})
		}
		c := plan(t, jobs...)
		c.silent = true // Run does not wait until the logger is done
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Logger = slowAt(cfg.Logger, "run ignores its context")
		}
		c.start()
		c.pass(2*time.Minute + 500*time.Millisecond)
		if c.wantTally("a", "ran ok 24"); len(c.logged("run ignores its context")) < 8 {
			t.Error("the logger was not asked for lines that take long")
		}
	})
}

// short is a store whose replicas answer for all jobs but one.
type short struct {
	scheduler.Store
	job string
}

func (s short) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	as := s.Store.Claim(ctx, cs)
	for i := range cs {
		if cs[i].Key == s.job {
			as[i] = series.Answer{Err: &driver.ReplicasError{Key: s.job, Want: 1}}
		}
	}
	return as
}

// A logger takes ten seconds for the line that a claim was not replicated. Runs of other jobs that
// were granted with the same answer begin in time.
func TestSlowLoggerDelaysNoGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, everySecond(3)...)
		c.strange |= storeForgot // the store grants, and the node gets no answer
		c.silent = true
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Store = short{cfg.Store, "job1"}
			cfg.Logger = slowAt(cfg.Logger, "claim not replicated")
		}
		c.start()
		c.pass(20*time.Second + 500*time.Millisecond)
		if len(c.ran("job0")) < 19 || len(c.ran("job2")) < 19 || len(c.logged("claim not replicated")) == 0 {
			t.Errorf("%d and %d runs", len(c.ran("job0")), len(c.ran("job2")))
		}
		for _, r := range c.ranAny() {
			if late := r.began.Sub(r.Tick); late > 100*time.Millisecond {
				t.Errorf("%s began %v late", r.Job, late)
			}
		}
	})
}

// The store accepts no ends of runs for a moment, and the logger takes ten seconds to log it. The
// ends are still repeated: the next ticks do not wait for the logger.
func TestSlowLoggerDelaysNoEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, everySecond(2)...)
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Logger = slowAt(cfg.Logger, "store unreachable")
		}
		n := c.start()
		c.pass(5*time.Second + 500*time.Millisecond)
		n.wire.spoil(func(op string) fault {
			if op == "release" {
				return fault{lost: lostRequest, reset: true}
			}
			return fault{}
		})
		c.pass(1500 * time.Millisecond)
		n.wire.spoil(nil)
		c.pass(20 * time.Second)
		c.wantLogged(1, "store unreachable")
		for _, r := range c.ranAny() {
			if late := r.began.Sub(r.Tick); late > 2500*time.Millisecond {
				t.Errorf("%s began %v late", r.Job, late)
			}
		}
		if len(c.ran("job0")) < 22 || len(c.ran("job1")) < 22 {
			t.Errorf("%d and %d runs", len(c.ran("job0")), len(c.ran("job1")))
		}
	})
}
