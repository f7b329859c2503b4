package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// soon is longer than a drain takes that waits for nothing.
const soon = 10 * time.Millisecond

// A drain of an idle node does not wait for a claim that was certainly not granted: the store
// refused it, the node could not connect, or the store cannot read the data of the job. It waits
// for a claim whose answer was lost.
func TestDrainWaitsForDoubtAlone(t *testing.T) {
	every := func(f fault) func(n *node) {
		return func(n *node) { n.wire.spoil(func(string) fault { return f }) }
	}
	for name, test := range map[string]struct {
		trouble func(n *node)
		waits   bool
	}{
		"healthy":        {func(*node) {}, false},
		"refused":        {every(fault{refused: true}), false},
		"gone":           {every(fault{unsent: true}), false},
		"unreadable":     {func(n *node) { n.wire.spoilKeys("b") }, false},
		"replies cut":    {every(fault{lost: lostReply, reset: true}), true},
		"claims refused": {func(n *node) { n.refuses("claim") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1s", Func: nothing}, scheduler.Job{Name: "b", Spec: "@every 1s", Func: nothing},
					scheduler.Job{Name: "all", Spec: "@every 1s", Misfire: scheduler.MisfireAll, Func: nothing})
				c.pass(5 * time.Second)
				test.trouble(c.nodes[0])
				c.pass(10 * time.Second)
				began := time.Now()
				if err := c.nodes[0].drain(); err != nil {
					t.Errorf("drain: %v", err)
				}
				if took := time.Since(began); (took > soon) != test.waits {
					t.Errorf("the drain took %v, should it have waited: %v", took, test.waits)
				}
				c.nodes[0].wire.spoil(nil)
				c.nodes[0].wire.spoilKeys()
				c.pass(time.Minute)
				c.start() // the new node decides the remaining ticks
				c.pass(30 * time.Second)
				if lines := c.logged("drain waits"); (len(lines) > 0) != test.waits {
					t.Errorf("%d lines say what the drain waits for", len(lines))
				}
			})
		})
	}
}

// A claim that may have been granted stays in doubt even if a later request of it is certainly
// refused. It is repeated when the store permits it, and the tick is given back.
func TestRefusalAfterDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 10 * time.Minute, Func: nothing})
		n, due := c.start(), start.Add(time.Hour)
		n.wire.spoil(func(op string) fault {
			switch at := time.Now(); {
			case op != "claim":
			case at.Before(due.Add(20 * time.Millisecond)):
				return fault{lost: lostReply, reset: true}
			case at.Before(due.Add(5 * time.Second)):
				return fault{refused: true}
			}
			return fault{}
		})
		c.pass(time.Hour + time.Second)
		began := time.Now()
		if err := n.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("the drain took %v, want until the store answered after 4s", took)
		}
		c.wantTally("a", "ran unstarted 1")
	})
}

// A drain waits for no end of a run whose lease was lost, since its node sends none.
func TestDrainAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 30 * time.Second, Func: takes(10 * time.Minute)})
		c.pass(time.Hour + time.Second)
		n := c.nodes[0]
		n.partition()
		c.pass(time.Minute)
		n.heal()
		c.pass(time.Minute)
		c.wantLogged(1, "run finished", "outcome", "lost")
		began := time.Now()
		if err := n.drain(); err != nil || time.Since(began) > soon {
			t.Errorf("the drain took %v: %v", time.Since(began), err)
		}
	})
}

// The log names the work that a drain waits for: first after a second, then every five.
func TestDrainSaysWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(12 * time.Second)})
		c.pass(time.Hour)
		if err := c.nodes[0].drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		c.wantLogged(3, "drain waits", "runs", int64(1), "run_names", "a@2000-01-01T01:00:00.000Z", "claims", int64(0), "claim_names", "", "ends", int64(0))
		if es := c.nodes[0].observed(scheduler.EventDrainWaits); len(es) != 3 || es[0].Count != 1 {
			t.Errorf("events %v, want three, each of one run", es)
		}
	})
}

