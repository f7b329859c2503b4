package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// interrupted passes ten minutes and 3.5 seconds, then causes an interruption of the given length
// in one of two ways, then passes ten more minutes.
func interrupted(t *testing.T, d time.Duration, j scheduler.Job, test func(t *testing.T, c *world)) {
	t.Run("store down", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := cluster(t, 3, j)
			c.pass(10*time.Minute + 3*time.Second)
			c.outage(d)
			c.pass(10 * time.Minute)
			test(t, c)
		})
	})
	t.Run("all nodes down", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := cluster(t, 3, j)
			c.pass(10*time.Minute + 3*time.Second)
			for _, n := range c.nodes {
				n.kill()
			}
			c.pass(d)
			for range 3 {
				c.start()
			}
			c.pass(10 * time.Minute)
			test(t, c)
		})
	})
}

// Misfire once: after an interruption the latest of the missed ticks runs, and the others are
// logged as missed, in one line.
func TestMisfireOnce(t *testing.T) {
	interrupted(t, 65*time.Second, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}, func(_ *testing.T, c *world) {
		// The ticks 10:10 to 11:00 are missed; at 11:08.5 the last of them is inside
		// its deadline of ten seconds.
		c.wantTally("a", fmt.Sprintf("missed misfire 5, ran ok %d", len(c.ran("a"))))
		c.wantLogged(1, "tick missed", "count", int64(5), "reason", "misfire", "tick", "2000-01-01T00:10:50.000Z")
		c.wantLogged(1, "tick missed")
		if late := c.latest("a"); late.Tick.Sub(start) != 11*time.Minute {
			c.t.Errorf("the latest run was that of %v, %v late", late.Tick, late.began.Sub(late.Tick))
		}
	})
}

// Misfire skip: none of the missed ticks runs.
func TestMisfireSkip(t *testing.T) {
	interrupted(t, 65*time.Second, scheduler.Job{Name: "a", Spec: "@every 10s", Misfire: scheduler.MisfireSkip, Func: nothing}, func(_ *testing.T, c *world) {
		c.wantTally("a", fmt.Sprintf("missed misfire 6, ran ok %d", len(c.ran("a"))))
		if late := c.latest("a"); late.began.Sub(late.Tick) > time.Second {
			c.t.Errorf("%v ran %v late", late.Tick, late.began.Sub(late.Tick))
		}
		counted := 0
		for _, l := range c.logged("tick missed", "reason", "misfire") {
			counted += int(l.keys["count"].(int64))
		}
		if counted != 6 {
			c.t.Errorf("%d ticks logged as missed, want 6", counted)
		}
	})
}

// Misfire all: the latest ten run in order, one after the other. The ones before them are logged as
// missed with their count.
func TestMisfireAll(t *testing.T) {
	interrupted(t, 255*time.Second, scheduler.Job{Name: "a", Spec: "@every 10s", Misfire: scheduler.MisfireAll, Func: takes(800 * time.Millisecond)}, func(t *testing.T, c *world) {
		// 10:10 to 14:10 are missed, 25 ticks; 12:40 to 14:10 run.
		rs := c.ran("a")
		first := slices.IndexFunc(rs, func(r *run) bool { return r.began.Sub(r.Tick) > time.Second })
		if first < 0 || rs[first].Tick.Sub(start) != 12*time.Minute+40*time.Second {
			t.Fatalf("the first late run is number %d, want that of 12:40", first)
		}
		for i, r := range rs[first+1:] {
			before := rs[first+i]
			if !r.Tick.Equal(before.Tick.Add(10*time.Second)) || r.began.Before(before.over) {
				t.Errorf("%v began at %v after %v had ended at %v", r.Tick, r.began, before.Tick, before.over)
			}
		}
		c.wantTally("a", fmt.Sprintf("missed misfire 15, ran ok %d", len(rs)))
		c.wantLogged(1, "tick missed", "count", int64(15), "reason", "misfire", "tick", "2000-01-01T00:12:30.000Z")
		c.wantLogged(1, "tick missed")
	})
}

// Misfire all where runs may overlap: the missed ticks start in order, until a backlog of long runs
// is done.
func TestMisfireAllOverlapping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Misfire: scheduler.MisfireAll, Overlap: scheduler.OverlapAllow, Lease: 5 * time.Minute, Func: takes(35 * time.Second)})
		c.pass(10 * time.Minute)
		c.outage(75 * time.Second)
		c.pass(10 * time.Minute)
		c.wantTally("a", fmt.Sprintf("ran 3, ran ok %d", len(c.ran("a"))-3))
		if late := c.latest("a"); late.Tick.Sub(start) > 13*time.Minute {
			t.Errorf("%v still ran %v late", late.Tick, late.began.Sub(late.Tick))
		}
	})
}

