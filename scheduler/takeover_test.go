package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Takeover lost: the tick of a killed node is recorded as lost, logged by one of the others, and
// the next ticks run.
func TestTakeoverLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: 3 * time.Second, Func: takes(20 * time.Second)})
		c.pass(10*time.Minute + 5*time.Second)
		c.holder("a").kill()
		c.pass(10 * time.Minute)
		c.wantTally("a", "lost 1, ran 1, ran ok 18")
		c.wantLogged(1, "tick missed", "reason", "lost", "count", int64(1), "tick", "2000-01-01T00:10:00.000Z")
	})
}

// Takeover rerun: twenty of twenty killed nodes are replaced within the lease
// and a second, by an attempt with a higher fence.
func TestTakeoverRerun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lease = 3 * time.Second
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: lease, Takeover: scheduler.TakeoverRerun, Func: takes(20 * time.Second)})
		for i := range 20 {
			c.pass(time.Minute - time.Duration(i)*137*time.Millisecond)
			first := c.running("a")
			for first == nil {
				c.pass(time.Second)
				first = c.running("a")
			}
			first.node.kill()
			c.start()
			c.pass(lease + time.Second)
			second := c.running("a")
			if second == nil || second.Tick != first.Tick || second.Attempt != 2 || second.Fence <= first.Fence || second.ID != first.ID {
				t.Fatalf("%v after the kill of %v runs %+v", lease+time.Second, first.Run, second)
			}
			c.pass(25 * time.Second)
		}
		if n := len(c.logged("tick missed")); n != 0 {
			t.Errorf("%d ticks missed, want none", n)
		}
	})
}

// Attempts are capped: when the third node of a tick dies too, it is lost.
func TestTakeoverAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 5, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Takeover: scheduler.TakeoverRerun, Func: takes(20 * time.Second)})
		c.pass(time.Hour)
		for attempt := 1; attempt <= 3; attempt++ {
			if r := c.running("a"); r.Attempt != attempt {
				t.Fatalf("attempt %d runs, want %d", r.Attempt, attempt)
			}
			c.holder("a").kill()
			c.pass(4 * time.Second)
		}
		c.wantTally("a", "lost 1")
		if r := c.running("a"); r != nil {
			t.Errorf("attempt %d runs, want none", r.Attempt)
		}
	})
}

// No further attempt starts after the window.
func TestTakeoverWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Takeover: scheduler.TakeoverRerun, Lease: 10 * time.Second, Window: 20 * time.Second, Func: takes(time.Minute)})
		c.pass(time.Hour + 15*time.Second) // its lease is renewed beyond the window
		c.holder("a").kill()
		c.pass(time.Minute)
		c.wantTally("a", "lost 1")
	})
}

// By default a dead node keeps its tick for 30 seconds, and the tick may be taken over for an hour
// after its instant.
func TestTakeoverDefaults(t *testing.T) {
	j := scheduler.Job{Name: "a", Spec: "@daily", Takeover: scheduler.TakeoverRerun, Func: takes(time.Minute)}
	t.Run("lease", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := clusterAfter(t, 23*time.Hour+50*time.Minute, 3, j)
			c.pass(10*time.Minute + time.Second)
			c.holder("a").kill()
			c.pass(28 * time.Second)
			if r := c.running("a"); r != nil {
				t.Errorf("attempt %d before the lease was over", r.Attempt)
			}
			c.pass(3 * time.Second)
			if r := c.running("a"); r == nil || r.Attempt != 2 {
				t.Errorf("31 s after the kill runs %+v, want attempt 2", r)
			}
			c.pass(2 * time.Minute)
		})
	})
	for absent, want := range map[time.Duration]string{59 * time.Minute: "ran ok #2 1", 61 * time.Minute: "lost 1"} {
		t.Run("window, after "+absent.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := clusterAfter(t, 23*time.Hour+50*time.Minute, 1, j)
				c.pass(10*time.Minute + time.Second)
				c.holder("a").kill()
				c.pass(absent)
				c.start()
				c.pass(2 * time.Minute)
				c.wantTally("a", want)
			})
		})
	}
}

// A run that a drain ended runs again on another node, at once and not only when its lease would
// have ended; or it is done, if the job says so.
func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		policy scheduler.Interrupted
		want   string
	}{{scheduler.InterruptedRerun, "ran ok #2 1"}, {scheduler.InterruptedLost, "ran interrupted 1"}} {
		t.Run(test.want, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Interrupted: test.policy, Lease: 5 * time.Minute, Func: takes(time.Minute)})
				c.pass(time.Hour)
				first := c.running("a")
				if err := first.node.drain(); err != nil {
					t.Errorf("drain: %v", err)
				}
				if first = c.later(first); !errors.Is(first.cause, scheduler.ErrDrained) {
					t.Errorf("the run ended with %v, want ErrDrained", first.cause)
				}
				c.pass(12 * time.Second)
				second := c.running("a")
				if again := second != nil; again != (test.policy == scheduler.InterruptedRerun) {
					t.Errorf("runs again: %v", again)
				}
				c.pass(2 * time.Minute)
				c.wantTally("a", test.want)
				c.wantLogged(1, "run finished", "outcome", "interrupted")
			})
		})
	}
}

// With the default lease a job continues about one interval after its node was killed: the tick is
// taken over, or the next one runs.
func TestDefaultLeaseIsTheInterval(t *testing.T) {
	for _, takeover := range []scheduler.Takeover{scheduler.TakeoverLost, scheduler.TakeoverRerun} {
		for spec, within := range map[string]time.Duration{"@every 1s": 4 * time.Second, "@every 5s": 6 * time.Second, "@every 2m": 31 * time.Second} {
			t.Run(fmt.Sprint(takeover, spec), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := cluster(t, 3, scheduler.Job{Name: "a", Spec: spec, Takeover: takeover, Func: takes(700 * time.Millisecond)})
					c.pass(2*time.Minute + 5*time.Second - 500*time.Millisecond)
					if c.running("a") == nil {
						c.pass(115*time.Second + 300*time.Millisecond)
					} else {
						c.pass(300 * time.Millisecond)
					}
					killed := time.Now()
					c.holder("a").kill()
					c.pass(3 * time.Minute)
					for _, r := range c.ran("a") {
						if r.began.After(killed) {
							took, most := r.began.Sub(killed), within
							if takeover == scheduler.TakeoverLost && spec == "@every 2m" {
								most = 2 * time.Minute // its next tick
							}
							if took > most {
								t.Errorf("the job goes on %v after the kill, want within %v", took, most)
							}
							return
						}
					}
					t.Error("the job does not go on")
				})
			})
		}
	}
}
