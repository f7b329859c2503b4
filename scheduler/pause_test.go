package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A paused job starts nothing, including takeovers; its runs continue. Each tick is logged once as
// skipped, and has that verdict. After the pause the next ticks run.
func TestPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(70 * time.Second)},
			scheduler.Job{Name: "b", Spec: "@every 1m", Func: nothing})
		c.pass(10*time.Minute + 10*time.Second) // a runs the tick 9:00 or 10:00
		c.change("a", series.ActionPause)
		c.change("b", series.ActionPause)
		before := len(c.ran("a"))
		c.pass(5 * time.Minute)
		if got := len(c.ran("a")); got != before {
			t.Errorf("%d runs began in the pause", got-before)
		}
		c.change("b", series.ActionResume)
		c.change("a", series.ActionResume)
		c.pass(5 * time.Minute)
		c.wantTally("b", "paused 5, ran ok 15")
		c.wantLogged(5, "tick skipped", "job", "b", "reason", "paused")
		if got := len(c.ran("a")); got < before+2 {
			t.Errorf("%d runs after the pause, want the job to go on", got-before)
		}
	})
}

// A node that dies in a pause is not replaced: its tick is lost, which is logged by the end of the
// pause.
func TestPauseStopsTakeovers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@hourly", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(time.Minute)})
		c.pass(time.Hour + time.Second)
		c.change("a", series.ActionPause)
		c.holder("a").kill()
		c.pass(20 * time.Second)
		if r := c.running("a"); r != nil && r.node.killed.IsZero() {
			t.Errorf("attempt %d runs in the pause", r.Attempt)
		}
		c.change("a", series.ActionResume)
		c.pass(time.Hour)
		c.wantTally("a", "lost 1, ran 1")
	})
}

// A tick that waits for a run, and that a pause keeps from starting after it, is recorded as paused
// by the next claim or by the end of the pause.
func TestPauseOfAWaitingTick(t *testing.T) {
	for name, during := range map[string]time.Duration{"by a claim": 2 * time.Minute, "by the resume": 40 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 1m", Deadline: 30 * time.Minute, Overlap: scheduler.OverlapQueue, Func: takes(90 * time.Second)})
				c.pass(2*time.Minute + 10*time.Second) // the tick 1:00 runs until 2:30, the tick 2:00 waits
				waits := c.now().Truncate(time.Minute)
				c.change("a", series.ActionPause)
				c.pass(during)
				c.change("a", series.ActionResume)
				c.wantLogged(0, "tick missed", "job", "a")
				j, err := c.store.Journal(t.Context(), "a", 0)
				if err != nil {
					t.Fatal(err)
				}
				state := c.store.ReadSeries(t.Context(), []string{"a"})[0]
				a := why.Explain(why.Question{Tick: waits, Journal: j, State: state})
				if a.State != why.Paused || !strings.HasPrefix(a.Sentence, "Paused by ann since") {
					t.Errorf("%s: %s", a.State, a.Sentence)
				}
				if r := verify.Job(j, verify.Options{State: &state}); !r.OK() {
					t.Error(r.Violations)
				}
			})
		})
	}
}

// A pause begins when it is made. Ticks that were due in an outage of all nodes before it are
// missed, also after an operator resumes, and later ticks are paused. A tick whose jitter has not
// passed is not missed.
func TestPauseAfterAnOutage(t *testing.T) {
	for _, of := range []struct {
		jitter         time.Duration
		missed, paused int
	}{{0, 5, 3}, {50 * time.Second, 4, 4}} {
		t.Run(of.jitter.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@every 1m", Jitter: of.jitter, Func: nothing})
				c.pass(2*time.Minute + 55*time.Second)
				for _, n := range c.nodes {
					n.kill()
				}
				c.pass(5*time.Minute - 25*time.Second)
				state := func() (series.Journal, series.Series) {
					j, err := c.store.Journal(t.Context(), "a", 0)
					if err != nil {
						t.Fatal(err)
					}
					return j, c.store.ReadSeries(t.Context(), []string{"a"})[0]
				}
				j, s := state()
				tick, revision := verify.NewJudge(j, verify.Options{State: &s}).Outage()
				request := series.Control{Key: "a", Action: series.ActionPause, Op: "1", Who: "ann", Reason: "for the test", Seen: series.AnySeen, Due: tick.UnixMilli(), Revision: revision}
				if a := c.store.Control(t.Context(), request); !a.Made {
					t.Fatalf("answered %+v", a)
				}
				c.pass(3 * time.Minute)
				c.change("a", series.ActionResume)
				j, s = state()
				r := verify.Job(j, verify.Options{State: &s})
				if !r.OK() || r.Missed[series.ReasonMisfire] != of.missed || r.Paused != of.paused || r.Overdue > 0 {
					t.Errorf("missed %v, paused %d, overdue %d, %v; want %+v", r.Missed, r.Paused, r.Overdue, r.Violations, of)
				}
				a := why.Explain(why.Question{Tick: tick, Journal: j, State: s})
				if a.State != why.Missed || !strings.HasPrefix(a.Sentence, "Missed: no node decided it before the job was paused at") {
					t.Errorf("%s: %s", a.State, a.Sentence)
				}
			})
		})
	}
}

// change pauses or resumes a job.
func (c *world) change(job string, action series.Action) {
	c.t.Helper()
	request := series.Control{Key: job, Action: action, Op: c.now().Format(time.RFC3339Nano), Who: "ann", Reason: "for the test", Seen: series.AnySeen}
	if a := c.store.Control(c.t.Context(), request); !a.Made {
		c.t.Fatalf("the %s of %s is answered %+v", action, job, a)
	}
}
