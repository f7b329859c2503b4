package scheduler_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A node that drains claims nothing more, keeps the leases of its runs, and ends with the last run,
// not with its grace. The other nodes go on.
func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "long", Spec: "@every 5m", Lease: 3 * time.Second, Func: takes(17 * time.Second)},
			scheduler.Job{Name: "short", Spec: "@every 1s", Func: nothing})
		c.pass(5 * time.Minute)
		leaving := c.holder("long")
		began := time.Now()
		if err := leaving.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(began); took > 17*time.Second {
			t.Errorf("the drain took %v, the last run 17s", took)
		}
		for _, r := range c.ran("short") {
			if r.node == leaving && r.began.After(began) {
				t.Errorf("%v began on a draining node", r.Tick)
			}
		}
		if err := leaving.Run(t.Context()); err == nil {
			t.Error("a node ran twice")
		}
		c.pass(4 * time.Minute)
		c.wantTally("long", "ran ok 1")
		for _, message := range []string{"node started", "node draining", "node stopped"} {
			c.wantLogged(1, message, "node", leaving.ID())
		}
	})
}

// A node that reads the state of its jobs while it drains plans nothing: it ends with its last run,
// and does not wait for the lease of a run that it has seen.
func TestDrainPlansNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: time.Minute, Func: takes(15 * time.Second)})
		c.pass(time.Minute)
		began := time.Now()
		if err := c.nodes[0].drain(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the drain took %v, though the only run ended after 14.5s", took)
		}
	})
}

// After the grace the contexts end with ErrDrained. Runs that end then are released as interrupted
// before Run returns.
func TestDrainCancels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Interrupted: scheduler.InterruptedLost, Func: takes(time.Minute)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = 7 * time.Second }
		n := c.start()
		c.pass(time.Hour + time.Second)
		if err := n.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		r := c.ran("a")[0]
		if !errors.Is(r.cause, scheduler.ErrDrained) || r.contextEnd.Sub(r.Tick) != 8*time.Second {
			t.Errorf("the context ended with %v after %v, want ErrDrained after 8s", r.cause, r.contextEnd.Sub(r.Tick))
		}
		c.wantTally("a", "ran interrupted 1")
	})
}

// A run that ignores the end of its context is named by Run's error and in the log. It keeps its
// lease, so no other node runs the tick. When it ends after all, its end is recorded.
func TestDrainIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 1h", Lease: 3 * time.Second, Takeover: scheduler.TakeoverRerun, Func: ignores(time.Minute)})
		c.pass(time.Hour)
		n := c.holder("a")
		began := time.Now()
		err := n.drain()
		if err == nil || !strings.Contains(err.Error(), "a@2000-01-01T01:00:00.000Z") {
			t.Errorf("drain: %v, want an error that names the run", err)
		}
		if took := time.Since(began); took < 25*time.Second || took > 26*time.Second {
			t.Errorf("the drain took %v, want the grace of 20s and 5s more", took)
		}
		c.wantLogged(1, "run ignores its context", "node", n.ID(), "cause", scheduler.ErrDrained.Error())
		if s := n.Stats(); s.Runs != 1 || s.IgnoringContext != 1 {
			t.Errorf("after the drain %d runs are alive and %d ignore their contexts, want 1 and 1", s.Runs, s.IgnoringContext)
		}
		c.pass(time.Minute)
		c.wantTally("a", "ran ok 1")
	})
}

// A claim whose reply was lost when the drain began is repeated. If it was granted it is given back
// as unstarted: another node runs the tick, as the first attempt, long before the lease would have
// ended.
func TestDrainInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 10 * time.Minute, Func: nothing})
		first := c.start()
		first.wire.spoil(func(op string) fault {
			if op == "claim" && time.Now().Before(start.Add(time.Hour+time.Second)) {
				return fault{lost: lostReply}
			}
			return fault{}
		})
		c.pass(time.Hour + 500*time.Millisecond)
		if len(c.given("a")) != 1 || len(c.ran("a")) != 0 {
			t.Fatalf("%d grants and %d runs, want a grant that nobody knows of", len(c.given("a")), len(c.ran("a")))
		}
		c.start()
		if err := first.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		c.pass(15 * time.Second)
		r := c.ran("a")
		if len(r) != 1 || r[0].node == first || r[0].Attempt != 1 || !r[0].over.Before(start.Add(time.Hour+15*time.Second)) {
			t.Errorf("ran %v, want the first attempt on the other node", r)
		}
		c.wantTally("a", "ran ok 1")
	})
}

// A drain waits until a request of it that is still on its way can no longer be granted. Otherwise
// the tick would belong to a node that is gone.
func TestDrainOutlivesItsRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 10 * time.Minute, Func: nothing})
		first := c.start()
		first.wire.spoil(func(op string) fault {
			if op == "claim" && time.Now().Before(start.Add(time.Hour+time.Second)) {
				return fault{there: 1800 * time.Millisecond, lost: lostReply, broken: true}
			}
			return fault{}
		})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Spread = time.Second }
		c.start()
		c.nodes[1].partition()
		c.pass(time.Hour + 100*time.Millisecond)
		if err := first.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		c.nodes[1].heal()
		c.pass(30 * time.Second)
		c.wantTally("a", "ran ok 1")
	})
}

// A grant that arrives when the grace of a drain is over is given back unstarted, although its
// claim was sent before the drain.
func TestGrantAfterTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = time.Second }
		n := c.start()
		n.wire.spoil(func(op string) fault {
			if op == "claim" {
				return fault{back: 1500 * time.Millisecond}
			}
			return fault{}
		})
		c.pass(time.Minute + 100*time.Millisecond)
		if err := n.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		if rs := c.ran("a"); len(rs) != 0 {
			t.Errorf("ran %v, want nothing after the grace", rs)
		}
		if len(c.given("a")) != 1 {
			t.Errorf("%d grants, want one", len(c.given("a")))
		}
		c.wantTally("a", "ran unstarted 1")
	})
}

// A grant that arrives when its lease is alive but can no longer be trusted is given back
// unstarted, and the tick still runs.
func TestGrantTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: time.Second, Func: nothing})
		n := c.start()
		n.wire.spoil(func(op string) fault {
			if op == "claim" && time.Now().Before(start.Add(time.Minute+time.Second)) {
				return fault{back: 950 * time.Millisecond}
			}
			return fault{}
		})
		c.pass(time.Minute + 30*time.Second)
		rs := c.ran("a")
		if len(rs) != 1 || rs[0].Attempt != 1 || rs[0].began.Sub(rs[0].Tick) < 950*time.Millisecond {
			t.Errorf("ran %v, want one first attempt after the late grant", rs)
		}
		if len(c.given("a")) != 2 {
			t.Errorf("%d grants, want the late one and another", len(c.given("a")))
		}
		c.wantTally("a", "ran ok 1")
	})
}
