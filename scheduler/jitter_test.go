package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A node that starts between a tick and the end of its jitter waits for that end, as nodes do that
// have run before. World.check knows when each tick is due.
func TestRestartInsideJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var jobs []scheduler.Job
		for i := range 8 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@hourly", Jitter: 50 * time.Minute, Func: nothing})
		}
		c := cluster(t, 1, jobs...)
		c.pass(time.Until(start.Add(3*time.Hour - time.Second)))
		if err := c.nodes[0].drain(); err != nil {
			t.Error(err)
		}
		c.pass(3 * time.Second)
		c.start()
		c.pass(2*time.Hour - 10*time.Second)
		for _, j := range jobs {
			c.wantTally(j.Name, "ran ok 4") // for 01:00 to 04:00
		}
	})
}

// Missed ticks are made up for in order. A tick whose jitter has not passed is not missed: it does
// not run early, and is not one of the latest ten.
func TestBacklogInsideJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for i := range 6 {
			j := scheduler.Job{Name: fmt.Sprint("a", i), Spec: "@every 1m", Jitter: 50 * time.Second, Misfire: scheduler.MisfireAll, Func: nothing}
			c := cluster(t, 1, j)
			c.pass(10*time.Minute - time.Since(start)%(10*time.Minute) + 55*time.Second) // all ticks are decided
			ran := len(c.ran(j.Name))
			if err := c.nodes[0].drain(); err != nil {
				t.Error(err)
			}
			from := time.Now().Truncate(time.Minute)
			c.pass(15*time.Minute - 50*time.Second) // 5 s after the 15th tick
			c.start()
			c.pass(time.Second)
			missed := 15
			if scheduler.DueAt(&j, time.UTC, from.Add(15*time.Minute)).After(time.Now()) {
				missed = 14
			}
			if got := len(c.ran(j.Name)) - ran; got != 10 {
				t.Errorf("%d of %d missed ticks ran, want ten", got, missed)
			}
			c.pass(2*time.Minute + 50*time.Second)
			if got := c.tally(j.Name); got != fmt.Sprintf("missed misfire %d, ran ok %d", missed-10, ran+10+17-missed) {
				t.Errorf("the verdicts are %s; %d ticks were missed", got, missed)
			}
		}
	})
}
