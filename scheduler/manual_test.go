package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// requests requests a run of a job, and returns its tick.
func (c *world) requests(job string, change func(*series.Control)) time.Time {
	c.t.Helper()
	request := series.Control{Key: job, Action: series.ActionRun, Op: c.now().Format(time.RFC3339Nano), Who: "ann", Reason: "by hand",
		Until: c.now().Add(time.Minute).UnixMilli(), Seen: series.AnySeen}
	if change != nil {
		change(&request)
	}
	a := c.store.Control(c.t.Context(), request)
	if !a.Made {
		c.t.Fatalf("the request for a run of %s is answered %+v", job, a)
	}
	return time.UnixMilli(a.Number).UTC()
}

// A run that an operator requests begins at once on one of the nodes, and each tick of the spec keeps
// its own verdict.
func TestManualRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(time.Minute)})
		c.pass(90 * time.Minute)
		tick := c.requests("a", nil)
		c.pass(time.Second)
		r := c.running("a")
		if !r.Tick.Equal(tick) || !r.Manual() || r.Attempt != 1 || r.shown.Sub(tick) > 100*time.Millisecond {
			t.Errorf("the run is %+v, want the manual one of %v", r, tick)
		}
		c.pass(time.Hour)
		if r := c.ran("a"); len(r) != 3 || r[2].Manual() || r[2].Last.Equal(tick) {
			t.Errorf("the runs are %+v, want the third to be one of the spec, after the first", r)
		}
		c.wantAtOnce("a", 1)
	})
}

// A manual run whose node dies is taken over under its own instant.
func TestManualRunOfADeadNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = 6 * time.Second
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Lease: lease, Takeover: scheduler.TakeoverRerun, Func: takes(time.Minute)})
		c.pass(time.Minute)
		tick := c.requests("a", nil)
		c.pass(time.Second)
		first := c.running("a")
		c.holder("a").kill()
		c.pass(lease + 2*time.Second)
		r := c.running("a")
		if !r.Tick.Equal(tick) || r.Attempt != 2 || r.Fence <= first.Fence || r.ID != first.ID {
			t.Errorf("the run is %+v, want attempt 2 of %v", r, tick)
		}
		c.wantAtOnce("a", 1)
	})
}

// A manual run that may wait begins when the run before it ends, and one of a job whose runs may overlap
// begins beside it.
func TestManualRunBesideAnother(t *testing.T) {
	for _, test := range []struct {
		overlap scheduler.Overlap
		asks    series.Overlap
		after   time.Duration // the start of the second run, after the request
	}{
		{scheduler.OverlapSkip, series.OverlapQueue, 5 * time.Minute},
		{scheduler.OverlapAllow, series.OverlapAllow, 0},
		{scheduler.OverlapReplace, series.OverlapReplace, 0},
	} {
		t.Run(fmt.Sprint("overlap ", test.overlap), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Overlap: test.overlap, Lease: 3 * time.Second, Func: takes(10 * time.Minute)})
				c.pass(time.Hour + 5*time.Minute)
				tick := c.requests("a", func(q *series.Control) {
					q.Overlap, q.Until = test.asks, c.now().Add(time.Hour).UnixMilli()
				})
				c.pass(20 * time.Minute)
				runs := c.ran("a")
				if len(runs) != 2 || !runs[1].Tick.Equal(tick) {
					t.Fatalf("the runs are %+v", runs)
				}
				if late := runs[1].shown.Sub(tick) - test.after; late < -time.Second || late > 2*time.Second {
					t.Errorf("overlap %v: the manual run begins %v after its request, want %v", test.overlap, runs[1].shown.Sub(tick), test.after)
				}
			})
		})
	}
}

// A tick that an operator skips has its verdict, and the ones around it run.
func TestSkippedTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(time.Minute)})
		c.pass(90 * time.Minute)
		next := c.now().Truncate(time.Hour).Add(time.Hour)
		skip := series.Control{Key: "a", Action: series.ActionSkip, Op: "op", Who: "ann", Reason: "a holiday", Number: next.UnixMilli(), Seen: series.AnySeen}
		if a := c.store.Control(t.Context(), skip); !a.Made {
			t.Fatalf("the skip is answered %+v", a)
		}
		c.pass(2 * time.Hour)
		c.wantTally("a", "ran ok 2, skipped operator 1")
		c.wantLogged(1, "tick skipped", "reason", "operator")
	})
}

// An unnotified store has an audit, and notifies nodes of nothing.
type unnotified struct {
	scheduler.Store
	series.Controlled
}

// On a store that does not notify, nodes find requests in the audit within a heartbeat, also those that
// were made right after their start, and however many jobs there are.
func TestRequestsAreFoundInTheAudit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := make([]scheduler.Job, 1000)
		for i := range jobs {
			jobs[i] = scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@yearly", Func: nothing}
		}
		c := plan(t, jobs...)
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = unnotified{cfg.Store, c.store} }
		c.start()
		for _, wait := range []time.Duration{2 * time.Second, 20 * time.Second} {
			c.pass(wait)
			for i := 50; i < len(jobs); i += 100 {
				c.requests(jobs[i].Name, nil)
			}
			before := len(c.ranAny())
			c.pass(12 * time.Second)
			if n := len(c.ranAny()) - before; n != 10 {
				t.Errorf("of 10 requests %v after the last ones, %d runs began", wait, n)
			}
		}
	})
}
