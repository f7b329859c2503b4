package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// Runs end while the store is away for longer than their leases. When it is back their outcomes are
// recorded, no tick is lost or runs twice, and the first tick after the outage is not skipped for a
// run that is over.
func TestOutcomesAreKept(t *testing.T) {
	for _, takeover := range []scheduler.Takeover{scheduler.TakeoverLost, scheduler.TakeoverRerun} {
		for _, overlap := range []scheduler.Overlap{scheduler.OverlapSkip, scheduler.OverlapAllow, scheduler.OverlapQueue} {
			for _, back := range []time.Duration{45 * time.Second, 59700 * time.Millisecond, 100 * time.Second, 20 * time.Minute} {
				t.Run(fmt.Sprint(takeover, overlap, back), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						c := plan(t)
						for i := range 5 {
							c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 1m", Takeover: takeover, Overlap: overlap, Lease: 30 * time.Second,
								Func: takes(time.Duration(2+i) * time.Second)})
						}
						n := c.start()
						c.pass(3*time.Minute + time.Second)
						n.partition()
						c.pass(back)
						n.heal()
						c.pass(5 * time.Minute)
						for _, j := range c.jobs {
							ticks := map[time.Time]bool{}
							for _, r := range c.ran(j.Name) {
								if ticks[r.Tick] {
									t.Errorf("%s@%v ran twice", j.Name, r.Tick)
								}
								ticks[r.Tick] = true
							}
						}
						for _, reason := range []string{"lost", "overlap"} {
							if ls := slices.Concat(c.logged("tick missed", "reason", reason), c.logged("tick skipped", "reason", reason)); len(ls) > 0 {
								t.Errorf("%d ticks %s, the first is %v", len(ls), reason, ls[0].keys)
							}
						}
						if n.Pending() > 0 {
							t.Errorf("%d asks have no verdict", n.Pending())
						}
					})
				})
			}
		}
	}
}

// A run that has lost its lease succeeds while the store is away. No other node had the tick, so
// the success is recorded, and the tick does not run again.
func TestLateSuccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Takeover: scheduler.TakeoverRerun, Lease: 30 * time.Second, Func: ignores(50 * time.Second)})
		n := c.start()
		c.pass(time.Hour + time.Second)
		n.partition()
		c.pass(time.Minute)
		n.heal()
		c.pass(30 * time.Minute)
		if rs := c.ran("a"); len(rs) != 1 || rs[0].err != nil {
			t.Errorf("the tick ran %d times, want once", len(rs))
		}
		c.wantTally("a", "ran lost 1")
		c.wantLogged(1, "lease lost")
	})
}

// A run succeeds after another node has recorded its tick as lost. The late end changes nothing: the tick stays lost, and the log
// of the run's node has the lost lease and the outcome lost.
func TestSuccessOfALostTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 30 * time.Second, Func: ignores(2 * time.Minute)})
		n := c.start()
		c.pass(time.Hour + time.Second)
		n.partition()
		c.start()
		c.pass(time.Minute)
		n.heal()
		c.pass(30 * time.Minute)
		if rs := c.ran("a"); len(rs) != 1 || rs[0].err != nil {
			t.Errorf("the tick ran %d times, want once", len(rs))
		}
		c.wantTally("a", "lost 1")
		c.wantLogged(1, "lease lost")
		c.wantLogged(1, "run finished", "outcome", "lost")
	})
}

// A grant that arrives when the grace of a drain is over starts nothing. The run is given back to
// the other nodes, which find it on their rota.
func TestGrantAfterTheGraceRunsElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Deadline: 30 * time.Second, Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Grace, cfg.CancelGrace, cfg.StoreTimeout = 2*time.Second, 10*time.Second, 20*time.Second
		}
		leaving, staying := c.start(), c.start()
		c.pass(30 * time.Second)
		leaving.wire.spoil(func(op string) fault {
			if op == "claim" {
				return fault{back: 6 * time.Second}
			}
			return fault{}
		})
		staying.wire.spoil(func(op string) fault {
			if op == "claim" || op == "peek" {
				return fault{there: 500 * time.Millisecond}
			}
			return fault{}
		})
		c.pass(30*time.Second + 100*time.Millisecond)
		if err := leaving.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		staying.wire.spoil(nil)
		c.pass(40 * time.Second)
		if rs := c.ran("a"); len(rs) != 1 || rs[0].node != staying || rs[0].began.Sub(rs[0].Tick) > 15*time.Second {
			t.Errorf("%d runs, the first on %s %v after its tick, want one on %s", len(rs), rs[0].Node, rs[0].began.Sub(rs[0].Tick), staying.ID())
		}
	})
}

// Every slot comes back: after bursts of short runs, failures and lost leases a node has as many as
// before, even if all of this happens at once.
func TestSlotsAfterFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		for i := range 40 {
			c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 30s", Takeover: scheduler.Takeover(i % 2), Lease: time.Second,
				Func: takes(time.Duration(i%4) * 500 * time.Millisecond)})
		}
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 7 }
		n := c.start()
		for range 20 {
			c.pass(29500 * time.Millisecond) // before the ticks
			c.wantFree(7)
			c.pass(500 * time.Millisecond)
		}
		n.partition()
		c.pass(45 * time.Second)
		n.heal()
		c.pass(20*time.Minute - 45*time.Second - 500*time.Millisecond)
		c.wantFree(7)
		c.wantAtOnceAnywhere(7)
	})
}

// A node with one slot takes over the run of a dead node before the tick that found it. The two
// share the slot, which is free again afterwards.
func TestOrphanWithOneSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Attempts: 100,
			Func: func(ctx context.Context, r *scheduler.Run) error { return takes(5*time.Second)(ctx, r) }})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
		for range 10 {
			dead := c.start()
			c.pass(time.Minute - time.Duration(time.Now().UnixMilli()%60_000)*time.Millisecond + time.Second)
			dead.kill()
			c.pass(57 * time.Second) // a second before the tick
			next := c.start()
			c.pass(2500 * time.Millisecond)
			if next.Free() < 0 || next.Free() > 1 {
				t.Errorf("%d slots free of one", next.Free())
			}
			c.pass(20 * time.Second)
			if next.Free() != 1 {
				t.Errorf("%d slots free after the takeover, want 1", next.Free())
			}
			next.kill()
		}
		c.wantAtOnceAnywhere(1)
	})
}

// Some shards find nothing to do: the tick is ok, and each shard has its own outcome.
func TestSkippedShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 2, scheduler.Job{Name: "rows", Spec: "@hourly", Shards: 3, Func: func(_ context.Context, r *scheduler.Run) error {
			if r.Shard > 0 {
				return scheduler.Skip("no rows")
			}
			return nil
		}})
		c.pass(time.Hour + 10*time.Second)
		if ls := c.logged("tick finished", "outcome", series.OutcomeOK, "ok", int64(3), "failed", int64(0)); len(ls) != 1 {
			t.Errorf("the log has %v", c.logged("tick finished"))
		}
		var outcomes []string
		for _, l := range c.journal("rows").Lines {
			shards, err := series.ReadSheet(l.Sheet, l.Fence, 0)
			for i := range shards {
				outcomes = append(outcomes, fmt.Sprint(shards[i].Outcome, " ", shards[i].OK, " ", err))
			}
		}
		if want := []string{"ok true <nil>", "skipped true <nil>", "skipped true <nil>"}; !slices.Equal(outcomes, want) {
			t.Errorf("the shards are %q, want %q", outcomes, want)
		}
	})
}
