package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A node that has removed a job starts no run of it. The other nodes run each of its ticks, and no
// other job misses one. Once all nodes have removed it, none of its ticks runs. Add brings it back.
func TestRemove(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}
		b := scheduler.Job{Name: "b", Spec: "@every 10s", Func: nothing}
		c := cluster(t, 3, a, b)
		for i, n := range c.nodes {
			c.pass(3 * time.Minute)
			if err := n.Remove("a"); err != nil {
				t.Error(err)
			}
			if err := n.Remove("a"); err == nil || !strings.Contains(err.Error(), `names[0]: "a" is no job of this node`) {
				t.Errorf("removed twice: %v", err)
			}
			if names := jobNames(n); names != "b" {
				t.Errorf("node %d has the jobs %s", i, names)
			}
		}
		gone := c.now()
		c.pass(3 * time.Minute)
		for _, r := range c.ran("a") {
			for i, n := range c.nodes {
				if removed := start.Add(time.Duration(i+1) * 3 * time.Minute).Add(500 * time.Millisecond); r.node == n && r.Tick.After(removed) {
					t.Errorf("%v ran on node %d, which had removed the job", r.Tick.Sub(start), i)
				}
			}
		}
		if n := len(c.ran("a")); n != 54 {
			t.Errorf("%d ticks ran before the last node removed the job, want 54", n)
		}
		for _, n := range c.nodes {
			if err := n.Add(n.recording([]scheduler.Job{a})[0]); err != nil {
				t.Error(err)
			}
		}
		c.pass(3 * time.Minute)
		late := 0
		for _, r := range c.ran("a") {
			if r.Tick.After(gone) {
				late++
			}
		}
		if late < 18 {
			t.Errorf("%d ticks ran after the job was added again, want 18 at least", late)
		}
		c.wantTally("b", "ran ok 90")
	})
}

func jobNames(n *node) string {
	var names []string
	for _, j := range n.Jobs() {
		names = append(names, j.Name)
	}
	return strings.Join(names, " ")
}

// A run that is alive when its job is removed goes on to its end, with its lease.
func TestRemoveLetsRunsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: 3 * time.Second, Func: takes(50 * time.Second)})
		n := c.nodes[0]
		c.pass(time.Minute)
		if js := n.Jobs(); len(js) != 1 || js[0].Alive != 1 || !js[0].Open || js[0].Next != start.Add(2*time.Minute) || js[0].Mark != start.Add(time.Minute) {
			t.Errorf("the jobs are %+v", js)
		}
		if err := n.Remove("a"); err != nil {
			t.Error(err)
		}
		c.pass(50 * time.Second)
		c.jobs[0].Spec = "@every 1m"
		c.mixed = true // later ticks are left undecided
		c.wantTally("a", "ran ok 1")
	})
}

// A claim that is granted after its job was removed is given back as unstarted, and another node
// soon runs the tick.
func TestRemoveGivesBackWhatIsGranted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Func: nothing})
		leaving := c.start()
		c.pass(30 * time.Second)
		leaving.wire.spoil(func(op string) fault {
			if op == "claim" {
				return fault{back: time.Second}
			}
			return fault{}
		})
		c.pass(30*time.Second + 200*time.Millisecond) // the claim of the first tick is granted, and its answer is on its way
		if err := leaving.Remove("a"); err != nil {
			t.Error(err)
		}
		other := c.start()
		c.pass(20 * time.Second)
		ran := c.ran("a")
		if len(ran) != 1 || ran[0].node != other || ran[0].Attempt != 1 || !ran[0].Tick.Equal(start.Add(time.Minute)) {
			t.Errorf("ran %v, want the first tick on the other node, as its first attempt", ran)
		}
	})
}

// A job of which only the function changed is not opened anew; the next tick calls the new
// function. A run that is alive continues with its own.
func TestReplaceFunction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var before, since atomic.Int32
		counting := func(calls *atomic.Int32, d time.Duration) scheduler.Func {
			return func(ctx context.Context, r *scheduler.Run) error {
				err := takes(d)(ctx, r)
				calls.Add(1)
				return err
			}
		}
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Func: counting(&before, 5*time.Second)})
		n := c.nodes[0]
		c.pass(32 * time.Second) // the third run is alive
		err := n.Replace(n.recording([]scheduler.Job{{Name: "a", Spec: "@every 10s", Func: counting(&since, time.Second)}})...)
		c.pass(30 * time.Second)
		if err != nil || before.Load() != 3 || since.Load() != 3 {
			t.Errorf("%v, %d calls of the function before and %d since, want 3 of each", err, before.Load(), since.Load())
		}
		c.wantTally("a", "ran ok 6")
	})
}

