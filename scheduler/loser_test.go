package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A node that lost its lease watches the run that followed its own. If that node dies too, and no
// other node has seen the run, the tick still gets its next attempt within the lease and a second.
func TestLoserWatchesItsSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = 3 * time.Second
		c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@hourly", Lease: lease, Takeover: scheduler.TakeoverRerun, Func: takes(20 * time.Second)})
		c.pass(time.Hour)
		loser := c.holder("a")
		loser.partition()
		c.pass(lease + time.Second)
		loser.heal()
		c.pass(time.Second)
		c.holder("a").kill()
		c.pass(lease + time.Second)
		if r := c.running("a"); r == nil || r.Attempt != 3 || r.node != loser {
			t.Errorf("%v after the second node died runs %+v, want attempt 3 on the first", lease+time.Second, r)
		}
	})
}