// A drain at once interrupts a run that only waits for its next try, including a run whose try
// fails during the drain. The run is given back.
func TestDrainEndsPausesBetweenTries(t *testing.T) {
	for name, works := range map[string]time.Duration{"pauses": 0, "works": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Retry: scheduler.Retry{Tries: 3, Wait: 30 * time.Minute},
					Func: func(context.Context, *scheduler.Run) error {
						time.Sleep(works)
						return errors.New("not yet")
					}})
				n := c.start()
				c.pass(time.Hour + time.Second)
				began := time.Now()
				if err := n.drain(); err != nil {
					t.Errorf("drain: %v", err)
				}
				if took := time.Since(began); took > max(works-time.Second, 0)+soon {
					t.Errorf("the drain took %v", took)
				}
				if r := c.ran("a")[0]; r.tries != 1 {
					t.Errorf("%d tries, want one", r.tries)
				}
				c.wantLogged(1, "run finished", "outcome", "interrupted")
			})
		})
	}
}

// A node that is stopped while it opens its jobs, or joins, leaves the list of nodes. It logs no
// warning about a request that the stop itself cut short.
func TestStoppedWhileOpening(t *testing.T) {
	for _, op := range []string{"open", "beat", "now"} {
		t.Run(op, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing})
				n := c.create(c.jobs...)
				n.wire.spoil(func(asked string) fault {
					if asked == op {
						return fault{back: time.Second}
					}
					return fault{}
				})
				n.run()
				c.pass(500 * time.Millisecond)
				if err := n.drain(); err != nil {
					t.Errorf("drain: %v", err)
				}
				list, err := c.store.Members(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range list.Members {
					if m.Alive(list.Now) {
						t.Errorf("%s is on the list of nodes", m.Node)
					}
				}
				c.wantLogged(0, "store unreachable")
				c.wantLogged(0, "jobs not open")
			})
		})
	}
}

// A request that is cut short when a drain ends proves nothing about the store.
func TestDrainCutsPeeks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 1s", Func: nothing})
		for _, n := range c.nodes {
			n.wire.spoil(func(op string) fault {
				if op == "peek" {
					return fault{back: 1500 * time.Millisecond}
				}
				return fault{}
			})
		}
		c.pass(20*time.Second + 200*time.Millisecond)
		began := time.Now()
		if err := c.nodes[0].drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("the drain took %v: it waited for peeks", took)
		}
		c.wantLogged(0, "store unreachable")
	})
}

// A job that is added once the node drains, or has ended, is refused.
func TestAddTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(5 * time.Second)})
		c.pass(time.Hour)
		n := c.nodes[0]
		late := func(name string) {
			t.Helper()
			if err := n.Add(scheduler.Job{Name: name, Spec: "@hourly", Func: nothing}); err == nil {
				t.Error("a job was added")
			}
		}
		n.stop()
		c.pass(time.Second)
		late("in-the-drain")
		<-n.ended
		late("after-the-end")
	})
}

// The context of a job with a timeout has a deadline. It ends with an error that is
// context.DeadlineExceeded and, by its cause, ErrTimeout.
func TestTimeoutIsADeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Timeout: 10 * time.Second, Func: func(ctx context.Context, r *scheduler.Run) error {
			if at, has := ctx.Deadline(); !has || at.Sub(r.Tick) != 10*time.Second {
				t.Errorf("the deadline is %v", at)
			}
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, scheduler.ErrTimeout) || !errors.Is(cause, context.DeadlineExceeded) {
				t.Errorf("the cause is %v", cause)
			}
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("the context ended with %v", ctx.Err())
			}
			return ctx.Err()
		}})
		c.pass(time.Hour + 20*time.Second)
		c.wantTally("a", "ran timeout 1")
	})
}

// A drain that only waits for an answer ends with it.
func TestDrainEndsWithTheLastAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing})
		n := c.start()
		c.pass(time.Minute)
		n.wire.spoilKeys("a") // the answer will be that the job cannot be read
		n.wire.spoil(func(op string) fault {
			if op == "claim" {
				return fault{back: 700 * time.Millisecond}
			}
			return fault{}
		})
		c.pass(59*time.Minute + 200*time.Millisecond)
		began := time.Now()
		if err := n.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(began); took < 500*time.Millisecond-soon || took > 500*time.Millisecond+soon {
			t.Errorf("the drain took %v, want 500ms, until the answer", took)
		}
		n.wire.spoil(nil)
		n.wire.spoilKeys()
		c.start() // the new node decides the tick
		c.pass(30 * time.Second)
	})
}