// A changed policy applies from the next tick on. A run that is alive keeps its own policy, here
// its timeout. No tick is left out, or decided twice.
func TestReplacePolicy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		job := scheduler.Job{Name: "a", Spec: "@every 10s", Timeout: 4 * time.Second, Jitter: time.Second, Func: takes(5 * time.Second)}
		c := cluster(t, 2, job)
		for i := range 6 { // a change at each stage of a tick
			job.Timeout, job.Jitter = time.Duration(7+i)*time.Second, time.Duration(i%3)*time.Second
			c.pass(20*time.Second + time.Duration(i)*217*time.Millisecond)
			for _, n := range c.nodes {
				if err := n.Replace(n.recording([]scheduler.Job{job})...); err != nil {
					t.Error(err)
				}
			}
		}
		c.pass(30 * time.Second)
		c.jobs[0].Jitter = 0 // several ticks had one
		ran := c.ran("a")
		for _, r := range ran {
			if r.Attempt != 1 {
				t.Errorf("%v ran again", r.Tick)
			}
		}
		if want := int(c.now().Add(-2*time.Second).Sub(start) / (10 * time.Second)); len(ran) != want {
			t.Errorf("%d ticks ran, want %d", len(ran), want)
		}
	})
}

// A changed spec has the same effect as in a deploy: each tick of both specs has a verdict, none
// runs twice, and verify and why agree. The spec may come back.
func TestReplaceSpec(t *testing.T) {
	for _, at := range []time.Duration{0, 199 * time.Millisecond, time.Second, 7 * time.Second, 59*time.Second + 990*time.Millisecond} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				job := scheduler.Job{Name: "a", Spec: "* * * * *", Func: nothing}
				c := cluster(t, 3, job)
				c.mixed = true
				for _, spec := range []string{"*/20 * * * * *", "0 3 * * *", "* * * * *", "CRON_TZ=Asia/Tokyo * * * * *"} {
					c.pass(5*time.Minute + at)
					job.Spec = spec
					for _, n := range c.nodes {
						if err := n.Replace(n.recording([]scheduler.Job{job})...); err != nil {
							t.Error(err)
						}
						c.pass(at / 7)
					}
				}
				c.pass(5 * time.Minute)
				ran := map[time.Time]int{}
				for _, r := range c.ran("a") {
					if ran[r.Tick]++; ran[r.Tick] > 1 {
						t.Errorf("%v ran %d times", r.Tick, ran[r.Tick])
					}
				}
				for m := 1; m <= 9; m++ { // the first two specs both have ticks at these minutes
					if tick := start.Add(time.Duration(m) * time.Minute); ran[tick] != 1 {
						t.Errorf("%v ran %d times", tick, ran[tick])
					}
				}
				c.report("a")
			})
		})
	}
}

// A change is made completely or not at all, and its error joins every fault.
func TestChangeIsOneStep(t *testing.T) {
	t.Parallel()
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{{Name: "a", Spec: "@daily", Func: nothing}}})
	if err != nil {
		t.Fatal(err)
	}
	good := scheduler.Job{Name: "b", Spec: "@daily", Func: nothing}
	for want, err := range map[string]error{
		`add: jobs[1].name: "a" is taken by another job` + "\n" + `jobs[2].name: "b" is taken by another job`: n.Add(good, scheduler.Job{Name: "a", Spec: "@daily", Func: nothing}, good),
		`replace: jobs[1].name: "b" is no job of this node`:                                                   n.Replace(scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing}, good),
		`replace: jobs[0].func: is nil, a function is needed`:                                                 n.Replace(scheduler.Job{Name: "a", Spec: "@hourly"}),
		`remove: names[1]: "b" is no job of this node` + "\n" + `names[2]: "a" was given twice`:               n.Remove("a", "b", "a"),
	} {
		if err == nil || err.Error() != "scheduler: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if js := n.Jobs(); len(js) != 1 || js[0].Name != "a" || js[0].Spec != "@daily" {
		t.Errorf("a step that was refused left %+v", js)
	}
	for range 3 { // numbers are reused
		if err := errors.Join(n.Add(good), n.Remove("a", "b"), n.Add(scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing})); err != nil {
			t.Error(err)
		}
	}
	if js := n.Jobs(); len(js) != 1 || js[0].Name != "a" || js[0].Spec != "@hourly" {
		t.Errorf("the jobs are %+v", js)
	}
}

// Run opens the jobs that result from the changes before Run.
func TestChangeBeforeRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		n := c.create(scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing}, scheduler.Job{Name: "b", Spec: "@every 10s", Func: nothing})
		if err := errors.Join(n.Remove("b"), n.Replace(n.recording(c.jobs)...)); err != nil {
			t.Error(err)
		}
		n.run()
		c.pass(time.Minute + time.Second)
		c.wantTally("a", "ran ok 6")
		if s := c.store.ReadSeries(t.Context(), []string{"b"})[0]; s.Mark != 0 {
			t.Error("the removed job was opened")
		}
	})
}

