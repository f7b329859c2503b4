package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A gauge counts the calls of functions that go on at once.
type gauge struct{ now, most atomic.Int64 }

// in returns a function that f counts.
func (g *gauge) in(f scheduler.Func) scheduler.Func {
	return func(ctx context.Context, r *scheduler.Run) error {
		now := g.now.Add(1)
		defer g.now.Add(-1)
		for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
		}
		return f(ctx, r)
	}
}

// holders returns the notes of the places of a limit, in the order of their grants.
func (c *world) holders(limit string) (notes []string) {
	all, err := lock.New(c.store, "").Holders(context.Background(), scheduler.Limit{Name: limit}.Key())
	if err != nil {
		c.t.Error(err)
	}
	for _, h := range all {
		notes = append(notes, h.Note)
	}
	return notes
}

// Five jobs on three nodes share two places. No more than two of their functions go on at once, all
// ticks run, and a job without the limit does not wait.
func TestLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var g gauge
		jobs := []scheduler.Job{{Name: "free", Spec: "@every 20s", Func: takes(19 * time.Second)}}
		for i := range 5 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@every 20s", Limit: scheduler.Limit{Name: "reports", Of: 2}, Func: g.in(takes(6 * time.Second))})
		}
		c := cluster(t, 3, jobs...)
		c.pass(5*time.Minute - time.Second)
		if g.most.Load() != 2 {
			t.Errorf("%d functions went on at once, want 2", g.most.Load())
		}
		for _, j := range jobs {
			c.wantTally(j.Name, "ran ok 14")
		}
		if left := c.holders("reports"); len(left) > 0 {
			t.Errorf("%q hold places after all runs", left)
		}
	})
}

// Each shard of a tick has a place of its own, whose note names it.
func TestLimitOfShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 10, Limit: scheduler.Limit{Name: "reports", Of: 3}})
		c.work = takes(5 * time.Second)
		for range 2 {
			c.start()
		}
		time.Sleep(time.Minute + 2*time.Second)
		all, err := c.store.Holders(t.Context(), "limit/reports")
		if err != nil || len(all) != 3 || !strings.Contains(all[0].Owner, " rows@2000-01-01T00:01:00.000Z#") {
			t.Errorf("the holders are %+v, %v", all, err)
		}
		time.Sleep(time.Minute + 28*time.Second)
		c.end()
		c.wantOnce(2, 10)
		if c.most != 3 {
			t.Errorf("%d shards ran at once, want 3", c.most)
		}
	})
}

// A silent wire does not answer the release of a place.
type silentWire struct {
	*wire
	silent atomic.Bool
}

func (w *silentWire) Release(ctx context.Context, h driver.LeaseRef) error {
	if w.silent.Load() {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return w.wire.Release(ctx, h)
}

// A run succeeds while the store is silent. Its end does not wait until its place is given back, so the run does not lose its
// lease over that.
func TestEndDoesNotWaitForItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Limit: scheduler.Limit{Name: "reports", Of: 1}, Func: takes(2900 * time.Millisecond)})
		var w silentWire
		c.setup = func(_ int, cfg *scheduler.Config) {
			w.wire = cfg.Store.(*wire)
			cfg.Store = &w
		}
		n := c.start()
		c.pass(time.Hour + 1500*time.Millisecond)
		n.partition()
		w.silent.Store(true)
		c.pass(6 * time.Second)
		w.silent.Store(false)
		n.heal()
		c.pass(10 * time.Second)
		c.wantTally("a", "ran ok 1")
		c.wantLogged(0, "lease lost")
		if left := c.holders("reports"); len(left) > 0 {
			t.Errorf("%q hold places after all runs", left)
		}
	})
}

// A function returns after its node has ended. Its place is not renewed any more, and is free soon.
func TestPlaceOfARunThatOutlivesItsNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Limit: scheduler.Limit{Name: "reports", Of: 1}, Func: ignores(10 * time.Minute)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = time.Second }
		n := c.start()
		c.pass(time.Hour + time.Second)
		if err := n.drain(); err == nil {
			t.Error("the node ended without its run")
		}
		c.pass(10*time.Minute + 5*time.Second)
		if left := c.holders("reports"); len(left) > 0 {
			t.Errorf("%q hold places after all runs", left)
		}
	})
}

