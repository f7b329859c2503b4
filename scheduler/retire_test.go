package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A job that a deploy removes or renames is retired by a live node once no node has had it for long
// enough. A job whose nodes died is not.
func TestRemovedJobIsRetired(t *testing.T) {
	other := scheduler.Job{Name: "b", Spec: "@every 1m", Func: nothing}
	for name, test := range map[string]struct {
		leave   func(n *node)
		retired bool
	}{
		"drained": {func(n *node) {
			if err := n.drain(); err != nil {
				n.c.t.Error(err)
			}
		}, true},
		"removed": {func(n *node) {
			if err := n.Remove("a"); err != nil {
				n.c.t.Error(err)
			}
		}, true},
		"died": {(*node).kill, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := scheduler.Job{Name: "a", Spec: "@every 1m", Func: nothing}
				c := cluster(t, 2, a, other)
				c.mixed = true
				c.pass(10 * time.Minute)
				first := c.nodes
				for range first {
					c.startWith(other)
				}
				for _, n := range first {
					c.pass(time.Minute)
					test.leave(n)
				}
				c.pass(series.SightedWithin - time.Minute)
				if c.store.ReadSeries(t.Context(), []string{"a"})[0].Retired() {
					t.Error("the job is retired too early: a node may come back with it")
				}
				c.pass(20 * time.Minute)
				if s := c.store.ReadSeries(t.Context(), []string{"a"})[0]; s.Retired() != test.retired || s.Retired() && s.Pause.Reason != "no node has it" {
					t.Errorf("the job is retired: %v, %+v; want %v", s.Retired(), s.Pause, test.retired)
				}
				if s := c.store.ReadSeries(t.Context(), []string{"b"})[0]; s.Paused {
					t.Error("a job that the nodes have is retired")
				}
				if n := len(c.logged("job retired", "job", "a")); n > 1 || n == 1 != test.retired {
					t.Errorf("%d nodes say that they retired the job", n)
				}
				back := c.now()
				c.startWith(a)
				c.pass(5*time.Minute + time.Second)
				if ran := c.ran("a"); len(ran) == 0 || !ran[len(ran)-1].Tick.After(back) {
					t.Error("the job does not come back")
				}
			})
		})
	}
}

// A sharded tick whose job is removed in its middle is settled when a node retires the job, although the node
// that opened the tick lives. Its free shards are missed.
func TestRemovedShardedJobIsRetired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memlock.New(memlock.Options{Now: time.Now})
		n, err := scheduler.New(scheduler.Config{Store: &cuttable{Store: store}, Concurrency: 1, Jobs: []scheduler.Job{
			{Name: "rows", Spec: "@every 1h", Shards: 3, Func: takes(10 * time.Second)}, {Name: "other", Spec: "@every 30m", Func: nothing}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Hour + 5*time.Second)
		if err := n.Remove("rows"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(series.SightedWithin - time.Minute)
		s := store.ReadSeries(t.Context(), []string{"rows"})[0]
		if sum := s.Sheet.Count(); s.Retired() || len(s.Runs) != 1 || sum.OK != 1 || sum.Outcome != "" {
			t.Fatalf("%+v", s)
		}
		tick := s.Runs[0].Number
		time.Sleep(10 * time.Minute)
		if s = store.ReadSeries(t.Context(), []string{"rows"})[0]; !s.Retired() || len(s.Runs) != 0 {
			t.Errorf("it is not retired, or its tick is not settled: %+v", s)
		}
		j, err := store.Journal(t.Context(), "rows", 0)
		if err != nil || !slices.ContainsFunc(j.Lines, func(l series.Line) bool { return l.To == tick && l.Shards == 3 && l.Outcome == series.OutcomeFailed }) {
			t.Errorf("%v: the journal has no end of the tick: %+v", err, j.Lines)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A job that one node still has, however rare it is, stays, and so does a job that an operator
// paused.
func TestJobOfAnotherFleetStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "monthly", Spec: "@monthly", Func: nothing}, scheduler.Job{Name: "b", Spec: "@every 1m", Func: nothing},
			scheduler.Job{Name: "paused", Spec: "@daily", Func: nothing})
		c.mixed = true
		c.startWith(c.jobs[0])
		second := c.startWith(c.jobs[0])
		c.startWith(c.jobs[1])
		paused := c.startWith(c.jobs[2])
		c.pass(time.Minute)
		c.change("paused", series.ActionPause)
		for _, n := range []*node{second, paused} {
			if err := n.drain(); err != nil {
				t.Error(err)
			}
		}
		c.pass(3 * time.Hour)
		for _, s := range c.store.ReadSeries(t.Context(), []string{"monthly", "b", "paused"}) {
			if s.Retired() {
				t.Errorf("%s is retired", s.Key)
			}
		}
	})
}

// A node that had a removed job drains for hours, for a run of another job. The removed one is retired as if the node had ended.
func TestRetireWhileItsNodeDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		long := scheduler.Job{Name: "long", Spec: "10 30 0 * * *", Func: takes(3 * time.Hour)}
		removed, other := scheduler.Job{Name: "removed", Spec: "@every 1m", Func: nothing}, scheduler.Job{Name: "other", Spec: "@every 1m", Func: nothing}
		c := plan(t, removed, other, long)
		c.mixed = true
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = 5 * time.Hour }
		c.start()
		c.pass(31 * time.Minute)
		c.startWith(other)
		c.startWith(other)
		c.pass(time.Minute)
		c.holder("long").stop()
		c.pass(25 * time.Minute)
		if all := c.store.ReadSeries(t.Context(), []string{"removed", "long"}); !all[0].Retired() || all[1].Retired() {
			t.Errorf("25m after the drain began: retired %v, want true; the job of the run: %v, want false", all[0].Retired(), all[1].Retired())
		}
	})
}