// A job that cannot be opened is forgotten when it is removed: no remark remains, and no further
// request for it goes to the store.
func TestRemoveUnopened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		n := c.create(scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing}, scheduler.Job{Name: "b", Spec: "@every 10s", Func: nothing})
		n.wire.spoilKeys("b")
		n.run()
		c.pass(10 * time.Second)
		if rs := n.Remarks(); len(rs) != 1 || !strings.Contains(rs[0], "cannot be opened") {
			t.Fatalf("remarks %q", rs)
		}
		if err := n.Remove("b"); err != nil {
			t.Error(err)
		}
		if rs := n.Remarks(); len(rs) != 0 {
			t.Errorf("remarks after the removal: %q", rs)
		}
		n.wire.spoilKeys()
		removed := c.now().UnixMilli()
		c.pass(30 * time.Minute)
		for _, use := range c.journal("b").Revisions {
			if use.Last > removed {
				t.Error("the removed job was opened")
			}
		}
	})
}

// A node that drains, or has ended, refuses each change.
func TestChangeTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(5 * time.Second)})
		c.pass(time.Hour)
		n := c.nodes[0]
		late := func() {
			t.Helper()
			job := scheduler.Job{Name: "a", Spec: "@hourly", Func: nothing}
			if n.Replace(job) == nil || n.Remove("a") == nil {
				t.Error("a job was replaced or removed")
			}
		}
		n.stop()
		synctest.Wait()
		late()
		<-n.ended
		late()
	})
}

// A spec that comes back through Replace runs no tick of the time in which another one was in
// force.
func TestReplaceComesBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		job := scheduler.Job{Name: "a", Spec: "0 9 * * *", Deadline: 12 * time.Hour, Func: nothing}
		c := cluster(t, 1, job)
		c.mixed = true
		for _, change := range []struct {
			after time.Duration
			spec  string
		}{{8 * time.Hour, "0 18 * * *"}, {4 * time.Hour, "0 9 * * *"}} {
			c.pass(change.after)
			job.Spec = change.spec
			if err := c.nodes[0].Replace(c.nodes[0].recording([]scheduler.Job{job})...); err != nil {
				t.Error(err)
			}
		}
		c.pass(22 * time.Hour)
		if ran := c.whatRan("a"); ran != "33h0m0s+0s" {
			t.Errorf("ran %s, want 09:00 of the second day alone", ran)
		}
		c.report("a")
	})
}

// A tick that waits for a slot when its job gets another spec no longer runs.
func TestReplaceWhileATickWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "busy", Spec: "30 0 * * *", Func: takes(20 * time.Minute)}, scheduler.Job{Name: "a", Spec: "40 0 * * *", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
		c.mixed = true
		n := c.start()
		c.pass(45 * time.Minute)
		if err := n.Replace(n.recording([]scheduler.Job{{Name: "a", Spec: "0 1 * * *", Func: nothing}})...); err != nil {
			t.Error(err)
		}
		c.pass(time.Hour)
		if ran := c.whatRan("a"); ran != "1h0m0s+0s" {
			t.Errorf("ran %s, want 1:00 alone", ran)
		}
		c.report("a")
	})
}

// Held are the jobs of a node since an instant.
type held struct {
	since time.Time
	jobs  []scheduler.Job
}

// holds returns the jobs that the node had at an instant of its life.
func (n *node) holds(at time.Time) (jobs []scheduler.Job) {
	for _, h := range n.held {
		if !h.since.After(at) {
			jobs = h.jobs
		}
	}
	return jobs
}

// change makes a node that runs have other jobs.
func (n *node) change(jobs []scheduler.Job) error {
	at := func(all []scheduler.Job, name string) int {
		return slices.IndexFunc(all, func(j scheduler.Job) bool { return j.Name == name })
	}
	old, gone := n.holds(time.Now()), []string{}
	for _, j := range old {
		if at(jobs, j.Name) < 0 {
			gone = append(gone, j.Name)
		}
	}
	var added, replaced []scheduler.Job
	for _, j := range n.recording(jobs) {
		switch i := at(old, j.Name); {
		case i < 0:
			added = append(added, j)
		case old[i].Spec != j.Spec || old[i].Shards != j.Shards:
			replaced = append(replaced, j)
		}
	}
	n.held = append(n.held, held{time.Now(), jobs})
	var faults [3]error
	if len(gone) > 0 {
		faults[0] = n.Remove(gone...)
	}
	if len(replaced) > 0 {
		faults[1] = n.Replace(replaced...)
	}
	if len(added) > 0 {
		faults[2] = n.Add(added...)
	}
	return errors.Join(faults[:]...)
}