// A run of a missed tick ends while the answer to the claim of the next one is on its way. The
// answer is a refusal from before the end: the next tick still runs.
func TestMisfireAllAnsweredSlowly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const slow = time.Second
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Misfire: scheduler.MisfireAll, Lease: 5 * time.Minute, Func: takes(7100 * time.Millisecond)})
		c.pass(10 * time.Minute)
		c.outage(85 * time.Second)
		since := len(c.ran("a"))
		c.answeredAfter(slow)
		c.pass(10 * time.Minute)
		c.answeredAfter(0)
		c.wantIdle(c.ran("a")[since:], 10*time.Second)
	})
}

// A node that lost the lease of a missed tick continues with the other missed ticks, then and after
// the next outage.
func TestMisfireAllSurvivesALostLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 10s", Misfire: scheduler.MisfireAll, Lease: 3 * time.Second, Func: takes(4 * time.Second)})
		c.pass(10 * time.Minute)
		c.outage(85 * time.Second)
		c.pass(6 * time.Second)
		cut := c.holder("a")
		cut.partition()
		c.pass(20 * time.Second)
		cut.heal()
		c.pass(5 * time.Minute)
		for _, n := range c.nodes {
			if n != cut {
				n.kill()
			}
		}
		c.pass(time.Minute)
		cut.partition()
		c.pass(45 * time.Second)
		cut.heal()
		runs := len(c.ran("a"))
		c.pass(time.Minute)
		if got := len(c.ran("a")) - runs; got < 8 {
			t.Errorf("%d runs in the minute after the second outage, want what was missed and what came due", got)
		}
	})
}

// A node's claim of the next missed tick has no answer when its run loses its lease, and another
// node runs that tick again. The claim waits for the end of that run, and is not sent over and
// over.
func TestMisfireAllAsksInMeasure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var long atomic.Bool
		c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 10s", Misfire: scheduler.MisfireAll, Lease: 3 * time.Second, Takeover: scheduler.TakeoverRerun,
			Func: func(ctx context.Context, r *scheduler.Run) error {
				if long.Load() {
					return takes(25*time.Second)(ctx, r)
				}
				return nil
			}})
		c.pass(10 * time.Minute)
		long.Store(true)
		c.outage(85 * time.Second)
		c.pass(15 * time.Second)
		loser := c.holder("a")
		loser.partition()
		c.pass(6 * time.Second)
		var claims atomic.Int64
		loser.wire.spoil(func(op string) fault {
			if op == "claim" {
				claims.Add(1)
			}
			return fault{back: time.Millisecond}
		})
		loser.heal()
		c.pass(10 * time.Second)
		if r := c.running("a"); r == nil || r.node == loser {
			t.Errorf("%+v runs, want one on the other node", r)
		}
		if n := claims.Load(); n > 30 {
			t.Errorf("%d claims in ten seconds of a run", n)
		}
		long.Store(false)
		c.pass(5 * time.Minute)
	})
}

// A tick's first attempt starts before its deadline or not at all. The default deadline is the
// distance to the next tick.
func TestDeadline(t *testing.T) {
	for _, test := range []struct {
		name     string
		job      scheduler.Job
		down     time.Duration
		runs     bool
		whyNever string
	}{
		{"given, inside", scheduler.Job{Spec: "@hourly", Deadline: 15 * time.Second}, 14 * time.Second, true, ""},
		{"given, outside", scheduler.Job{Spec: "@hourly", Deadline: 15 * time.Second}, 18 * time.Second, false, "missed deadline"},
		{"interval, inside", scheduler.Job{Spec: "@every 1m"}, 58 * time.Second, true, ""},
		{"hour at most, inside", scheduler.Job{Spec: "@daily"}, 58 * time.Minute, true, ""},
		{"hour at most, outside", scheduler.Job{Spec: "@daily"}, 62 * time.Minute, false, "missed deadline"},
		{"skip", scheduler.Job{Spec: "@hourly", Misfire: scheduler.MisfireSkip}, 4 * time.Second, false, "missed misfire"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := test.job
				j.Name, j.Func = "a", nothing
				c := plan(t, j)
				due := c.account("a").spec.Next(start)
				c.pass(time.Until(due) - 5*time.Minute) // no node has to be alive during the day
				for range 3 {
					c.start()
				}
				c.pass(time.Until(due) - 1500*time.Millisecond)
				c.outage(test.down)
				c.pass(10 * time.Second)
				want := test.whyNever
				if test.runs {
					want = "ran ok"
				}
				if got := c.account("a").ticks[due.UnixMilli()]; got != want {
					t.Errorf("the verdict of %v is %q, want %q", due, got, want)
				}
			})
		})
	}
}

// start is the time at which a bubble begins.
var start = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// latest returns the last run of a job that started more than a second late.
func (c *world) latest(job string) *run {
	c.t.Helper()
	late := &run{}
	for _, r := range c.ran(job) {
		if r.began.Sub(r.Tick) > time.Second {
			late = r
		}
	}
	return late
}
