package scheduler_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A day of ticks on three nodes, or a week if CRONCE_SOAK is set: each runs once, and each node has
// its share.
func TestWeek(t *testing.T) {
	days := 1
	if os.Getenv("CRONCE_SOAK") != "" {
		days = 7
	}
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing})
		c.pass(time.Duration(days) * 24 * time.Hour)
		c.wantTally("a", fmt.Sprintf("ran ok %d", days*24*60))
		c.wantShares("a")
		c.wantLogged(0, "clock offset")
	})
}

// A node whose clock is wrong logs a warning, and nothing else changes: each tick runs once, none
// early, with equal shares.
func TestWrongClock(t *testing.T) {
	for _, offset := range []time.Duration{30 * time.Second, -30 * time.Second, 24 * time.Hour, -24 * time.Hour} {
		t.Run(offset.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing},
					scheduler.Job{Name: "b", Spec: "@every 7m", Func: nothing})
				c.setup = func(i int, cfg *scheduler.Config) {
					if i == 1 {
						cfg.ClockOffset = offset
					}
				}
				for range 3 {
					c.start()
				}
				c.pass(4*time.Hour + time.Second)
				c.wantTally("a", "ran ok 240")
				c.wantTally("b", "ran ok 34")
				c.wantShares("a")
				c.wantLogged(1, "clock offset")
				c.wantLogged(1, "clock offset", "node", c.nodes[1].ID(), "offset_ms", float64(offset.Milliseconds()))
			})
		})
	}
}

// With the default settings, half a second is no reason to warn.
func TestClockWarnDefault(t *testing.T) {
	for offset, want := range map[time.Duration]int{400 * time.Millisecond: 0, -400 * time.Millisecond: 0, 600 * time.Millisecond: 1, -600 * time.Millisecond: 1} {
		t.Run(offset.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing})
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.ClockOffset = offset }
				c.start()
				c.pass(10 * time.Minute)
				c.wantLogged(want, "clock offset")
			})
		})
	}
}

// Nodes that start at different moments compute the same instants of @every: one run per period,
// not one per node.
func TestEveryIsAligned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		c.pass(3300 * time.Millisecond)
		c.start()
		c.pass(4100 * time.Millisecond)
		c.start()
		c.pass(time.Hour - 7900*time.Millisecond + 500*time.Millisecond)
		c.wantTally("a", "ran ok 360")
		for _, r := range c.ran("a") {
			if r.Tick.Unix()%10 != 0 || r.began.Sub(r.Tick) > 100*time.Millisecond {
				t.Errorf("ran %v at %v, want each 10 s since 1970", r.Tick, r.began)
			}
		}
	})
}

// wantShares wants each node to have run its share of a job, give or take half.
func (c *world) wantShares(job string) {
	c.t.Helper()
	counts := map[*node]int{}
	all := c.ran(job)
	for _, r := range all {
		counts[r.node]++
	}
	share := len(all) / len(c.nodes)
	for i, n := range c.nodes {
		if got := counts[n]; got < share/2 || got > share*3/2 {
			c.t.Errorf("node %d had %d of %d runs of %s: %s", i, got, len(all), job, fmt.Sprint(counts))
		}
	}
}
