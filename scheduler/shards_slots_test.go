package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// With fewer slots than shards the nodes take the shards one after another, as slots become free.
func TestShardsWithFewSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 20})
		c.setup = func(cfg *scheduler.Config) { cfg.Concurrency = 2 }
		c.work = takes(2 * time.Second)
		for range 3 {
			c.start()
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		c.end()
		c.wantOnce(5, 20)
		if c.most != 6 {
			t.Errorf("%d shards ran at once, want 6", c.most)
		}
		for i, r := range c.runs {
			if late := c.starts[i].Sub(r.Tick); late > 15*time.Second {
				t.Errorf("%s started %v late, with room for all in 8 s", r.ID, late)
			}
		}
	})
}

// A tick has more shards than the nodes have slots, and they take longer than the interval. The ticks that come due before the last
// shard has started are decided by their overlap all the same, and none waits for that start.
func TestTicksDuringMoreShardsThanSlots(t *testing.T) {
	for _, c := range []struct {
		overlap     scheduler.Overlap
		least, most int // ticks that begin in ten minutes
	}{{scheduler.OverlapSkip, 3, 4}, {scheduler.OverlapQueue, 3, 4}, {scheduler.OverlapReplace, 6, 10}} { // the tick that replaces needs a slot, too
		t.Run(fmt.Sprint(c.overlap), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := share(t, scheduler.Job{Spec: "@every 1m", Shards: 20, Overlap: c.overlap})
				s.setup = func(cfg *scheduler.Config) { cfg.Concurrency = 2 }
				s.work = takes(40 * time.Second) // of ten pairs on two nodes: 200 s
				s.start()
				s.start()
				for range 600 {
					time.Sleep(time.Second)
					if is := s.store.ReadSeries(t.Context(), []string{"rows"})[0]; is.Now-is.Mark > 122_000 {
						t.Errorf("at %v no tick after %v is decided", at(is.Now), at(is.Mark))
						break
					}
				}
				s.end()
				ticks := map[time.Time]bool{}
				for _, r := range s.runs {
					ticks[r.Tick] = true
				}
				if len(ticks) < c.least || len(ticks) > c.most {
					t.Errorf("%d ticks began in ten minutes, want %d to %d", len(ticks), c.least, c.most)
				}
			})
		})
	}
}

// A node without a free slot at two ticks of a broadcast starts its run of the first one as soon as it has a slot: that tick keeps the
// later ones from all nodes until then.
func TestBroadcastWaitsForASlotOverTwoTicks(t *testing.T) {
	for _, overlap := range []scheduler.Overlap{scheduler.OverlapSkip, scheduler.OverlapQueue} {
		t.Run(fmt.Sprint(overlap), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := share(t, scheduler.Job{Spec: "@every 5s", Broadcast: true, Overlap: overlap, Deadline: time.Minute})
				busy := scheduler.Job{Name: "busy", Spec: fmt.Sprintf("@at %s", time.Now().UTC().Add(36*time.Second).Format(time.RFC3339)), Func: takes(10*time.Second + 500*time.Millisecond)}
				c.setup = func(cfg *scheduler.Config) { cfg.Concurrency = 1 }
				c.start()
				c.start()
				c.setup = func(cfg *scheduler.Config) { cfg.Concurrency, cfg.Jobs = 1, append(cfg.Jobs, busy) }
				c.start()
				time.Sleep(49 * time.Second)
				c.end()
				first := time.Now().Truncate(5 * time.Second).Add(-5 * time.Second)
				if got := c.on(first); len(got) != 3 {
					t.Errorf("the tick %v ran on %v, want on three nodes", first, got)
				}
			})
		})
	}
}

// A node that has no free slot for many ticks of a broadcast reads its state no more often than the turns do: without a slot it could
// start nothing that it reads.
func TestNodeWithoutASlotReadsNoBroadcast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		busy := scheduler.Job{Name: "busy", Spec: fmt.Sprintf("@at %s", time.Now().UTC().Add(5*time.Second).Format(time.RFC3339)), Func: takes(5 * time.Minute)}
		c := cluster(t, 2, scheduler.Job{Name: "rows", Spec: "@every 1s", Broadcast: true, Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
		c.jobs = append(c.jobs, busy)
		c.start()
		c.pass(30 * time.Second)
		if sent := c.counted(func() { c.pass(time.Minute) }); sent.claims < 120 || sent.opens > 20 {
			t.Errorf("three nodes sent %d claims and opened jobs %d times in a minute, want at most 20 times: of the turns", sent.claims, sent.opens)
		}
	})
}

// A node always has more claims than slots. Its claim of a broadcast keeps its turn: the list of nodes was read for it while it waited.
func TestBroadcastOnABusyNode(t *testing.T) {
	for overlap, least := range map[scheduler.Overlap]int{scheduler.OverlapSkip: 15, scheduler.OverlapQueue: 15, scheduler.OverlapReplace: 20} {
		t.Run(fmt.Sprint(overlap), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 2, scheduler.Job{Name: "rows", Spec: "@every 5s", Broadcast: true, Overlap: overlap, Deadline: time.Minute, Func: takes(500 * time.Millisecond)})
				c.slack = time.Minute
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
				for i := range 3 {
					c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("other", i), Spec: "@every 4s", Func: takes(3 * time.Second)})
				}
				busy, ran := c.start(), 0
				c.pass(5*time.Minute + 30*time.Second)
				for _, r := range c.ran("rows") {
					if r.node == busy {
						ran++
					}
				}
				if ran < least {
					t.Errorf("the node ran %d ticks in five minutes, want at least %d", ran, least)
				}
			})
		})
	}
}
