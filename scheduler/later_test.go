package scheduler_test

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler"
)

// hinted checks, in every test, that only the first claim of an owner, and no
// takeover, is marked as later: the store may not look whether it was granted.
func (c *world) hinted(cs []lock.Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims += len(cs)
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

func (c *world) peeked(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peeks += n
}

// A count is what was sent so far.
type count struct{ claims, hints, peeks int }

func (c *world) sent() count {
	c.mu.Lock()
	defer c.mu.Unlock()
	return count{c.claims, c.hints, c.peeks}
}

// since is what was sent after before.
func (c *world) since(before count) count {
	now := c.sent()
	return count{now.claims - before.claims, now.hints - before.hints, now.peeks - before.peeks}
}

// peekless hides that a store can be peeked at.
type peekless struct{ scheduler.Store }

// Of three nodes that know each other the two that do not come first for a tick
// mark their claims as later, once each, whether or not the answer comes, if the
// store cannot be peeked at.
func TestLaterShareIsMarked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = peekless{cfg.Store} }
		for range 3 {
			c.start()
		}
		c.pass(30500 * time.Millisecond) // they know each other
		before := c.sent()
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
		if got := c.since(before).hints; got < 30 || got > 41 {
			t.Errorf("in 20 ticks %d claims of 3 nodes were marked as later, want about 40", got)
		}
	})
}

// Three nodes that know each other claim each tick once: two peek at it. What
// follows is the same on nodes that do not log who has a tick, whose peeks need
// not be answered whole.
func TestLaterShareIsPeekedAt(t *testing.T) {
	for name, level := range map[string]zapcore.Level{"loud": zap.DebugLevel, "quiet": zap.InfoLevel} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)},
					scheduler.Job{Name: "b", Spec: "@every 1s", Func: takes(300 * time.Millisecond)})
				c.setup = func(_ int, cfg *scheduler.Config) {
					cfg.Logger = cfg.Logger.WithOptions(zap.IncreaseLevel(level))
				}
				for range 3 {
					c.start()
				}
				c.pass(30500 * time.Millisecond)
				before := c.sent()
				c.pass(20 * time.Second)
				if got := c.since(before); got.peeks != 80 || got.claims < 40 || got.claims > 44 || got.hints != 0 {
					t.Errorf("in 20 ticks of 2 jobs 3 nodes sent %+v, want 80 peeks and about 40 claims", got)
				}
			})
		})
	}
}

// While the requests of all peeks are lost, or their answers, every tick runs all
// the same, also when the node died whose share it is: what is not known to be
// decided is claimed.
func TestUndecidedLaterShareIsClaimed(t *testing.T) {
	for name, lost := range map[string]loss{"requests": lostRequest, "replies": lostReply, "none": delivered} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 5s", Func: takes(0)})
				c.pass(30 * time.Second)
				for _, n := range c.nodes {
					n.wire.spoil(func(op string) fault {
						if op == "peek" {
							return fault{lost: lost}
						}
						return fault{}
					})
				}
				c.pass(time.Minute)
				c.nodes[0].kill()
				began := time.Now()
				c.pass(18 * time.Second)
				ran := 0
				for _, r := range c.ran("a") {
					if r.Tick.After(began) && r.Tick.Before(began.Add(15*time.Second)) {
						ran++
					}
				}
				if ran != 3 {
					t.Errorf("%d of the 3 ticks after a node died ran", ran)
				}
				for _, n := range c.nodes[1:] {
					n.wire.spoil(nil)
				}
			})
		})
	}
}

// A tick whose node died is claimed by the others a moment later.
func TestLaterShareOfDeadNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)})
		c.pass(30 * time.Second)
		for dead := range 2 {
			c.nodes[dead].kill()
			began := time.Now()
			c.pass(15 * time.Second)
			late := 0
			for _, r := range c.ran("a") {
				took := r.began.Sub(r.Tick)
				if r.Tick.Before(began) {
					continue
				}
				if took > 20*time.Millisecond {
					late++
				}
				if took > 26*time.Millisecond {
					t.Errorf("with %d dead nodes %v began after %v, want at most 25ms", dead+1, r.Tick, took)
				}
			}
			if late == 0 {
				t.Errorf("with %d dead nodes no tick was theirs", dead+1)
			}
		}
	})
}
