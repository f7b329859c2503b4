package scheduler_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
)

// A count has the numbers of claims, peeks and openings that were sent.
type count struct {
	calls  int // with claims
	claims int
	late   int // claims that were sent as late as a later share, or later
	early  int // claims that were sent longer before their number is due than a lead and the error of a clock
	peeks  int
	opens  int
	asks   int // whether a group of ticks is decided
}

func (c *world) claimed(cs []series.Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.calls++
	c.sent.claims += len(cs)
	for i := range cs {
		switch late := c.now().Sub(time.UnixMilli(cs[i].Number)); {
		case spec.Manual(cs[i].Number):
		case late >= 25*time.Millisecond:
			c.sent.late++
		case -late > scheduler.MaxLead+clockError:
			c.sent.early++
		}
	}
}

func (c *world) peeked(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.peeks += n
}

func (c *world) opened(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.opens += n
}

func (c *world) asked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.asks++
}

// counted returns the requests that nodes send during f.
func (c *world) counted(f func()) count {
	c.mu.Lock()
	before := c.sent
	c.mu.Unlock()
	f()
	c.mu.Lock()
	defer c.mu.Unlock()
	return count{c.sent.calls - before.calls, c.sent.claims - before.claims, c.sent.late - before.late, c.sent.early - before.early, c.sent.peeks - before.peeks, c.sent.opens - before.opens, c.sent.asks - before.asks}
}

// peekless hides that a store supports peeking.
type peekless struct{ scheduler.Store }

// If the store does not support peeking, all three nodes claim each tick, the two that are not
// first a moment later, whether or not the answers arrive.
func TestLaterShareIsClaimedWithoutPeeks(t *testing.T) {
	for name, lost := range map[string]loss{"replies": lostReply, "none": delivered} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)})
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = peekless{cfg.Store} }
				for range 3 {
					c.start()
				}
				c.pass(30500 * time.Millisecond) // by now they know each other
				for _, n := range c.nodes {
					requests := 0
					n.wire.spoil(func(op string) fault {
						if requests++; op == "claim" && requests%2 == 0 {
							return fault{lost: lost, reset: lost != delivered}
						}
						return fault{}
					})
				}
				got := c.counted(func() { c.pass(20 * time.Second) })
				for _, n := range c.nodes {
					n.wire.spoil(nil)
				}
				most := count{claims: 62, late: 42}
				if lost != delivered {
					most = count{claims: 120, late: 100} // half of the claims are repeated
				}
				if got.claims < 60 || got.claims > most.claims || got.late < 38 || got.late > most.late || got.peeks != 0 {
					t.Errorf("in 20 ticks 3 nodes sent %+v, want 60 to %d claims, 38 to %d of them late", got, most.claims, most.late)
				}
			})
		})
	}
}

// Three nodes that know each other claim each tick once. Two peek at it, and once more if its run
// is still alive then. The result is the same on nodes that do not log who has a tick, and whose
// peeks need less of the answer.
func TestLaterShareIsPeekedAt(t *testing.T) {
	for name, level := range map[string]slog.Level{"loud": slog.LevelDebug, "quiet": slog.LevelInfo} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)},
					scheduler.Job{Name: "b", Spec: "@every 1s", Func: takes(300 * time.Millisecond)})
				c.setup = func(_ int, cfg *scheduler.Config) {
					cfg.Logger = slog.New(hooked{cfg.Logger.Handler(), level, func(string) {}})
				}
				for range 3 {
					c.start()
				}
				c.pass(30500 * time.Millisecond)
				if got := c.counted(func() { c.pass(20 * time.Second) }); got.peeks != 120 || got.claims < 40 || got.claims > 44 {
					t.Errorf("in 20 ticks of 2 jobs 3 nodes sent %+v, want 120 peeks and about 40 claims", got)
				}
			})
		})
	}
}

// While the store is busy, a node whose own claims have no answer yet leaves the ticks of others to them: each tick is claimed once.
// A node whose claims get no answer at all peeks all the same, a quarter of a second later.
func TestLaterShareFollowsTheClaims(t *testing.T) {
	for name, c := range map[string]struct {
		spoiled int // how many of three nodes
		fault   fault
		most    int // claims
	}{
		"slow answers": {3, fault{there: 150 * time.Millisecond}, 30 * 30},
		"no answers":   {1, fault{lost: lostRequest}, 3 * 30 * 20},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var jobs []scheduler.Job
				for i := range 30 {
					jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@every 1s", Func: takes(0)})
				}
				w := cluster(t, 3, jobs...)
				w.pass(30500 * time.Millisecond)
				for _, n := range w.nodes[:c.spoiled] {
					n.wire.spoil(func(op string) fault {
						if op == "claim" {
							return c.fault
						}
						return fault{}
					})
				}
				first, began := w.nodes[0], time.Now()
				peeks := first.peeks.Load()
				got := w.counted(func() { w.pass(20 * time.Second) })
				peeks = first.peeks.Load() - peeks
				late, ran := w.slowest(began)
				first.wire.spoil(nil)
				w.pass(3 * time.Second)
				if got.claims > c.most || peeks < 30*20/2 || ran < 30*19 || late > 200*time.Millisecond {
					t.Errorf("in 20 ticks of 30 jobs 3 nodes sent %+v, one of them %d peeks; %d ran, up to %v late; want at most %d claims", got, peeks, ran, late, c.most)
				}
			})
		})
	}
}

// While the requests or the answers of all peeks are lost, every tick still runs, even if the node
// that is first for it has died: ticks that are not known to be decided are claimed.
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

// A tick whose node died is claimed by another node a moment later.
func TestLaterShareOfDeadNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)})
		c.pass(30 * time.Second)
		for dead := range 2 {
			c.nodes[dead].kill()
			began := time.Now()
			c.pass(time.Minute) // so many ticks that a dead node is the first choice for some
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

// Each node of a large fleet leaves a tick to the node that is first for it for as long as its configuration says. Of some twenty
// instants two thirds are of dead nodes.
func TestSpreadOfALargeFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const spread = 2 * time.Second
		var jobs []scheduler.Job
		for i := range 5 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: fmt.Sprintf("%d/5 * * * * *", i), Func: takes(0)})
		}
		c := plan(t, jobs...)
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Spread = spread }
		for range 60 {
			c.start()
		}
		c.pass(32 * time.Second)
		for _, n := range c.nodes[20:] {
			n.kill()
		}
		began, others := time.Now(), 0
		c.pass(40 * time.Second) // until the dead nodes have left the list, so that all ticks are decided
		for _, r := range c.ranAny() {
			if late := r.began.Sub(r.Tick); r.Tick.After(began) && late > 0 {
				others++
				if late < spread || late > spread+time.Second {
					t.Errorf("a tick of a dead node began after %v, want within a second after %v", late, spread)
				}
			}
		}
		if others == 0 {
			t.Error("no tick was one of a dead node")
		}
	})
}
