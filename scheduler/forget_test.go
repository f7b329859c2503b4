package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// The store loses all data. The series are opened again with the highest mark that a node has seen,
// no tick runs twice, and the next ticks run.
func TestForgottenSeries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing},
			scheduler.Job{Name: "b", Spec: "@every 20s", Takeover: scheduler.TakeoverRerun, Func: takes(15 * time.Second)})
		c.strange = storeForgot
		for range 10 {
			c.pass(47300 * time.Millisecond) // alternately inside and outside of a run
			c.store.Forget()
		}
		c.pass(5 * time.Minute)
		if lines := len(c.logged("store forgot")); lines == 0 || lines > 30 { // a node whose rota comes before the tick logs nothing
			t.Errorf("three nodes logged ten losses %d times", lines)
		}
		ticks := map[time.Time]bool{}
		for _, r := range c.ran("a") {
			if ticks[r.Tick] {
				t.Errorf("%v ran twice", r.Tick)
			}
			ticks[r.Tick] = true
		}
		if all := 77; len(ticks) < all-10 {
			t.Errorf("%d of %d ticks ran, want all but those around the ten losses", len(ticks), all)
		}
		for _, r := range c.ran("b") {
			if r.began.After(start.Add(500*time.Second)) && r.err != nil {
				t.Errorf("%v ended with %v after the last loss", r.Tick, r.err)
			}
		}
	})
}

// A store that was emptied has lost the marks of all jobs. A node logs this once, not once for each
// job.
func TestEmptiedStoreIsLoggedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var jobs []scheduler.Job
		for i := range 40 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 5s", Func: nothing})
		}
		c := cluster(t, 1, jobs...)
		c.strange = storeForgot
		c.pass(62 * time.Second)
		c.store.Forget()
		c.pass(30 * time.Second)
		if lines := len(c.logged("store forgot")); lines != 1 {
			t.Errorf("logged %d times, want once", lines)
		}
	})
}

// A store has lost its data and its clock is behind. A node that has seen a mark opens the job no
// lower, so decided ticks stay decided, also for a new node that has seen no mark.
func TestStoreForgetsAndItsClockIsBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		c.strange = storeForgot
		c.pass(10 * time.Minute)
		c.store.Forget()
		c.step(-3 * time.Minute)
		c.pass(20 * time.Second)
		c.start()
		c.pass(15*time.Minute - 20*time.Second)
		ran := c.ran("a")
		for i, r := range ran[1:] {
			if !ran[i].Tick.Before(r.Tick) {
				t.Errorf("%v ran after %v", r.Tick, ran[i].Tick)
			}
		}
		if last := ran[len(ran)-1].Tick; last.Sub(start) < 21*time.Minute+50*time.Second {
			t.Errorf("the last tick that ran is %v", last)
		}
	})
}

// The store is reset to an older state, as by a failover that lost the last writes. Each node that
// has seen a newer state logs it once.
func TestStoreKnowsAnOlderMark(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		c.strange = storeForgot
		c.pass(10 * time.Minute)
		if lines := c.logged("store forgot"); len(lines) != 0 {
			t.Fatalf("it was logged %d times without a reason", len(lines))
		}
		c.store.Forget()
		c.step(-5 * time.Minute) // the clock is behind as well, so a job opened now has an older mark
		old := c.store.Open(t.Context(), []series.OpenRequest{{Key: "a", Node: "other"}})[0]
		c.step(5 * time.Minute)
		c.pass(2 * time.Minute)
		lines := c.logged("store forgot")
		if len(lines) != 1 || lines[0].keys["mark"] == lines[0].keys["seen"] || lines[0].keys["job"] != "a" {
			t.Errorf("of the mark %v the log has %v", time.UnixMilli(old.Mark).UTC(), lines)
		}
	})
}

// Each node logs once that another process of the store answers, even if it could not reach the
// store meanwhile. It logs neither that the list of nodes has moved between masters that remain,
// nor an additional master.
func TestStoreIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		c.restart("one")
		for range 3 {
			c.start()
		}
		c.pass(time.Minute)
		c.wantLogged(0, "store risk")
		c.restart("two")
		c.pass(time.Minute)
		c.wantLogged(3, "store risk", "topic", "restart")

		c.restart("two", "more")
		c.pass(time.Minute)
		c.restart("more", "two")
		c.pass(time.Minute)
		c.wantLogged(3, "store risk")

		c.nodes[0].partition()
		c.restart("three", "two")
		c.pass(30 * time.Second)
		c.nodes[0].heal()
		c.pass(time.Minute)
		c.wantLogged(6, "store risk")
		c.restart()
		c.pass(time.Minute)
		c.wantLogged(6, "store risk")
	})
}