// The timeout of a run ends its wait for a place. The error names the limit, the middleware sees it,
// and the function is not called. The run's lease was renewed while it waited.
func TestTimeoutOfAWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limit := scheduler.Limit{Name: "reports", Of: 1}
		var seen atomic.Pointer[error]
		watch := func(next scheduler.Func) scheduler.Func {
			return func(ctx context.Context, r *scheduler.Run) error {
				err := next(ctx, r)
				seen.Store(&err)
				return err
			}
		}
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
		c := cluster(t, 2,
			scheduler.Job{Name: "first", At: begin.Add(time.Minute), Limit: limit, Func: takes(time.Hour)},
			scheduler.Job{Name: "second", At: begin.Add(2 * time.Minute), Limit: limit, Lease: 3 * time.Second, Timeout: 30 * time.Second,
				Middleware: []scheduler.Middleware{watch}, Func: func(context.Context, *scheduler.Run) error {
					t.Error("the second function was called")
					return nil
				}})
		c.silent = true // the second function is not called
		c.pass(2*time.Minute + 10*time.Second)
		if got := c.holders("reports"); len(got) != 1 || got[0] != "first@2000-01-01T00:01:00.000Z" {
			t.Errorf("%q hold places", got)
		}
		c.pass(time.Minute)
		c.wantLogged(1, "run finished", "job", "second", "outcome", "timeout",
			"err", "waited 30s for a place in the limit reports (scheduler: the job's timeout is over)")
		if err := seen.Load(); err == nil || !errors.Is(*err, scheduler.ErrTimeout) {
			t.Errorf("the middleware saw %v", err)
		}
		c.pass(time.Hour)
		c.wantTally("first", "ran ok 1")
	})
}

// A run that waits for its next try has no place. A run of another job takes it meanwhile, and the
// next try waits for the end of that run.
func TestTriesTakeTheirPlacesAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limit := scheduler.Limit{Name: "reports", Of: 1}
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
		var tries atomic.Int64
		var again atomic.Pointer[time.Time]
		c := cluster(t, 1,
			scheduler.Job{Name: "tries", At: begin.Add(time.Minute), Limit: limit, Retry: scheduler.Retry{Tries: 2, Wait: 20 * time.Second},
				Func: func(context.Context, *scheduler.Run) error {
					if tries.Add(1) == 1 {
						return errors.New("not yet")
					}
					again.Store(new(time.Now()))
					return nil
				}},
			scheduler.Job{Name: "between", At: begin.Add(time.Minute + 10*time.Second), Limit: limit, Func: takes(30 * time.Second)})
		c.pass(time.Minute + 5*time.Second)
		if got := c.holders("reports"); len(got) != 0 {
			t.Errorf("%q hold places while a run waits for its next try", got)
		}
		c.pass(time.Minute)
		c.wantTally("tries", "ran ok 1")
		c.wantTally("between", "ran ok 1")
		if at := again.Load(); at == nil || at.Before(begin.Add(time.Minute+40*time.Second)) {
			t.Errorf("the second try began at %v, beside the other run", at)
		}
	})
}

// If a run's place is lost, the context of its function ends with lock.ErrLost, and the error of the
// run names the limit. The run keeps its lease.
func TestLostPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
		var cause atomic.Pointer[error]
		c := cluster(t, 1, scheduler.Job{Name: "report", At: begin.Add(time.Minute), Limit: scheduler.Limit{Name: "reports", Of: 2},
			Func: func(ctx context.Context, r *scheduler.Run) error {
				<-ctx.Done()
				cause.Store(new(context.Cause(ctx)))
				if err := r.Check(); err != nil {
					t.Errorf("the lease of the run: %v", err)
				}
				return errors.New("cut short")
			}})
		c.pass(time.Minute + 5*time.Second)
		if _, err := lock.New(c.store, "").Force(t.Context(), driver.ForceRequest{Key: "limit/reports", By: "bob", Reason: "stuck"}); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute)
		if got := cause.Load(); got == nil || !errors.Is(*got, lock.ErrLost) {
			t.Errorf("the context ended with %v", got)
		}
		c.wantLogged(1, "run finished", "outcome", "failed", "err", "cut short (the run lost its place in the limit reports)")
	})
}

