package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler"
)

// A run that is cut off from the store ends with ErrLost before its lease does, and the loss is
// logged when it happens, not when the function returns.
func TestLeaseLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = 3 * time.Second
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: lease, Takeover: scheduler.TakeoverRerun, Func: ignores(40 * time.Second)})
		c.pass(time.Minute + 3*time.Second)
		first := c.running("a")
		first.node.partition()
		cut := time.Now()
		c.pass(lease + time.Second)
		first = c.later(first)
		if !errors.Is(first.cause, lock.ErrLost) || first.contextEnd.Sub(cut) > lease {
			t.Errorf("the context ended %v after the cut with %v, want ErrLost within %v", first.contextEnd.Sub(cut), first.cause, lease)
		}
		if first.Check() == nil {
			t.Error("Check believes in a lease that was lost")
		}
		if r := c.running("a"); r == nil || r.Attempt != 2 || r.began.Before(first.contextEnd) {
			t.Errorf("%v after the cut runs %+v, want attempt 2", lease+time.Second, r)
		}
		c.pass(time.Second)
		if ls := c.logged("lease lost", "tick", stamp(first.Tick), "fence", first.Fence); len(ls) != 1 || ls[0].Time.Sub(first.contextEnd) > 1100*time.Millisecond {
			t.Errorf("lines of the lost lease: %v, want one soon after %v", ls, first.contextEnd)
		}
		c.pass(40 * time.Second)
		c.wantLogged(1, "lease lost")
		c.wantLogged(1, "run finished", "outcome", "lost", "tick", stamp(first.Tick))
		first.node.heal()
	})
}

// A run succeeds after its lease is lost and before another node has taken its tick over. Its end
// is kept until the store is back, and the job does not run twice.
func TestSuccessAfterTheLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Takeover: scheduler.TakeoverRerun,
			Func: func(context.Context, *scheduler.Run) error {
				time.Sleep(6 * time.Second) // longer than the lease
				return nil
			}})
		c.pass(time.Hour + 2*time.Second)
		c.nodes[0].partition()
		c.pass(5 * time.Second) // a second after the function returned
		c.nodes[0].heal()
		c.pass(10 * time.Minute)
		if rs := c.ran("a"); len(rs) != 1 || rs[0].contextEnd.IsZero() || rs[0].err != nil {
			t.Errorf("ran %v, want one run that lost its lease and succeeded", rs)
		}
		c.wantLogged(1, "run finished", "outcome", "lost")
	})
}

// The context of a run ends with its lease, and the run fails. It runs again, although its node is back before any other
// could take it over, and the loss is logged once.
func TestFailureAfterTheLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Takeover: scheduler.TakeoverRerun,
			Func: func(ctx context.Context, r *scheduler.Run) error {
				if r.Attempt == 1 {
					<-ctx.Done()
				}
				return ctx.Err()
			}})
		c.pass(time.Hour + 2*time.Second)
		c.nodes[0].partition()
		c.pass(5 * time.Second)
		c.nodes[0].heal()
		c.pass(10 * time.Minute)
		c.wantTally("a", "ran ok #2 1")
		c.wantLogged(1, "lease lost")
	})
}

// A lease is renewed for as long as the run takes: hours on a lease of seconds.
func TestLongRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clusterAfter(t, 110*time.Minute, 3, scheduler.Job{Name: "a", Spec: "@every 2h", Lease: 3 * time.Second, Func: takes(time.Hour + time.Minute)})
		c.pass(2*time.Hour + 10*time.Minute)
		c.wantTally("a", "ran 1, ran ok 1")
		c.wantLogged(0, "lease lost")
	})
}

// Three of four renewals have no answer, and the lease is kept: the next one is sent while one
// hangs.
func TestRenewalsVanish(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Func: takes(10 * time.Minute)})
		count := 0
		c.nodes[0].wire.spoil(func(op string) fault {
			if op != "renew" {
				return fault{}
			}
			if count++; count%4 == 0 {
				return fault{back: 20 * time.Millisecond}
			}
			return fault{lost: lostRequest}
		})
		c.pass(time.Hour + 11*time.Minute)
		c.wantTally("a", "ran ok 1")
		c.wantLogged(0, "lease lost")
	})
}

