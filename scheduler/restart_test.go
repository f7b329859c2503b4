package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Every node is replaced, one after the other and five times over, while jobs run every second. No
// tick is lost, doubled or late by more than its interval.
func TestRollingRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3,
			scheduler.Job{Name: "second", Spec: "@every 1s", Func: takes(300 * time.Millisecond)},
			scheduler.Job{Name: "five", Spec: "@every 5s", Func: takes(4 * time.Second)},
			scheduler.Job{Name: "minute", Spec: "@every 1m", Func: takes(25 * time.Second)}) // longer than the grace
		for i := range 15 {
			c.pass(20*time.Second + 7*time.Millisecond)
			old := c.nodes[i]
			c.start()
			go old.stop() // it drains while the others go on
		}
		c.pass(59 * time.Second)
		for _, job := range []string{"second", "five"} {
			c.wantTally(job, fmt.Sprintf("ran ok %d", len(c.account(job).ticks)))
		}
		for tick, v := range c.account("minute").ticks {
			if v != "ran ok" && v != "ran ok #2" {
				t.Errorf("the verdict of %v is %q", at(tick), v)
			}
		}
		c.wantLogged(0, "tick missed")
	})
}
