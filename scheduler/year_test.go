package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A spec that names years has a first and a last tick. Before the first and after the last it is
// never due, and does not affect other jobs. The last tick may be as late as one with an hour to
// the next.
func TestYears(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now().UTC()
		if start.Year() != 2000 {
			t.Fatalf("a bubble begins at %v", start)
		}
		c := plan(t,
			scheduler.Job{Name: "over", Spec: "0 0 0 1 1 ? 1999", Func: nothing},
			scheduler.Job{Name: "once", Spec: "0 30 0 1 1 ? 2000", Jitter: time.Minute, Func: nothing},
			scheduler.Job{Name: "late", Spec: "0 10,50 0 1 1 ? 2000", Func: nothing},
			scheduler.Job{Name: "far", Spec: "0 0 0 L 2 ? 2199", Func: nothing},
			scheduler.Job{Name: "steady", Spec: "*/20 * * * *", Func: nothing})
		first := c.start()
		c.pass(45 * time.Minute) // runs at 10, 20, 30 and 40
		if err := first.drain(); err != nil {
			t.Error(err)
		}
		c.pass(20 * time.Minute)
		c.start() // at 1:05, and the last tick of late was at 0:50
		c.pass(25 * time.Minute)
		c.wantTally("over", "")
		c.wantTally("far", "")
		c.wantTally("once", "ran ok 1")
		c.wantTally("late", "ran ok 2")
		c.wantTally("steady", "ran ok 4") // 0:20, 0:40, 1:00 and 1:20
	})
}