// The timeout bounds all tries of an attempt together.
func TestTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tries := 0
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Timeout: 10 * time.Second, Retry: scheduler.Retry{Tries: 100},
			Func: func(ctx context.Context, _ *scheduler.Run) error {
				tries++
				_ = takes(3*time.Second)(ctx, nil)
				return errBroken
			}})
		c.pass(time.Hour + 20*time.Second)
		r := c.ran("a")[0]
		if !errors.Is(r.cause, scheduler.ErrTimeout) || !os.IsTimeout(r.cause) || r.over.Sub(r.began) != 10*time.Second {
			t.Errorf("ended after %v with %v, want ErrTimeout after 10s", r.over.Sub(r.began), r.cause)
		}
		if tries != 3 { // 3 s, wait 1 s, 3 s, wait 2 s, and a third of the last
			t.Errorf("%d tries, want 3", tries)
		}
		c.wantTally("a", "ran timeout 1")
		c.wantLogged(1, "run finished", "outcome", "timeout")
	})
}

// The end of a run has the cause of its context once, also if the function returned that cause.
func TestCauseOnce(t *testing.T) {
	for text, fail := range map[string]func(ctx context.Context) error{
		"scheduler: the job's timeout is over":                             context.Cause,
		"a: scheduler: the job's timeout is over":                          func(ctx context.Context) error { return fmt.Errorf("a: %w", context.Cause(ctx)) },
		"context deadline exceeded (scheduler: the job's timeout is over)": func(ctx context.Context) error { return ctx.Err() },
	} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Timeout: time.Second, Func: func(ctx context.Context, _ *scheduler.Run) error {
					<-ctx.Done()
					return fail(ctx)
				}})
				c.pass(time.Hour + 2*time.Second)
				c.wantLogged(1, "run finished", "outcome", "timeout", "err", text)
			})
		})
	}
}

// A function that ignores its timeout is named in the log after the grace, and not again when its node drains. Its lease is
// not lost.
func TestTimeoutIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Timeout: 10 * time.Second, Func: ignores(time.Minute)})
		c.pass(time.Hour + 14*time.Second)
		c.wantLogged(0, "run ignores its context")
		if s := c.nodes[0].Stats(); s.Runs != 1 || s.IgnoringContext != 0 {
			t.Errorf("before the grace is over %d runs are alive and %d ignore their contexts, want 1 and 0", s.Runs, s.IgnoringContext)
		}
		c.pass(4 * time.Second)
		c.wantLogged(1, "run ignores its context", "cause", scheduler.ErrTimeout.Error())
		if err := c.nodes[0].drain(); err == nil {
			t.Error("the drain ended without an error")
		}
		c.wantLogged(1, "run ignores its context")
		c.wantLogged(0, "lease lost")
		c.pass(time.Minute)
		c.wantTally("a", "ran ok 1")
	})
}

var errBroken = errors.New("broken")

// A failed function is repeated with the same fence, after growing waits, until
// it succeeds or its tries are used up.
func TestRetry(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails int
		retry scheduler.Retry
		tally string
		took  time.Duration
	}{
		{"none", 1, scheduler.Retry{}, "ran failed 24", 0},
		{"succeeds", 2, scheduler.Retry{Tries: 3}, "ran ok 24", 3 * time.Second},
		{"used up", 9, scheduler.Retry{Tries: 4, Wait: 2 * time.Second, Max: 5 * time.Second}, "ran failed 24", 11 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				tries := map[int64]int{} // by fence: all tries of an attempt have the same
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 5m", Retry: test.retry, Func: func(_ context.Context, r *scheduler.Run) error {
					if tries[r.Fence]++; tries[r.Fence] <= test.fails {
						return errBroken
					}
					return nil
				}})
				c.pass(2*time.Hour + time.Minute)
				c.wantTally("a", test.tally)
				want := min(test.fails+1, max(test.retry.Tries, 1))
				c.wantLogged(24*min(test.fails, max(test.retry.Tries, 1)-1), "try failed", "job", "a", "err", errBroken.Error())
				for _, r := range c.ran("a") {
					if r.over.Sub(r.began) != test.took || r.tries != want || tries[r.Fence] != want {
						t.Errorf("%v: %d tries took %v, want %d and %v", r.Tick, r.tries, r.over.Sub(r.began), want, test.took)
					}
				}
			})
		})
	}
}

// A panic is a fault of the program: the function is not called again for its tick.
func TestPanicIsNotTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1m", Retry: scheduler.Retry{Tries: 3},
			Func: func(context.Context, *scheduler.Run) error { panic(errBroken) }})
		c.pass(10*time.Minute + 30*time.Second)
		c.wantTally("a", "ran panic 10")
		for _, r := range c.ran("a") {
			if r.tries != 1 {
				t.Errorf("%v was tried %d times", r.Tick, r.tries)
			}
		}
	})
}

