package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Skip: while a run is alive the ticks are skipped, and each skip is logged once.
func TestOverlapSkip(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Func: takes(25 * time.Second)})
		c.pass(20 * time.Minute)
		c.wantTally("a", "ran 1, ran ok 39, skipped overlap 80")
		c.wantLogged(80, "tick skipped", "reason", "overlap")
		c.wantAtOnce("a", 1)
	})
}

// Queue: the latest tick that became due meanwhile runs when the run ends; earlier ones are
// superseded.
func TestOverlapQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Overlap: scheduler.OverlapQueue, Func: takes(24 * time.Second)})
		c.pass(20 * time.Minute)
		rs := c.ran("a")
		for i, r := range rs[1:] {
			before := rs[i]
			if latest := before.over.Truncate(10 * time.Second); !r.Tick.Equal(latest) {
				t.Errorf("after the run that ended at %v came %v, want the latest tick that waited, %v", before.over, r.Tick, latest)
			}
		}
		c.wantIdle(rs, 100*time.Millisecond)
		if len(rs) < 49 || len(rs) > 51 {
			t.Errorf("%d runs of 24 s in 20 minutes, want 50 one after the other", len(rs))
		}
		superseded := 120 - len(rs)
		if got := len(c.logged("tick skipped", "reason", "superseded")); got < superseded-1 || got > superseded {
			t.Errorf("%d ticks logged as superseded, want %d", got, superseded)
		}
		c.wantAtOnce("a", 1)
	})
}

// A run ends while its node waits for the answer to a look at the tick that waits for that run. The
// answer is a refusal from before the end, and there is no other notice of the end: the tick still
// runs.
func TestOverlapQueueAnsweredSlowly(t *testing.T) {
	for name, lease := range map[string]time.Duration{"first look": 30 * time.Second, "later look": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const slow = time.Second
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Overlap: scheduler.OverlapQueue, Lease: lease, Func: takes(24100 * time.Millisecond)})
				c.answeredAfter(slow)
				c.pass(time.Hour) // runs end at any time after a tick
				c.wantIdle(c.ran("a"), 2*slow+100*time.Millisecond)
				c.wantAtOnce("a", 1)
			})
		})
	}
}

// Allow: every tick runs, at the same time as earlier ones.
func TestOverlapAllow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Overlap: scheduler.OverlapAllow, Func: takes(25 * time.Second)})
		c.pass(20 * time.Minute)
		c.wantTally("a", "ran 3, ran ok 117")
		c.wantAtOnce("a", 3)
	})
}

// Replace: a run is notified that a newer tick waits, at once by its own node or by its next
// renewal, and the newer tick runs when it has ended.
func TestOverlapReplace(t *testing.T) {
	const lease = 3700 * time.Millisecond
	for nodes, within := range map[int]time.Duration{1: 50 * time.Millisecond, 3: lease/3 + 50*time.Millisecond} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, nodes, scheduler.Job{Name: "a", Spec: "@every 10s", Overlap: scheduler.OverlapReplace, Lease: lease, Func: takes(25 * time.Second)},
					scheduler.Job{Name: "b", Spec: "@every 5m", Func: takes(4 * time.Minute)})
				c.pass(20*time.Minute + 2*time.Second)
				c.wantTally("a", "ran 1, ran replaced 119")
				c.wantTally("b", "ran 1, ran ok 3")
				rs := c.ran("a")
				for i, r := range rs[:len(rs)-1] {
					newer := rs[i+1]
					switch after := r.contextEnd.Sub(newer.Tick); {
					case !errors.Is(r.cause, scheduler.ErrReplaced):
						t.Errorf("the run of %v ended with %v, want ErrReplaced", r.Tick, r.cause)
					case after < 0 || after > within:
						t.Errorf("of %d nodes, the context of the run of %v ended %v after the newer tick", nodes, r.Tick, after)
					}
					if wait := newer.began.Sub(r.over); wait > 100*time.Millisecond {
						t.Errorf("%v waited %v for nobody", newer.Tick, wait)
					}
				}
				c.wantLogged(119, "run finished", "outcome", "replaced")
				c.wantAtOnce("a", 1)
			})
		})
	}
}

// A run that ignores that it was replaced is named after the grace and loses its lease. Then the
// newer tick runs, although the function continues.
func TestReplacedRunIgnoresItsContext(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		lease time.Duration
		most  time.Duration // the grace of 4 s and what is left of the lease
	}{
		"on another node": {3, 3 * time.Second, 10 * time.Second},
		"on its own node": {1, 30 * time.Second, 36 * time.Second}, // not only at the next renewal
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Overlap: scheduler.OverlapReplace, Lease: test.lease, Func: ignores(100 * time.Second)})
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.CancelGrace = 4 * time.Second }
				for range test.nodes {
					c.start()
				}
				c.pass(10*time.Minute + 40*time.Second)
				rs := c.ran("a")
				if len(rs) != 10 {
					t.Fatalf("%d runs in ten minutes, want one a minute", len(rs))
				}
				for i, r := range rs[1:] {
					if late := r.began.Sub(r.Tick); late < 4*time.Second || late > test.most {
						t.Errorf("%v began %v late, want the grace of 4 s and what is left of the lease", r.Tick, late)
					}
					c.wantLogged(1, "run ignores its context", "tick", stamp(rs[i].Tick))
				}
				c.wantLogged(9, "run ignores its context")
			})
		})
	}
}

// answeredAfter delays the answers to claims.
func (c *world) answeredAfter(slow time.Duration) { c.claimsTake(fault{back: slow}) }

// wantIdle wants each run to begin at most this long after the end of the previous one.
func (c *world) wantIdle(rs []*run, most time.Duration) {
	c.t.Helper()
	for i, r := range rs[1:] {
		if idle := r.began.Sub(rs[i].over); idle > most {
			c.t.Errorf("%v waited %v after the run before it had ended", r.Tick, idle)
		}
	}
}

// wantAtOnce checks the greatest number of simultaneous runs of a job.
func (c *world) wantAtOnce(job string, want int) {
	c.t.Helper()
	if most := atOnce(c.ran(job)); most != want {
		c.t.Errorf("at most %d runs of %s at once, want %d", most, job, want)
	}
}

// atOnce returns the greatest number of simultaneous runs.
func atOnce(rs []*run) (most int) {
	for _, r := range rs {
		now := 0
		for _, o := range rs {
			if !o.began.After(r.began) && (o.over.IsZero() || o.over.After(r.began)) {
				now++
			}
		}
		most = max(most, now)
	}
	return most
}

// stamp formats an instant as the logs do.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
