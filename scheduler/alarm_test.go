package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// The timetable waits for no answer: each tick is claimed when it is due, however
// many claims before it have no answer yet.
func TestTimetableWaitsForNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const back = 4500 * time.Millisecond
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Overlap: scheduler.OverlapAllow, Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.StoreTimeout = 10 * time.Second }
		n := c.start()
		n.wire.spoil(func(op string) fault {
			if op == "claim" {
				return fault{back: back}
			}
			return fault{}
		})
		c.pass(32*time.Second + back)
		n.wire.spoil(nil)
		runs := c.ran("a")
		if len(runs) < 30 {
			t.Errorf("%d runs in 30 seconds", len(runs))
		}
		for _, r := range runs {
			if took := r.began.Sub(r.Tick); took > back {
				t.Errorf("%v was claimed %v late", r.Tick, took-back)
			}
		}
		c.pass(back) // for the answers that are on their way
	})
}
