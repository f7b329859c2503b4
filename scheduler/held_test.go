package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A tick becomes due while an earlier tick, which waits for a run, is about to be granted: it was
// due before the run that it waits for. It runs when that run has ended, on either node.
func TestDueBeforeTheRunItWaitsFor(t *testing.T) {
	const every = 10 * time.Second
	for _, nodes := range []int{1, 3} {
		for _, slow := range []fault{{there: 20 * time.Millisecond}, {there: 20 * time.Millisecond, back: time.Second}} {
			t.Run(fmt.Sprint(nodes, slow.back), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					runs := 0
					c := cluster(t, nodes, scheduler.Job{Name: "a", Spec: "@every 10s", Overlap: scheduler.OverlapQueue, Deadline: time.Minute,
						Func: func(ctx context.Context, r *scheduler.Run) error {
							if time.Since(r.Tick) > every/2 { // it waited
								return takes(every/40)(ctx, r)
							}
							runs++
							before := time.Duration(runs%100) * time.Millisecond
							return takes(time.Until(r.Tick.Add(2*every-before)))(ctx, r)
						}})
					c.claimsTake(slow)
					c.pass(100 * 2 * every)
					c.claimsTake(fault{})
					c.wantIdle(c.ran("a"), 2*(slow.there+slow.back)+100*time.Millisecond)
					c.wantAtOnce("a", 1)
					c.wantNoneMissed("a")
				})
			})
		}
	}
}

// As above, and a third tick becomes due before that run has ended. The tick before it is
// superseded, as every older one of two waiting ticks, and not missed.
func TestSupersededBeforeTheRunItWaitsFor(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, nodes, scheduler.Job{Name: "a", Spec: "@every 10s", Overlap: scheduler.OverlapQueue, Deadline: time.Minute,
					Func: func(ctx context.Context, r *scheduler.Run) error {
						before := time.Duration(r.Tick.Unix()/10%100) * time.Millisecond
						return takes(time.Until(r.Tick.Truncate(20*time.Second).Add(40*time.Second-before)))(ctx, r)
					}})
				c.claimsTake(fault{there: 20 * time.Millisecond})
				c.pass(time.Hour)
				c.claimsTake(fault{})
				c.wantNoneMissed("a")
			})
		})
	}
}

// A claim is still on its way when the next tick is due. That tick was due before the run of the
// late claim began, so it is not skipped because of it. It runs when that run has ended, whether or
// not the answer that the run blocks it comes after the end.
func TestDueBeforeALateRun(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, back := range []time.Duration{0, 4 * time.Second} {
			t.Run(fmt.Sprint(nodes, back), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Deadline: time.Minute, Func: takes(3 * time.Second)})
					c.setup = func(_ int, cfg *scheduler.Config) { cfg.StoreTimeout = 20 * time.Second }
					for range nodes {
						c.start()
					}
					c.pass(5 * time.Second)
					c.claimsTake(fault{there: 10005 * time.Millisecond})
					c.pass(10 * time.Second)
					c.claimsTake(fault{there: 10 * time.Millisecond, back: back})
					c.pass(10 * time.Minute)
					c.claimsTake(fault{})
					rs := c.ran("a")
					if late := rs[0].began.Sub(rs[0].Tick); late < 10*time.Second {
						t.Fatalf("the first run was only %v late", late)
					}
					c.wantIdle(rs[:2], 2*back+100*time.Millisecond)
					c.wantNoneMissed("a")
				})
			})
		}
	}
}

// As above, and the tick between the two was never claimed. When the last one runs after the late
// run, the one between gets its verdict, missed, in the same step.
func TestDueBeforeALateRunBehindAGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Deadline: time.Minute, Lease: 2 * time.Minute, Func: takes(3 * time.Second)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.StoreTimeout = 50 * time.Second }
		c.start()
		c.pass(5 * time.Second)
		for _, there := range []time.Duration{20005 * time.Millisecond, 45 * time.Second, 10 * time.Millisecond} {
			c.claimsTake(fault{there: there})
			c.pass(10 * time.Second)
		}
		c.claimsTake(fault{})
		c.pass(5 * time.Minute)
		rs := c.ran("a")
		if late, skips := rs[0].began.Sub(rs[0].Tick), rs[1].Tick.Sub(rs[0].Tick); late < 20*time.Second || skips != 20*time.Second {
			t.Fatalf("the first run was %v late, the second is of the tick %v after, want 20s for both", late, skips)
		}
		c.wantIdle(rs[:2], 100*time.Millisecond)
		if got := c.tally("a"); !strings.Contains(got, "missed") {
			t.Errorf("verdicts: %s, want one missed", got)
		}
	})
}

// claimsTake sets the fate of each claim.
func (c *world) claimsTake(f fault) {
	for _, n := range c.nodes {
		n.wire.spoil(func(op string) fault {
			if op == "claim" {
				return f
			}
			return fault{}
		})
	}
}

// wantNoneMissed wants no tick of a job to be missed.
func (c *world) wantNoneMissed(job string) {
	c.t.Helper()
	if got := c.tally(job); strings.Contains(got, "missed") {
		c.t.Errorf("verdicts of %s: %s, want none missed", job, got)
	}
}
