package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// With one slot per node and many jobs due at once, ticks for which a node has no slot are left to
// the others or wait. All run, one at a time on each node.
func TestOneSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := crowded(t, 3, 30, time.Second)
		c.pass(30 * time.Minute)
		for _, j := range c.jobs {
			c.wantTally(j.Name, "ran ok 30")
		}
		c.wantAtOnceAnywhere(3)
		c.wantFree(1)
	})
}

// With more work than slots every tick still has a verdict, the node is never idle, and no slot is
// lost.
func TestTooMuchWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := crowded(t, 1, 10, 10*time.Second)
		c.slack = 2 * time.Minute
		c.pass(30 * time.Minute)
		ran := 0
		for _, j := range c.jobs {
			ran += len(c.ran(j.Name))
		}
		if ran < 175 {
			t.Errorf("%d runs of 10 s in half an hour, want the node busy all the time", ran)
		}
		c.wantAtOnceAnywhere(1)
		for _, j := range c.jobs {
			if n := len(c.ran(j.Name)); n < 14 {
				t.Errorf("%s ran %d times, want its turn", j.Name, n)
			}
		}
	})
}

// While one run has the only slot, the ticks of other jobs are recorded as missed when their
// deadline is over, not when the slot is free.
func TestDecidedWithoutASlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "long", Spec: "0 1 * * *", Func: takes(2 * time.Hour)}, scheduler.Job{Name: "a", Spec: "@every 1m", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
		c.start()
		c.pass(59*time.Minute + 30*time.Second)
		before := len(c.account("a").ticks)
		c.pass(time.Hour + 30*time.Second)
		if got := len(c.account("a").ticks) - before; got < 59 {
			t.Errorf("%d ticks of the hour have a verdict, want all but the last ones", got)
		}
		c.pass(time.Hour + 30*time.Second)
		if got := len(c.logged("tick missed", "job", "a", "reason", "deadline")); got < 118 || got > 119 {
			t.Errorf("%d ticks missed in two hours, want all but the first and the last", got)
		}
	})
}

// Slots come back after panics, lost leases, timeouts and lost replies.
func TestSlotsComeBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls atomic.Int64
		f := func(ctx context.Context, r *scheduler.Run) error {
			switch calls.Add(1) % 4 {
			case 0:
				panic(errBroken)
			case 1:
				return errBroken
			case 2:
				return takes(time.Minute)(ctx, r)
			}
			return nil
		}
		c := plan(t)
		for i := range 8 {
			c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 1m", Timeout: 5 * time.Second, Lease: time.Second,
				Misfire: scheduler.Misfire(i % 3), Takeover: scheduler.Takeover(i % 2), Overlap: scheduler.Overlap(i % 2 * 2), Func: f})
		}
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 2 }
		for i := range 3 {
			n := c.create(c.jobs...)
			n.wire.spoil(everyNth(5+i, fault{lost: lostReply}))
			n.run()
		}
		c.pass(20*time.Minute + 40*time.Second)
		c.nodes[0].partition()
		c.pass(5 * time.Minute)
		for _, n := range c.nodes {
			n.heal()
			n.wire.spoil(nil)
		}
		c.pass(5 * time.Minute)
		c.wantFree(2)
	})
}

// A tick that is claimed when an earlier run has just lost its lease waits for the takeover of that
// run. The two share one slot until both have their own.
func TestSlotsAfterOrphans(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		hangsOnFirst := func(ctx context.Context, r *scheduler.Run) error {
			if strings.HasPrefix(r.Node, "node0-") {
				<-ctx.Done()
			}
			return nil
		}
		const jobs = 50
		for i := range jobs { // their leases end throughout the five seconds between two ticks
			c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 5s", Lease: 10*time.Second + time.Duration(i)*97*time.Millisecond,
				Takeover: scheduler.TakeoverRerun, Func: hangsOnFirst})
		}
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = jobs }
		c.start()
		c.pass(7 * time.Second)
		second := c.start()
		c.pass(5 * time.Second)
		c.nodes[0].kill()
		c.pass(time.Minute + 2*time.Second)
		if free := second.Free(); free != jobs {
			t.Errorf("%d slots are free, want %d", free, jobs)
		}
	})
}

// A burst of short runs, whose ends are sent together, leaves all slots free.
func TestSlotsAfterABurst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		const jobs = 750
		for i := range jobs {
			c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 1m", Func: nothing})
		}
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 2 * jobs }
		c.start()
		c.pass(2*time.Minute + 30*time.Second)
		c.wantFree(2 * jobs)
	})
}

// crowded starts nodes with one slot each and many jobs that are due together.
func crowded(t *testing.T, nodes, jobs int, work time.Duration) *world {
	c := plan(t)
	for i := range jobs {
		c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 1m", Func: takes(work)})
	}
	c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
	for range nodes {
		c.start()
	}
	c.pass(50 * time.Second) // whole minutes from now on end when all work is done
	return c
}

// wantFree wants every node to have all its slots.
func (c *world) wantFree(want int) {
	c.t.Helper()
	for i, n := range c.nodes {
		if got := n.Free(); got != want {
			c.t.Errorf("node %d has %d free slots, want %d", i, got, want)
		}
	}
}

// wantAtOnceAnywhere bounds the runs of all jobs at any moment.
func (c *world) wantAtOnceAnywhere(want int) {
	c.t.Helper()
	var all []*run
	for _, j := range c.jobs {
		all = append(all, c.ran(j.Name)...)
	}
	if most := atOnce(all); most != want {
		c.t.Errorf("at most %d runs at once, want %d", most, want)
	}
}
