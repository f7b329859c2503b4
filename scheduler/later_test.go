package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler"
)

// hinted checks, in every test, that only the first claim of an owner, and no
// takeover, is marked as later: the store may not look whether it was granted.
func (c *world) hinted(cs []lock.Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range cs {
		if cs[i].Later {
			c.hints++
		}
		if cs[i].Later && (c.asked[cs[i].Owner] || cs[i].From != 0) {
			c.t.Errorf("a claim that may have been granted before is marked as later: %+v", cs[i])
		}
		c.asked[cs[i].Owner] = true
	}
}

// Of three nodes that know each other the two that do not come first for a tick
// mark their claims as later, once each, whether or not the answer comes.
func TestLaterShareIsMarked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)})
		c.pass(30 * time.Second) // they know each other
		c.mu.Lock()
		before := c.hints
		c.mu.Unlock()
		for _, n := range c.nodes {
			requests := 0
			n.wire.spoil(func(op string) fault {
				if requests++; op == "claim" && requests%2 == 0 {
					return fault{lost: lostReply, reset: true}
				}
				return fault{}
			})
		}
		c.pass(20 * time.Second)
		for _, n := range c.nodes {
			n.wire.spoil(nil)
		}
		c.mu.Lock()
		got := c.hints - before
		c.mu.Unlock()
		if got < 30 || got > 41 {
			t.Errorf("in 20 ticks %d claims of 3 nodes were marked as later, want about 40", got)
		}
	})
}
