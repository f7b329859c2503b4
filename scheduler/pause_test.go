package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler"
)

// A paused job starts nothing, takeovers included; what runs goes on. Each tick
// is told once as skipped, and has that verdict; after the pause the next ones run.
func TestPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(70 * time.Second)},
			scheduler.Job{Name: "b", Spec: "@every 1m", Func: nothing})
		c.pass(10*time.Minute + 10*time.Second) // a runs the tick 9:00 or 10:00
		c.change("a", driver.ActionPause)
		c.change("b", driver.ActionPause)
		before := len(c.ran("a"))
		c.pass(5 * time.Minute)
		if got := len(c.ran("a")); got != before {
			t.Errorf("%d runs began in the pause", got-before)
		}
		c.change("b", driver.ActionResume)
		c.change("a", driver.ActionResume)
		c.pass(5 * time.Minute)
		c.wantTally("b", "paused 5, ran ok 15")
		c.wantLogged(5, "tick skipped", "job", "b", "reason", "paused")
		if got := len(c.ran("a")); got < before+2 {
			t.Errorf("%d runs after the pause, want the job to go on", got-before)
		}
	})
}

// A node that dies in a pause is not replaced: its tick is lost, told when the
// pause is over or before.
func TestPauseStopsTakeovers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(time.Minute)})
		c.pass(time.Hour + time.Second)
		c.change("a", driver.ActionPause)
		c.holder("a").kill()
		c.pass(20 * time.Second)
		if r := c.running("a"); r != nil && r.node.killed.IsZero() {
			t.Errorf("attempt %d runs in the pause", r.Attempt)
		}
		c.change("a", driver.ActionResume)
		c.pass(time.Hour)
		c.wantTally("a", "lost 1, ran 1")
	})
}

// change pauses or resumes a job.
func (c *world) change(job string, action driver.Action) {
	c.t.Helper()
	request := driver.Control{Key: job, Action: action, Op: c.now().Format(time.RFC3339Nano), Who: "ann", Reason: "for the test", Seen: driver.AnySeen}
	if a := c.store.Control(c.t.Context(), request); a.Kind != driver.ControlDone {
		c.t.Fatalf("the %s of %s is answered %+v", action, job, a)
	}
}
