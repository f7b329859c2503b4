package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// backfills requests the work of ticks again, and returns the first run's instant. Without ticks it ends
// the backfill of the job.
func (c *world) backfills(job string, room time.Duration, ticks ...time.Time) time.Time {
	c.t.Helper()
	request := series.Control{Key: job, Action: series.ActionBackfill, Op: c.now().Format(time.RFC3339Nano), Who: "ann", Reason: "the data was wrong",
		Room: room.Milliseconds(), Seen: series.AnySeen}
	for _, at := range ticks {
		request.Numbers = append(request.Numbers, at.UnixMilli())
	}
	a := c.store.Control(c.t.Context(), request)
	if !a.Made {
		c.t.Fatalf("the backfill of %s is answered %+v", job, a)
	}
	return at(a.Number)
}

// decided returns the last n ticks of a job that runs each d, up to now.
func (c *world) decided(n int, d time.Duration) (ticks []time.Time) {
	last := c.now().UTC().Truncate(d)
	for i := range n {
		ticks = append(ticks, last.Add(-time.Duration(n-1-i)*d))
	}
	return ticks
}

// filled returns the runs of a job for a backfill, and the number of its other runs.
func (c *world) filled(job string) (backfill []*run, ticks int) {
	for _, r := range c.ran(job) {
		if !r.Backfill {
			ticks++
			continue
		}
		backfill = append(backfill, r)
	}
	return backfill, ticks
}

const every5 = 5 * time.Second

// Each tick of a backfill gets one run, in order, between the ticks of the spec, which all run in time.
func TestBackfill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 5s", Func: takes(time.Second)})
		c.pass(2 * time.Minute)
		want := c.decided(20, every5)
		first := c.backfills("a", time.Second, want...)
		c.pass(time.Minute + 2*time.Second)
		runs, ticks := c.filled("a")
		if len(runs) != len(want) {
			t.Fatalf("%d runs of the backfill, want %d", len(runs), len(want))
		}
		for i, r := range runs {
			if !r.Tick.Equal(want[i]) || !r.Manual() || r.number()%1000 == 0 || i == 0 && !at(r.number()).Equal(first) {
				t.Errorf("run %d is %+v, want one of %v", i, r, want[i])
			}
		}
		if wanted := int((3*time.Minute + 2500*time.Millisecond) / every5); ticks != wanted {
			t.Errorf("%d ticks ran beside the backfill, want %d", ticks, wanted)
		}
		for _, r := range c.ran("a") {
			if late := r.shown.Sub(r.Tick); !r.Backfill && late > 100*time.Millisecond {
				t.Errorf("the tick %v ran %v late", r.Tick, late)
			}
		}
		c.wantAtOnce("a", 1)
		c.wantTally("a", "ran ok 56")
		for _, message := range []string{"run started", "run finished"} {
			c.wantLogged(1, message, "tick", first.Format("2006-01-02T15:04:05.000Z"), "for", want[0].Format("2006-01-02T15:04:05.000Z"))
		}
		for _, kind := range []scheduler.EventKind{scheduler.EventRunStarted, scheduler.EventRunFinished} {
			var worked []time.Time
			for _, n := range c.nodes {
				for _, e := range n.observed(kind) {
					if !e.For.IsZero() {
						worked = append(worked, e.For)
					}
				}
			}
			slices.SortFunc(worked, time.Time.Compare)
			if !slices.Equal(worked, want) {
				t.Errorf("the events %q are of runs for %v, want %v", kind, worked, want)
			}
		}
	})
}

// No run of a backfill starts where the time up to the next tick is shorter than its room, and the nodes ask
// for it a few times for each tick.
func TestBackfillWithoutRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 5s", Func: takes(3 * time.Second)})
		c.pass(2 * time.Minute)
		c.backfills("a", 3*time.Second, c.decided(20, every5)...)
		c.pass(time.Minute)
		sent := c.counted(func() { c.pass(10 * time.Minute) })
		if runs, ticks := c.filled("a"); len(runs) != 0 || ticks != 156 {
			t.Errorf("%d runs of the backfill and %d of ticks, want 0 and 156", len(runs), ticks)
		}
		if sent.claims > 120*3*4 {
			t.Errorf("%d claims for 120 ticks on 3 nodes", sent.claims)
		}
		c.backfills("a", 0)
	})
}

// A run of a backfill whose node dies is taken over for the same tick.
func TestBackfillOfADeadNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = 6 * time.Second
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Lease: lease, Takeover: scheduler.TakeoverRerun, Func: takes(time.Minute)})
		c.pass(150 * time.Minute)
		want := c.decided(2, time.Hour)
		c.backfills("a", time.Minute, want...)
		c.pass(15 * time.Second)
		first := c.running("a")
		c.holder("a").kill()
		c.pass(lease + 2*time.Second)
		r := c.running("a")
		if !r.Tick.Equal(want[0]) || !r.Backfill || r.Attempt != 2 || r.Fence <= first.Fence || r.ID != first.ID {
			t.Errorf("the run is %+v, want attempt 2 of %+v", r, first)
		}
		c.pass(3 * time.Minute)
		if runs, _ := c.filled("a"); len(runs) != 3 || !runs[2].Tick.Equal(want[1]) || !runs[2].over.After(runs[2].began) {
			t.Errorf("the runs are %+v, want the second tick after both attempts of the first", runs)
		}
		c.wantAtOnce("a", 1)
	})
}

// A pause and the end of a backfill leave the run that is alive, and start no other one.
func TestBackfillEnds(t *testing.T) {
	for name, end := range map[string]func(c *world){
		"pause": func(c *world) {
			pause := series.Control{Key: "a", Action: series.ActionPause, Op: "pause", Who: "ann", Reason: "not now", Seen: series.AnySeen}
			if a := c.store.Control(c.t.Context(), pause); !a.Made {
				c.t.Fatalf("the pause is answered %+v", a)
			}
		},
		"stop": func(c *world) { c.backfills("a", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(time.Minute)})
				c.pass(250 * time.Minute)
				want := c.decided(3, time.Hour)
				c.backfills("a", time.Minute, want...)
				c.pass(15 * time.Second)
				end(c)
				c.pass(30 * time.Minute)
				if runs, _ := c.filled("a"); len(runs) != 1 || runs[0].err != nil || !runs[0].Tick.Equal(want[0]) || runs[0].over.Sub(runs[0].began) != time.Minute {
					t.Errorf("the runs are %+v, want the whole one of %v", runs, want[0])
				}
			})
		})
	}
}

// A tick that fell due while no node was there goes before the run of a backfill that waits.
func TestBackfillAfterAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 20s", Deadline: 3 * time.Second, Func: takes(4 * time.Second)})
		c.pass(2*time.Minute + 6*time.Second)
		c.backfills("a", 15*time.Second, c.decided(1, 20*time.Second)...)
		c.pass(time.Second)
		c.nodes[0].stop()
		due := c.now().UTC().Truncate(20 * time.Second).Add(20 * time.Second)
		c.pass(due.Sub(c.now()) + 500*time.Millisecond)
		c.start()
		c.pass(time.Minute)
		if runs, _ := c.filled("a"); len(runs) != 1 {
			t.Errorf("%d runs of the backfill, want 1", len(runs))
		}
		if v := c.account("a").ticks[due.UnixMilli()]; v != "ran ok" {
			t.Errorf("the verdict of the tick that was due is %q, want ran ok", v)
		}
		c.wantAtOnce("a", 1)
	})
}
