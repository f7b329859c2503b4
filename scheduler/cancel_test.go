package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// cancel cancels the run of a job.
func (c *world) cancel(job string, tick time.Time) {
	c.t.Helper()
	request := series.Control{Key: job, Action: series.ActionCancel, Op: c.now().Format(time.RFC3339Nano), Who: "ann", Reason: "it hangs", Number: tick.UnixMilli(), Seen: series.AnySeen}
	if a := c.store.Control(c.t.Context(), request); !a.Made {
		c.t.Fatalf("the cancel of %s is answered %+v", job, a)
	}
}

// The context of a cancelled run ends with ErrCancelled at its next renewal, whatever node runs it. Its
// outcome is cancelled, no node runs the tick again, and the later ticks run.
func TestCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = 6 * time.Second
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Lease: lease, Takeover: scheduler.TakeoverRerun, Retry: scheduler.Retry{Tries: 3, Wait: time.Second}, Func: takes(30 * time.Minute)})
		c.pass(time.Hour + time.Minute)
		r := c.running("a")
		at := c.now()
		c.cancel("a", r.Tick)
		c.pass(lease)
		r = c.later(r)
		if !errors.Is(r.cause, scheduler.ErrCancelled) || r.contextEnd.Sub(at) > lease/3+50*time.Millisecond {
			t.Errorf("the run ended with %v, %v after the cancel", r.cause, r.contextEnd.Sub(at))
		}
		c.pass(2 * time.Hour)
		c.wantTally("a", "ran 1, ran cancelled 1, ran ok 1")
		c.wantLogged(1, "run finished", "outcome", "cancelled")
		c.wantLogged(0, "try failed")
		c.wantAtOnce("a", 1)
	})
}

// A function ignores that its run is cancelled. The log names the run, which keeps its lease: no node runs its tick again,
// although the job allows takeovers. When the function returns after all, an error counts as cancelled and is not tried
// again, and a success counts as one. If its node dies first, the tick is lost.
func TestCancelIsIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		dies bool
		want string
	}{
		"it fails":      {errBroken, false, "ran 1, ran cancelled 1"},
		"it succeeds":   {nil, false, "ran 1, ran ok 1"},
		"its node dies": {errBroken, true, "lost 1, ran 1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hangs := func(context.Context, *scheduler.Run) error {
					time.Sleep(15 * time.Minute)
					return c.err
				}
				w := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 6 * time.Second, Takeover: scheduler.TakeoverRerun, Attempts: 5,
					Retry: scheduler.Retry{Tries: 3, Wait: time.Second}, Func: hangs})
				w.pass(time.Hour + time.Minute)
				r := w.running("a")
				w.cancel("a", r.Tick)
				w.pass(10 * time.Minute) // of many leases
				is := w.store.ReadSeries(t.Context(), []string{"a"})[0]
				if len(is.Runs) != 1 || is.Runs[0].State != series.RunOpen || !is.Runs[0].Cancelled || is.Runs[0].Attempt != 1 || is.Runs[0].Until <= is.Now {
					t.Errorf("ten minutes after the cancel the store has the runs %+v", is.Runs)
				}
				w.wantLogged(1, "run ignores its context", "tick", stamp(r.Tick), "cause", scheduler.ErrCancelled.Error())
				if c.dies {
					w.holder("a").kill()
				}
				w.pass(time.Hour)
				w.wantTally("a", c.want)
				if rs := w.ran("a"); len(rs) != 2 || rs[0].Fence != r.Fence || rs[0].tries != 1 || rs[1].Tick.Equal(r.Tick) {
					t.Errorf("the function ran %d times, %d times in the cancelled run; want once, and once for the next tick", len(rs), rs[0].tries)
				}
			})
		})
	}
}

