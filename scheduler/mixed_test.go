package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// A rolling deploy changes a spec. While nodes disagree, each instant runs at most once and the
// common ones exactly once; a warning on each node names both specs.
func TestMixedSpecs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}
		changed := scheduler.Job{Name: "a", Spec: "@every 15s", Func: nothing}
		c := cluster(t, 3, old)
		c.mixed = true
		c.pass(10 * time.Minute)
		first := c.nodes
		for _, n := range first { // one node leaves and one joins, two minutes apart
			c.startWith(changed)
			c.pass(time.Minute)
			if err := n.drain(); err != nil {
				t.Error(err)
			}
			c.pass(time.Minute)
		}
		c.pass(10 * time.Minute)

		ran := map[int64]int{}
		for _, r := range c.ran("a") {
			ran[r.Tick.Sub(start).Milliseconds()/1000]++
		}
		for s := int64(10); s <= 26*60; s += 5 {
			isOld, isNew := s%10 == 0 && s < 15*60, s%15 == 0 && s > 10*60+1
			switch n := ran[s]; {
			case n > 1:
				t.Errorf("the instant %d s ran %d times", s, n)
			case n == 1 && !isOld && !isNew:
				t.Errorf("the instant %d s ran, and no spec names it", s)
			case n == 0 && s%10 == 0 && s%15 == 0:
				t.Errorf("the instant %d s, which both specs name, did not run", s)
			case n == 0 && (s%10 == 0 && s < 10*60 || s%15 == 0 && s > 16*60):
				t.Errorf("the instant %d s did not run", s)
			}
		}
		for i, n := range c.nodes {
			own, other := "@every 10s (UTC)", "@every 15s (UTC)"
			if i >= 3 {
				own, other = other, own
			}
			if ls := n.logged("specs differ", "job", "a", "spec", own, "other", other); len(ls) != 1 {
				t.Errorf("node %d warned %v, want once of %q and %q", i, n.logged("specs differ"), own, other)
			}
		}
		if r := verify.Job(c.journal("a"), verify.Options{Now: c.now()}); !r.OK() {
			t.Errorf("verify: %v", r.Violations)
		}
	})
}

// A node that does not have a job never claims it.
func TestNodeWithoutTheJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}
		c := cluster(t, 1, a)
		b := scheduler.Job{Name: "b", Spec: "@every 10s", Func: nothing}
		c.jobs = append(c.jobs, b)
		other := c.startWith(b)
		c.pass(10 * time.Minute)
		c.wantTally("a", "ran ok 60")
		for _, r := range c.ran("a") {
			if r.node == other {
				t.Errorf("%v ran on a node without the job", r.Tick)
			}
		}
	})
}

// A job can be added while the node runs: its later ticks run once in the cluster. A second job
// with its name is refused.
func TestAdd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}
		c := cluster(t, 3, a)
		b := scheduler.Job{Name: "b", Spec: "@every 10s", Func: nothing}
		c.jobs = append(c.jobs, b)
		for i, n := range c.nodes {
			c.pass(20 * time.Second)
			if err := n.Add(n.recording([]scheduler.Job{b})[0]); err != nil {
				t.Errorf("add to node %d: %v", i, err)
			}
			if err := n.Add(b); err == nil {
				t.Errorf("node %d has the job twice", i)
			}
		}
		c.pass(9 * time.Minute)
		c.wantTally("a", "ran ok 60")
		c.wantTally("b", "ran ok 58")
	})
}

// A job can be added before the node runs, and nodes may start without jobs.
func TestAddBeforeRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		n, err := scheduler.New(scheduler.Config{Name: "n", Store: plan(t).store})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Add(scheduler.Job{Name: "a", Spec: "@every 10s", Func: func(context.Context, *scheduler.Run) error {
			ran++
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer stop()
		if err := n.Run(ctx); err != nil || ran != 6 {
			t.Errorf("Run returned %v after %d runs, want 6", err, ran)
		}
	})
}
