package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// A run that a drain interrupted starts again on another node within a second, however long its
// lease is.
func TestGivenBackRunsAtOnce(t *testing.T) {
	for name, nodes := range map[string]int{"one other": 2, "two others": 3, "many": 8, "a large fleet": 20} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 10 * time.Minute, Func: takes(7 * time.Minute)})
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = 3 * time.Second }
				for range nodes {
					c.start()
				}
				c.pass(time.Hour + 17*time.Second)
				for attempt := 2; attempt <= 3; attempt++ {
					leaving := c.holder("a")
					if err := leaving.drain(); err != nil {
						t.Errorf("drain: %v", err)
					}
					given := time.Now()
					c.pass(time.Second)
					r := c.running("a")
					if r == nil || r.Attempt != attempt {
						t.Fatalf("a second after it was given back runs %+v, want attempt %d", r, attempt)
					}
					t.Logf("attempt %d began %v after it was given back", attempt, r.began.Sub(given))
					c.start() // not earlier, because a node that starts reads the state of all jobs at once
					c.pass(20 * time.Second)
				}
			})
		})
	}
}

// A node does not look at its own runs, because no other node gives them back.
func TestOwnRunsAreNotLookedAt(t *testing.T) {
	for name, overlap := range map[string]scheduler.Overlap{"skip": scheduler.OverlapSkip, "queue": scheduler.OverlapQueue} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1m", Overlap: overlap, Deadline: time.Hour, Func: takes(10 * time.Minute)})
				c.pass(90 * time.Second)
				if n := c.counted(func() { c.pass(5 * time.Minute) }).peeks; n != 0 {
					t.Errorf("%d looks at the node's own run", n)
				}
			})
		})
	}
}