// The tick of a cancelled run whose node died is lost, although the job allows takeovers.
func TestCancelOfADeadNodesRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 30 * time.Second, Takeover: scheduler.TakeoverRerun, Func: takes(time.Minute)})
		c.pass(time.Hour + 5*time.Second)
		tick := c.running("a").Tick
		c.holder("a").kill()
		c.cancel("a", tick)
		c.pass(time.Hour)
		c.wantTally("a", "lost 1, ran 1")
		j, err := c.store.Journal(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range j.Lines {
			if l.Verdict == series.VerdictLost && l.Reason != series.ReasonCancelled {
				t.Errorf("the line is %+v", l)
			}
		}
	})
}

// A drain does not give back a cancelled run: the tick has ended.
func TestCancelInADrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 30 * time.Second, Func: takes(10 * time.Minute)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = time.Second }
		for range 2 {
			c.start()
		}
		c.pass(time.Hour + time.Second)
		c.cancel("a", c.running("a").Tick)
		c.holder("a").stop() // before the next renewal
		c.pass(time.Hour)
		c.wantTally("a", "ran 1, ran cancelled 1")
		j, _ := c.store.Journal(t.Context(), "a", 0)
		if r := verify.Job(j, verify.Options{}); !r.OK() {
			t.Error(r.Violations)
		}
	})
}

// A notifying store is a store that notifies nodes of cancels.
type notifying struct {
	scheduler.Store
	notices chan string
}

func (s notifying) NotifyRuns(ctx context.Context, notify func(string)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case key := <-s.notices:
			notify(key)
		}
	}
}

// A store that notifies of cancels ends the context of a run long before its next renewal.
func TestCancelIsNotified(t *testing.T) {
	bubble(t, func(t *testing.T) {
		notices := make(chan string)
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 30 * time.Second, Func: takes(30 * time.Minute)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = notifying{cfg.Store, notices} }
		c.start()
		c.pass(time.Hour + time.Second)
		r := c.running("a")
		c.cancel("a", r.Tick)
		notices <- "b"
		c.pass(time.Second)
		if r = c.later(r); r.cause != nil {
			t.Errorf("a notice of another job ended the run: %v", r.cause)
		}
		notices <- "a"
		c.pass(time.Second)
		if r = c.later(r); !errors.Is(r.cause, scheduler.ErrCancelled) {
			t.Errorf("a second after the notice the cause is %v", r.cause)
		}
	})
}

// Notices of a job may come while the node's jobs change. The race detector watches it.
func TestNoticesWhileJobsChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		notices := make(chan string)
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = notifying{cfg.Store, notices} }
		n := c.start()
		c.pass(time.Second)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range 100 {
				notices <- "a"
			}
		}()
		for range 100 {
			if err := errors.Join(n.Add(scheduler.Job{Name: "b", Spec: "@hourly", Func: nothing}), n.Remove("b")); err != nil {
				t.Error(err)
			}
		}
		<-sent
	})
}

// A brief store ends notices after a while.
type brief struct {
	scheduler.Store
	after    time.Duration
	requests *atomic.Int64
}

func (s brief) NotifyRuns(ctx context.Context, _ func(string)) error {
	s.requests.Add(1)
	if wait.Sleep(ctx, s.after) != nil {
		return ctx.Err()
	}
	return errors.New("no notices")
}

// A node requests notices ever more rarely of a store that refuses them or does not answer, and soon again of one that gave them
// until a proxy cut the idle connection.
func TestNoticesEnd(t *testing.T) {
	for _, row := range []struct {
		after       time.Duration
		least, most int64 // requests within an hour
	}{
		{0, 30, 140},
		{10 * time.Second, 30, 110},
		{30 * time.Second, 112, 120},
	} {
		t.Run(row.after.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var requests atomic.Int64
				c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing})
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = brief{cfg.Store, row.after, &requests} }
				c.start()
				c.pass(time.Hour)
				if n := requests.Load(); n < row.least || n > row.most {
					t.Errorf("%d requests within an hour to a store that ends notices after %v, want %d to %d", n, row.after, row.least, row.most)
				}
			})
		})
	}
}