// A drain interrupts a run that waits, and the run is given back to other nodes.
func TestDrainOfAWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
		c := cluster(t, 1, scheduler.Job{Name: "report", At: begin.Add(time.Minute), Limit: scheduler.Limit{Name: "reports", Of: 1}, Func: nothing})
		c.silent = true // in the first attempt, the function is not called
		hold, err := lock.New(c.store, "").Acquire(t.Context(), "limit/reports", lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute + 5*time.Second)
		if err := c.nodes[0].drain(); err != nil {
			t.Error(err)
		}
		c.wantLogged(1, "run finished", "outcome", "interrupted")
		if err := hold.Release(t.Context()); err != nil {
			t.Error(err)
		}
		c.start()
		c.pass(time.Minute)
		c.wantTally("report", "ran ok #2 1")
	})
}

// A run that waits for its place when its job is removed goes on to its end.
func TestRemoveDuringAWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
		c := cluster(t, 1, scheduler.Job{Name: "report", At: begin.Add(time.Minute), Limit: scheduler.Limit{Name: "reports", Of: 1}, Func: nothing})
		hold, err := lock.New(c.store, "").Acquire(t.Context(), "limit/reports", lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute + 5*time.Second)
		if err := c.nodes[0].Remove("report"); err != nil {
			t.Error(err)
		}
		c.pass(time.Minute)
		if err := hold.Release(t.Context()); err != nil {
			t.Error(err)
		}
		c.pass(time.Minute)
		c.wantTally("report", "ran ok 1")
	})
}

// An unshared store has no shared locks.
type unshared struct {
	scheduler.Store
}

// A limit that cannot be, that the store cannot keep, or that two jobs give different sizes is a
// fault of the job, in New, Add and Replace.
func TestLimitFaults(t *testing.T) {
	t.Parallel()
	job := func(name, limit string, of int) scheduler.Job {
		return scheduler.Job{Name: name, Spec: "@daily", Func: nothing, Limit: scheduler.Limit{Name: limit, Of: of}}
	}
	for _, tc := range []struct {
		store scheduler.Store
		jobs  []scheduler.Job
		want  string // empty: no fault
	}{
		{new(memlock.Store), []scheduler.Job{job("a", "x", 2), job("b", "x", 2), job("c", "y", 3), job("d", "", 0)}, ""},
		{new(memlock.Store), []scheduler.Job{job("a", "x y", 2)}, `jobs[0].limit.name: is "x y", must be ^[A-Za-z0-9]`},
		{new(memlock.Store), []scheduler.Job{job("a", "", 2)}, `jobs[0].limit.name: is "", must be ^[A-Za-z0-9]`},
		{new(memlock.Store), []scheduler.Job{job("a", "x", 0)}, "jobs[0].limit.of: is 0, must be 1 to 10000"},
		{new(memlock.Store), []scheduler.Job{job("a", "x", 2), job("b", "x", 3)}, "jobs[1].limit.of: is 3, must be 2 for the limit x, as in the job a"},
		{unshared{new(memlock.Store)}, []scheduler.Job{job("a", "x", 1)}, ""},
		{unshared{new(memlock.Store)}, []scheduler.Job{job("a", "x", 2)}, "jobs[0].limit: is x*2, but the store shares no locks: Redis,"},
	} {
		_, err := scheduler.New(scheduler.Config{Name: "n", Store: tc.store, Jobs: tc.jobs})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{job("a", "x", 2), job("b", "x", 2), job("c", "", 0)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{n.Add(job("e", "x", 3)), n.Replace(job("b", "x", 3))} {
		if err == nil || !strings.Contains(err.Error(), "jobs[0].limit.of: is 3, must be 2 for the limit x, as in the job a") {
			t.Errorf("another size is answered with %v", err)
		}
	}
	for _, err := range []error{n.Replace(job("b", "x", 3), job("a", "x", 3)), n.Remove("a"), n.Replace(job("b", "x", 4)), n.Add(job("a", "x", 4))} {
		if err != nil {
			t.Error(err)
		}
	}
}