// A panic and runtime.Goexit are failures of the run, and the node continues.
func TestPanic(t *testing.T) {
	for name, f := range map[string]func(){"panic": func() { panic(errBroken) }, "nil panic": func() { panic(nil) }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 1m", Func: func(context.Context, *scheduler.Run) error {
					f()
					return nil
				}}, scheduler.Job{Name: "b", Spec: "@every 1m", Func: nothing})
				c.pass(10 * time.Minute)
				c.wantTally("a", "ran panic 10")
				c.wantTally("b", "ran ok 10")
				for _, l := range c.logged("run finished", "job", "a") {
					if l.keys["outcome"] != "panic" || l.keys["err"] == "" {
						t.Errorf("logged %v", l.keys)
					}
				}
				stacks := 10
				if name == "goexit" {
					stacks = 0 // there is no stack
				}
				c.wantLogged(stacks, "run panicked", "job", "a")
			})
		})
	}
}

// Jitter delays a tick by the same time on every node, below the given bound, and differently from
// tick to tick.
func TestJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Jitter: 40 * time.Second, Func: nothing})
		c.pass(5 * time.Hour)
		var late []time.Duration
		for _, r := range c.ran("a") {
			late = append(late, r.began.Sub(r.Tick).Truncate(50*time.Millisecond))
		}
		slices.Sort(late)
		if least, most := late[0], late[len(late)-1]; least > 3*time.Second || most < 37*time.Second || most > 40*time.Second+50*time.Millisecond {
			t.Errorf("delays from %v to %v, want them between 0 and 40s", least, most)
		}
		if middle := late[len(late)/2]; middle < 15*time.Second || middle > 25*time.Second {
			t.Errorf("half of the delays are below %v, want about 20s", middle)
		}
		c.wantShares("a") // if the nodes disagreed, the one with the least delay would have most
	})
}

// In the night in which clocks go forward, two ticks of a job may be closer to each other than its
// jitter. They are still claimed one after the other, and each runs.
func TestJitterOfCloseTicks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var jobs []scheduler.Job
		for i := range 40 { // some of them would have the first tick after the second
			jobs = append(jobs, scheduler.Job{
				Name: fmt.Sprint("job", i), Spec: "CRON_TZ=Europe/Berlin 30 2,3 * * *", Jitter: 59 * time.Minute, Func: nothing,
			})
		}
		gap := time.Date(2000, 3, 26, 1, 0, 0, 0, time.UTC) // 2:30 does not exist, and becomes 3:00
		time.Sleep(time.Until(gap.Add(-time.Hour)))
		c := cluster(t, 2, jobs...)
		c.pass(2*time.Hour + 35*time.Minute)
		for _, j := range jobs {
			runs := c.ran(j.Name)
			if len(runs) != 2 || !runs[0].Tick.Equal(gap) || !runs[1].Tick.Equal(gap.Add(30*time.Minute)) {
				t.Errorf("%s ran %d times, want once at 3:00 and once at 3:30", j.Name, len(runs))
				continue
			}
			if at := runs[0].began; !at.Before(runs[1].Tick) {
				t.Errorf("%s of 3:00 ran at %v, which is after its next tick", j.Name, at)
			}
		}
	})
}

// A run knows its job, tick, fence and attempt, an id that is the same for each
// attempt, and the tick that last ended ok.
func TestRunKnowsItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fail := false
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Func: func(_ context.Context, r *scheduler.Run) error {
			r.Logger().Info("working")
			if fail = !fail; fail {
				return nil
			}
			return errBroken
		}})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Namespace = "shop" }
		c.start()
		c.pass(3*time.Minute + 500*time.Millisecond)
		rs := c.ran("a")
		for i, want := range []struct {
			id   string
			last time.Time
		}{{"shop/a@2000-01-01T00:01:00.000Z", time.Time{}}, {"shop/a@2000-01-01T00:02:00.000Z", rs[0].Tick}, {"shop/a@2000-01-01T00:03:00.000Z", rs[0].Tick}} {
			if r := rs[i]; r.ID != want.id || !r.Last.Equal(want.last) || r.Attempt != 1 || r.Node != c.nodes[0].ID() || r.Tick.Location() != time.UTC {
				t.Errorf("run %d is %+v, want id %s and last %v", i, r.Run, want.id, want.last)
			}
		}
		c.wantLogged(1, "working", "node", rs[2].Node, "job", "a", "tick", "2000-01-01T00:03:00.000Z", "attempt", int64(1), "fence", rs[2].Fence)
	})
}

// The zero Run can be passed to a function in a test.
func TestZeroRun(t *testing.T) {
	t.Parallel()
	var r scheduler.Run
	r.Logger().Info("nowhere")
	if err := r.Check(); err != nil {
		t.Error(err)
	}
}
