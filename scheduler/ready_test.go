package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A node is ready while the store answers. It is not ready before the first answer, while the store
// does not answer, in a drain, or afterwards.
func TestReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(5 * time.Second)})
		n := c.start()
		n.partition()
		wantReady := func(want bool, when string) {
			t.Helper()
			if err := n.Ready(); (err == nil) != want {
				t.Errorf("%s: %v", when, err)
			}
		}
		wantReady(false, "before the store answered")
		c.pass(10 * time.Second)
		wantReady(false, "while the store has never answered")
		if err := n.Ready(); err == nil || err.Error() != "scheduler: store unreachable: the list of nodes: no answer in time" {
			t.Errorf("while the store has never answered it says %v", err)
		}
		n.heal()
		c.pass(5 * time.Second)
		wantReady(true, "with the store")
		n.partition()
		c.pass(15 * time.Second)
		wantReady(false, "without the store")
		n.heal()
		c.pass(15 * time.Second)
		wantReady(true, "with the store again")
		c.pass(time.Until(start.Add(time.Hour + time.Second)))
		n.stop()
		c.pass(time.Second)
		wantReady(false, "in a drain")
		c.pass(5 * time.Second)
		wantReady(false, "after the drain")
	})
}
