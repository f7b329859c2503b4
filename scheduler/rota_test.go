package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// busy returns n jobs that are due every second.
func busy(n int) (jobs []scheduler.Job) {
	for i := range n {
		jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("busy", i), Spec: "@every 1s", Func: nothing})
	}
	return jobs
}

// A job whose ticks are decided all the time is read once a minute, and any other job in every
// turn.
func TestRotaLeavesOutWhatTicksTell(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, append(busy(10), scheduler.Job{Name: "rare", Spec: "@hourly", Func: nothing})...)
		c.pass(time.Minute)
		got := c.counted(func() { c.pass(10 * time.Minute) }).opens
		if want := 3 * (10*10 + 60); got != want {
			t.Errorf("3 nodes opened %d jobs in ten minutes, want %d", got, want)
		}
	})
}

// A rolling restart changes the spec of a job that is due all the time. The existing nodes report
// this at their next heartbeat, and the new node in its first turn. Then the rota is as before.
func TestNewNodeHasAnotherSpecOfBusyJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, busy(10)...)
		c.mixed = true
		for at := range 10 { // at each position of the others between two heartbeats
			c.pass(40*time.Second - time.Since(start)%(10*time.Second) + time.Duration(at)*time.Second + 100*time.Millisecond)
			changed := busy(10)
			job := &changed[at]
			job.Spec = fmt.Sprintf("@every %ds", 2+at)
			fresh := c.startWith(changed...)
			c.pass(10100 * time.Millisecond)
			for i, n := range c.nodes[:3] {
				if len(n.logged("specs differ", "job", job.Name)) != 1 {
					t.Errorf("%d s: node %d warned %d times ten seconds after another spec came", at, i, len(n.logged("specs differ")))
				}
			}
			c.pass(2100 * time.Millisecond)
			if len(fresh.logged("specs differ", "job", job.Name)) != 1 {
				t.Errorf("%d s: the node that came warned %d times after its first turn", at, len(fresh.logged("specs differ")))
			}
			if err := fresh.drain(); err != nil {
				t.Error(err)
			}
		}
	})
}
