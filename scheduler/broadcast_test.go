package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// broadcast is a cluster of three nodes that run each tick once each.
func broadcast(t *testing.T, job scheduler.Job, work scheduler.Func) *sharing {
	job.Broadcast, job.Spec = true, "@every 1m"
	c := share(t, job)
	c.work = work
	for range 3 {
		c.start()
	}
	return c
}

// on returns the nodes of the runs of a tick, each with how often it ran.
func (c *sharing) on(tick time.Time) map[string]int {
	count := map[string]int{}
	for _, r := range c.runs {
		if r.Tick.Equal(tick) {
			name, _, _ := strings.Cut(r.Node, "-")
			count[name]++
		}
	}
	return count
}

// verdicts returns the outcome of each node of a settled tick.
func (c *sharing) verdicts(l *series.Line) map[string]string {
	c.t.Helper()
	shards, err := series.ReadSheet(l.Sheet, l.Fence, l.At)
	if err != nil {
		c.t.Fatal(err)
	}
	of := map[string]string{}
	for _, h := range shards {
		name, _, _ := strings.Cut(h.Owner, "-")
		of[name] = h.Outcome
	}
	return of
}

func (c *sharing) wantVerdicts(l *series.Line, outcome string, want map[string]string) {
	c.t.Helper()
	got := c.verdicts(l)
	if l.Outcome != outcome || len(got) != len(want) {
		c.t.Errorf("the tick is %s with %v, want %s with %v", l.Outcome, got, outcome, want)
	}
	for name, word := range want {
		if got[name] != word {
			c.t.Errorf("%s has the verdict %q, want %q", name, got[name], word)
		}
	}
}

// Each of three nodes runs each tick once, in the instant of the tick, and the tick ends with the last of them.
func TestBroadcast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := broadcast(t, scheduler.Job{}, takes(5*time.Second))
		time.Sleep(5*time.Minute + 30*time.Second)
		c.end()
		c.wantOnce(5, 3)
		for i, r := range c.runs {
			if late := c.starts[i].Sub(r.Tick); late > 100*time.Millisecond || r.Param != r.Node {
				t.Errorf("%s started %v late on %s, for %s", r.ID, late, r.Node, r.Param)
			}
		}
		for i := range c.sums() {
			c.wantVerdicts(&c.sums()[i], series.OutcomeOK, map[string]string{"node0": "ok", "node1": "ok", "node2": "ok"})
		}
	})
}

// A node that joined or left just before a tick counts, because each node reads the list of nodes again for each tick.
func TestBroadcastReadsTheListOfNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := broadcast(t, scheduler.Job{}, nothing)
		begin := time.Now().Truncate(time.Minute)
		time.Sleep(58 * time.Second)
		c.nodes[0].stop()
		c.start()
		time.Sleep(time.Minute)
		c.end()
		sums := c.sums()
		if len(sums) != 1 {
			t.Fatalf("%d ticks are settled, want 1", len(sums))
		}
		c.wantVerdicts(&sums[0], series.OutcomeOK, map[string]string{"node1": "ok", "node2": "ok", "node3": "ok"})
		if on := c.on(begin.Add(time.Minute)); on["node0"] != 0 || on["node3"] != 1 {
			t.Errorf("the tick ran on %v", on)
		}
	})
}

// A claim waits for the list also while the store is slow, for two tenths of a second. If the list is not read by then, the claim is sent
// with the list that the node has.
func TestBroadcastWaitsForTheListOfNodes(t *testing.T) {
	for name, c := range map[string]struct {
		beat, other fault
		nodes       int
		late        time.Duration
	}{
		"a slow store": {fault{there: 60 * time.Millisecond}, fault{there: 60 * time.Millisecond}, 3, 350 * time.Millisecond},
		"no list":      {fault{lost: lostRequest}, fault{}, 2, 300 * time.Millisecond},
	} {
		for i := range 6 { // the node that has just started knows all others, and may be the first to claim
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := cluster(t, 2, scheduler.Job{Name: "a", Spec: "* * * * *", Broadcast: true, Func: nothing})
					w.pass(time.Until(time.Now().Truncate(time.Minute).Add(58 * time.Second)))
					w.start()
					w.pass(100 * time.Millisecond) // it is in the list of the store, and the others have not read that
					for _, n := range w.nodes {
						n.wire.spoil(func(op string) fault { return map[bool]fault{true: c.beat, false: c.other}[op == "beat"] })
					}
					w.pass(4 * time.Second)
					on := map[*node]bool{}
					for _, r := range w.ran("a") {
						on[r.node] = true
						if late := r.began.Sub(r.Tick); late > c.late {
							t.Errorf("%s began %v late", r.ID, late)
						}
					}
					if len(on) < c.nodes {
						t.Errorf("the tick ran on %d nodes, want %d", len(on), c.nodes)
					}
				})
			})
		}
	}
}

// The run of a node that dies is lost within its lease and two seconds, and no other node repeats it. The next tick does not expect
// the node any more.
func TestBroadcastOfADeadNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := broadcast(t, scheduler.Job{Lease: 5 * time.Second}, takes(20*time.Second))
		time.Sleep(time.Minute + 2*time.Second)
		c.nodes[0].kill()
		time.Sleep(time.Minute + 28*time.Second)
		c.end()
		sums := c.sums()
		if len(sums) != 2 {
			t.Fatalf("%d ticks are settled, want 2", len(sums))
		}
		c.wantVerdicts(&sums[0], series.OutcomeLost, map[string]string{"node0": "lost", "node1": "ok", "node2": "ok"})
		c.wantVerdicts(&sums[1], series.OutcomeOK, map[string]string{"node1": "ok", "node2": "ok"})
	})
}

