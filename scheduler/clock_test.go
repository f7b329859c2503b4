package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Nodes follow a store whose clock runs slightly fast or slow: ticks are punctual on its clock, and
// nothing is logged.
func TestClockDrifts(t *testing.T) {
	for name, rate := range map[string]time.Duration{"fast": time.Millisecond, "slow": -time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
				var late []time.Duration
				c.jobs[0].Func = onStore(c, &late)
				for range 3 {
					c.start()
				}
				c.pass(500 * time.Millisecond)
				for range 30 * 60 { // 1.8 seconds in half an hour, 1000 ppm
					c.step(rate)
					c.pass(time.Second)
				}
				c.pass(-1800 * rate)
				c.wantTally("a", "ran ok 180")
				for _, d := range late {
					if d < -2*time.Millisecond || d > 150*time.Millisecond { // a step of this test may fall in between
						t.Errorf("a tick began %v after its instant on the store's clock", d)
					}
				}
				c.wantLogged(0, "clock stepped")
			})
		})
	}
}

// The store's clock steps forward: each node logs the step as an error, and the misfire policy
// decides about the skipped ticks.
func TestClockStepsForward(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "once", Spec: "@every 1m", Func: nothing},
			scheduler.Job{Name: "skip", Spec: "@every 1m", Misfire: scheduler.MisfireSkip, Func: nothing},
			scheduler.Job{Name: "all", Spec: "@every 1m", Misfire: scheduler.MisfireAll, Func: nothing})
		c.strange = clockStepped
		c.pass(10*time.Minute + 15*time.Second)
		c.step(15 * time.Minute) // from 10:15.5 to 25:15.5
		c.pass(10 * time.Minute)
		c.wantSteps(15 * time.Minute)
		c.wantTally("once", "missed misfire 14, ran ok 21")
		c.wantTally("skip", "missed misfire 15, ran ok 20")
		c.wantTally("all", "missed misfire 5, ran ok 30")
	})
}

// The store's clock steps backward: the step is logged, nothing runs twice, and the ticks go on
// when the clock has reached its earlier time.
func TestClockStepsBackward(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing},
			scheduler.Job{Name: "b", Spec: "@every 1m", Takeover: scheduler.TakeoverRerun, Func: takes(20 * time.Second)})
		c.strange = clockStepped
		c.pass(10*time.Minute + 3*time.Second)
		c.step(-4 * time.Minute)
		c.pass(14 * time.Minute)
		c.wantSteps(-4 * time.Minute)
		c.wantTally("a", "ran ok 120")
		c.wantTally("b", "ran 1, ran ok 19")
		if n := len(c.logged("mark ahead")); n == 0 || n > 6 {
			t.Errorf("%d lines that marks are ahead, want one for each job and node at most", n)
		}
	})
}

// A takeover that was planned before a backward step of the clock does not wait longer because of
// the step.
func TestTakeoverAcrossAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 30 * time.Second, Takeover: scheduler.TakeoverRerun, Func: takes(10 * time.Minute)})
		c.strange = clockStepped
		c.pass(time.Hour)
		c.holder("a").kill()
		c.step(-20 * time.Second)
		c.pass(55 * time.Second)
		if r := c.running("a"); r == nil || r.Attempt != 2 {
			t.Errorf("55s after the kill runs %+v, want attempt 2 when lease and step are over", r)
		}
	})
}

// wantSteps wants every node to have logged one step of about this size.
func (c *world) wantSteps(d time.Duration) {
	c.t.Helper()
	for _, n := range c.nodes {
		ls := n.logged("clock stepped")
		if len(ls) != 1 || time.Duration(ls[0].keys["step_ms"].(float64)*1e6).Round(time.Second) != d {
			c.t.Errorf("steps logged: %v, want one of %v", ls, d)
		}
	}
}

// onStore is a function that records how late it was called on the store's clock.
func onStore(c *world, late *[]time.Duration) scheduler.Func {
	return func(_ context.Context, r *scheduler.Run) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		*late = append(*late, c.now().Sub(r.Tick))
		return nil
	}
}

// The store's answers take 1.8 seconds for a while. That is no step of its clock, and ticks are
// only as late as the answers make them.
func TestSlowStoreIsNoStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		c.pass(time.Minute)
		slow := func(there, back time.Duration) {
			for _, n := range c.nodes {
				n.wire.spoil(func(op string) fault {
					if op == "beat" || op == "now" {
						return fault{there: there, back: back}
					}
					return fault{}
				})
			}
		}
		slow(0, 1800*time.Millisecond)
		c.pass(5 * time.Minute)
		slow(1800*time.Millisecond, 0)
		c.pass(5 * time.Minute)
		c.wantLogged(0, "clock stepped")
		c.wantLogged(0, "clock offset")
		for _, r := range c.ran("a") {
			if late := r.began.Sub(r.Tick); late > 60*time.Millisecond {
				t.Errorf("%v ran %v late", r.Tick, late)
			}
		}
	})
}

// Each reading of a store's clock is a different one. This affects neither the heartbeats nor the
// ticks of a node. It is logged once a minute.
func TestReadingsThatNeverAgree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		n := c.nodes[0]
		c.pass(time.Minute)
		beats, reads := 0, 0
		c.mu.Lock()
		c.jumpy = func() time.Duration { return time.Duration(1+reads%7) * 10 * time.Second }
		c.mu.Unlock()
		n.wire.spoil(func(op string) fault {
			switch op {
			case "beat":
				beats++
				reads++
			case "now":
				reads++
			}
			return fault{}
		})
		c.pass(10 * time.Minute)
		n.wire.spoil(nil)
		if beats < 50 || reads > 10*beats {
			t.Errorf("%d beats and %d readings in ten minutes", beats, reads)
		}
		c.wantTally("a", "ran ok 66")
		if lines := len(n.logged("clock unsteady")); lines < 9 || lines > 11 {
			t.Errorf("the log has it %d times in ten minutes", lines)
		}
		c.mu.Lock()
		c.jumpy = nil
		c.mu.Unlock()
	})
}

// The clock of a node's machine is wrong by a day. A job that is added while the node runs is due by the store's clock all the same.
func TestAddWithAWrongClock(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "behind": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t)
				c.clock.Store(-int64(by))
				c.start()
				c.pass(30500 * time.Millisecond)
				a := scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}
				c.jobs = append(c.jobs, a)
				if err := c.nodes[0].Add(c.nodes[0].recording([]scheduler.Job{a})[0]); err != nil {
					t.Error(err)
				}
				c.pass(time.Minute)
				c.wantTally("a", "ran ok 6")
			})
		})
	}
}
