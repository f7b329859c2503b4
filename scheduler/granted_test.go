package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A claim is granted while the drain begins. The other nodes were answered that this node has the
// tick, so it must run it; otherwise the tick would be lost.
func TestDrainRunsWhatItWasGranted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(100 * time.Millisecond)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Spread = -1 }
		leaving, staying := c.start(), c.start()
		slow := func(f fault) func(string) fault {
			return func(op string) fault {
				if op == "claim" {
					return f
				}
				return fault{}
			}
		}
		leaving.wire.spoil(slow(fault{back: 40 * time.Millisecond}))
		staying.wire.spoil(slow(fault{there: 10 * time.Millisecond})) // the other node is always first
		c.pass(10*time.Second + 20*time.Millisecond)
		if err := leaving.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		c.pass(10 * time.Second)
		if n := len(c.logged("tick missed")); n != 0 {
			t.Errorf("%d ticks missed, want none", n)
		}
	})
}