// A node that died just before a tick is expected, misses it by the deadline, and keeps no other node from the next tick, also if the
// jitter of that one is shorter.
func TestBroadcastMissed(t *testing.T) {
	for _, jitter := range []time.Duration{0, 20 * time.Second} {
		t.Run(jitter.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := broadcast(t, scheduler.Job{Jitter: jitter}, nothing)
				time.Sleep(58 * time.Second)
				c.nodes[0].kill()
				time.Sleep(time.Minute + 30*time.Second)
				c.end()
				sums := c.sums()
				if len(sums) != 2 {
					t.Fatalf("%d ticks are settled, want 2: %+v", len(sums), sums)
				}
				c.wantVerdicts(&sums[0], series.OutcomeFailed, map[string]string{"node0": "missed", "node1": "ok", "node2": "ok"})
				c.wantVerdicts(&sums[1], series.OutcomeOK, map[string]string{"node1": "ok", "node2": "ok"})
			})
		})
	}
}

// A tick that waited for an earlier one starts on one node when that has ended, and on each other node when it asks next: within a second
// and a quarter.
func TestBroadcastAfterAWait(t *testing.T) {
	for part := range 8 {
		took := 75*time.Second + time.Duration(part)*130*time.Millisecond
		bubbled := func(t *testing.T) {
			begin := time.Now().Truncate(time.Minute)
			c := broadcast(t, scheduler.Job{Overlap: scheduler.OverlapQueue, Lease: 20 * time.Second}, func(ctx context.Context, r *scheduler.Run) error {
				if r.Tick.Equal(begin.Add(time.Minute)) {
					return takes(took)(ctx, r)
				}
				return nil
			})
			time.Sleep(2*time.Minute + 50*time.Second)
			c.end()
			if on := c.on(begin.Add(2 * time.Minute)); len(on) != 3 {
				t.Errorf("the tick that waited ran on %v", on)
			}
			for i, r := range c.runs {
				if late := c.starts[i].Sub(begin.Add(time.Minute + took)); r.Tick.Equal(begin.Add(2*time.Minute)) && late > 1300*time.Millisecond {
					t.Errorf("%s started on %s %v after the end of the run that it waited for", r.ID, r.Node, late)
				}
			}
		}
		t.Run(took.String(), func(t *testing.T) { bubble(t, bubbled) })
	}
}

// The list of nodes is read for a manual run, too: it expects no node that has stopped since the last heartbeat.
func TestBroadcastByHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := broadcast(t, scheduler.Job{}, nothing)
		time.Sleep(70 * time.Second)
		c.nodes[0].stop()
		c.start()
		time.Sleep(2 * time.Second)
		now := time.Now()
		request := series.Control{Key: "rows", Action: series.ActionRun, Op: "by-hand", Who: "ann", Reason: "by hand", Until: now.Add(10 * time.Second).UnixMilli()}
		if a := c.store.Control(context.Background(), request); a.Err != nil || a.Refusal != "" {
			t.Fatalf("the request got %+v", a)
		}
		time.Sleep(10 * time.Second)
		c.end()
		sums := c.sums()
		if len(sums) != 2 {
			t.Fatalf("%d runs are settled, want the tick and the manual run: %+v", len(sums), sums)
		}
		c.wantVerdicts(&sums[1], series.OutcomeOK, map[string]string{"node1": "ok", "node2": "ok", "node3": "ok"})
	})
}

// If more nodes live than the store lets a tick have shards, it expects the first ones by their names, and each tick is decided.
func TestBroadcastToMoreThanTheStoreKeeps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Broadcast: true, Spec: "@every 1m"})
		c.shards = 2
		for range 3 {
			c.start()
		}
		time.Sleep(time.Minute + 10*time.Second)
		c.end()
		sums := c.sums()
		if len(sums) != 1 {
			t.Fatalf("%d ticks are settled, want 1", len(sums))
		}
		if got := c.verdicts(&sums[0]); len(got) != 2 || sums[0].Outcome != series.OutcomeOK {
			t.Errorf("the tick is %s with %v, want two nodes that are ok", sums[0].Outcome, got)
		}
	})
}

// A tick has failed if it failed on one node, and with FailAll only if it was ok on none.
func TestBroadcastFails(t *testing.T) {
	for _, p := range []struct {
		fail scheduler.ShardFail
		want string
	}{{scheduler.FailAny, series.OutcomeFailed}, {scheduler.FailAll, series.OutcomeOK}} {
		t.Run(p.want, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := broadcast(t, scheduler.Job{ShardFail: p.fail}, func(_ context.Context, r *scheduler.Run) error {
					if strings.HasPrefix(r.Node, "node1-") {
						return errBroken
					}
					return nil
				})
				time.Sleep(time.Minute + 10*time.Second)
				c.end()
				c.wantVerdicts(&c.sums()[0], p.want, map[string]string{"node0": "ok", "node1": "failed", "node2": "ok"})
			})
		})
	}
}

// A node that drains ends its own run as interrupted, and no other node repeats it.
func TestBroadcastDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := broadcast(t, scheduler.Job{}, takes(40*time.Second))
		time.Sleep(time.Minute + 5*time.Second)
		c.nodes[0].stop()
		time.Sleep(50 * time.Second)
		c.end()
		sums := c.sums()
		if len(sums) != 1 {
			t.Fatalf("%d ticks are settled, want 1", len(sums))
		}
		c.wantVerdicts(&sums[0], series.OutcomeFailed, map[string]string{"node0": "interrupted", "node1": "ok", "node2": "ok"})
		if on := c.on(c.runs[0].Tick); len(c.runs) != 3 || on["node0"] != 1 {
			t.Errorf("the tick ran on %v", on)
		}
	})
}
