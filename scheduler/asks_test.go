package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A function can skip its tick, also with an error that wraps Skip and with a context that has
// ended. The run is called once, its outcome is skipped in the log, the events, the journal and the
// proof, and the next run has the last success before it.
func TestSkip(t *testing.T) {
	for name, do := range map[string]func(ctx context.Context) error{
		"as it is":          func(context.Context) error { return scheduler.Skip("no file") },
		"wrapped":           func(context.Context) error { return fmt.Errorf("import: %w", scheduler.Skip("no file")) },
		"beside others":     func(context.Context) error { return errors.Join(errBroken, scheduler.Skip("no file")) },
		"also permanent":    func(context.Context) error { return scheduler.Permanent(scheduler.Skip("no file")) },
		"after the timeout": func(ctx context.Context) error { <-ctx.Done(); return scheduler.Skip("no file") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				first := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
				c := cluster(t, 2, scheduler.Job{Name: "a", Spec: "@hourly", Timeout: 5 * time.Second, Retry: scheduler.Retry{Tries: 3},
					Func: func(ctx context.Context, r *scheduler.Run) error {
						if r.Tick.Equal(first) {
							return nil
						}
						return do(ctx)
					}})
				c.pass(3*time.Hour + 10*time.Second)
				c.wantTally("a", "ran ok 1, ran skipped 2")
				rs := c.ran("a")
				if last := rs[2]; last.tries != 1 || !last.Last.Equal(first) {
					t.Errorf("%d tries, the last success is of %v, want one, and that of %v", last.tries, last.Last, first)
				}
				ls := c.logged("run finished", "outcome", "skipped")
				if len(ls) != 2 || ls[0].Level.String() != "info" {
					t.Errorf("the log has %v, want two lines of level info", ls)
				}
				for _, n := range c.nodes {
					for _, e := range n.observed(scheduler.EventRunFinished) {
						if !e.Tick.Equal(first) && (e.Outcome != series.OutcomeSkipped || e.Err == "") {
							t.Errorf("the event is %+v", e)
						}
					}
				}
				j, err := c.store.Journal(t.Context(), "a", 0)
				if err != nil {
					t.Fatal(err)
				}
				state := c.store.ReadSeries(t.Context(), []string{"a"})[0]
				report := verify.Job(j, verify.Options{State: &state, Exclusive: true})
				if !report.OK() || report.Failed != 0 || report.Once != 3 || report.Outcomes["skipped"] != 2 {
					t.Errorf("verify says %+v", report)
				}
				if a := why.Explain(why.Question{Tick: first.Add(time.Hour), Journal: j, State: state}); a.State != why.Skipped || a.Next != "" {
					t.Errorf("why says %s: %s", a.State, a.Sentence)
				}
			})
		})
	}
}

// A function skips a tick although its lease was lost meanwhile: no node runs the tick again.
func TestSkipAfterTheLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Lease: 3 * time.Second, Takeover: scheduler.TakeoverRerun,
			Func: func(context.Context, *scheduler.Run) error {
				time.Sleep(6 * time.Second) // longer than the lease
				return scheduler.Skip("no file")
			}})
		c.pass(time.Hour + 2*time.Second)
		c.nodes[0].partition()
		c.pass(5 * time.Second)
		c.nodes[0].heal()
		c.pass(10 * time.Minute)
		if rs := c.ran("a"); len(rs) != 1 {
			t.Errorf("the tick ran %d times, want once", len(rs))
		}
		c.wantLogged(1, "run finished", "outcome", "lost")
	})
}

// The waits between tries are the ones that the job, or its function, requests. No try begins after
// the timeout or Retry.For: the run ends at once instead.
func TestTries(t *testing.T) {
	s := time.Second
	permanent := func() error { return fmt.Errorf("import: %w", scheduler.Permanent(errBroken)) }
	after := func(d time.Duration) func() error {
		return func() error { return fmt.Errorf("import: %w", scheduler.RetryAfter(d, errBroken)) }
	}
	plain := func() error { return errBroken }
	for name, tc := range map[string]struct {
		retry   scheduler.Retry
		timeout time.Duration
		fails   []func() error // the tries; after them the function succeeds
		waits   []time.Duration
		tally   string
	}{
		"permanent":                       {scheduler.Retry{Tries: 5}, 0, []func() error{permanent}, nil, "ran failed 1"},
		"permanent at the second try":     {scheduler.Retry{Tries: 5}, 0, []func() error{plain, permanent}, []time.Duration{s}, "ran failed 1"},
		"permanent, and to try again":     {scheduler.Retry{Tries: 5}, 0, []func() error{func() error { return errors.Join(after(s)(), permanent()) }}, nil, "ran failed 1"},
		"later":                           {scheduler.Retry{Tries: 5, Max: 2 * s}, 0, []func() error{after(10 * s), after(time.Minute)}, []time.Duration{10 * s, time.Minute}, "ran ok 1"},
		"later once":                      {scheduler.Retry{Tries: 5}, 0, []func() error{plain, after(10 * s), plain}, []time.Duration{s, 10 * s, 4 * s}, "ran ok 1"},
		"at once":                         {scheduler.Retry{Tries: 3}, 0, []func() error{after(0), after(-s)}, []time.Duration{0, 0}, "ran ok 1"},
		"later, and no tries":             {scheduler.Retry{}, 0, []func() error{after(s)}, nil, "ran failed 1"},
		"later, as the last try":          {scheduler.Retry{Tries: 2}, 0, []func() error{after(s), after(s)}, []time.Duration{s}, "ran failed 1"},
		"later than the timeout":          {scheduler.Retry{Tries: 5}, 20 * s, []func() error{after(10 * s), after(10 * s)}, []time.Duration{10 * s}, "ran failed 1"},
		"just before the timeout":         {scheduler.Retry{Tries: 5}, 20*s + 2, []func() error{after(10 * s), after(10 * s)}, []time.Duration{10 * s, 10 * s}, "ran ok 1"},
		"a wait longer than the timeout":  {scheduler.Retry{Tries: 5}, 3 * s, []func() error{plain, plain}, []time.Duration{s}, "ran failed 1"},
		"later than for":                  {scheduler.Retry{Tries: 5, For: 15 * s}, 0, []func() error{after(10 * s), after(6 * s)}, []time.Duration{10 * s}, "ran failed 1"},
		"as late as for":                  {scheduler.Retry{Tries: 5, For: 15 * s}, 0, []func() error{after(10 * s), after(5 * s)}, []time.Duration{10 * s, 5 * s}, "ran ok 1"},
		"for bounds the doubling waits":   {scheduler.Retry{Tries: 100, For: time.Minute}, 0, slices.Repeat([]func() error{plain}, 100), []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s}, "ran failed 1"},
		"no try without time for another": {scheduler.Retry{Tries: 2, For: s}, 0, []func() error{plain}, []time.Duration{s}, "ran ok 1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var tries instants
				c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@hourly", Retry: tc.retry, Timeout: tc.timeout, Func: func(context.Context, *scheduler.Run) error {
					if n := tries.add(time.Now()); n <= len(tc.fails) {
						return tc.fails[n-1]()
					}
					return nil
				}})
				c.pass(time.Hour + 10*time.Minute)
				began := tries.all()
				var waits []time.Duration
				for i := 1; i < len(began); i++ {
					waits = append(waits, began[i].Sub(began[i-1]).Truncate(time.Microsecond))
				}
				if !slices.Equal(waits, tc.waits) {
					t.Errorf("waited %v between tries, want %v", waits, tc.waits)
				}
				c.wantTally("a", tc.tally)
				if r := c.ran("a")[0]; r.over.Sub(began[len(began)-1]) > soon {
					t.Errorf("the run went on for %v after its last try", r.over.Sub(began[len(began)-1]))
				}
				c.wantLogged(len(tc.waits), "try failed")
				for i, line := range c.logged("try failed") {
					if got := line.keys["wait_ms"]; got != tc.waits[i].Milliseconds() {
						t.Errorf("try %d is followed by a wait of %v ms in the log, want %v", i+1, got, tc.waits[i])
					}
				}
			})
		})
	}
}

// instants records the times of events on several goroutines.
type instants struct {
	mu sync.Mutex
	at []time.Time
}

// add adds an instant, and returns the number of instants.
func (i *instants) add(at time.Time) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.at = append(i.at, at)
	return len(i.at)
}

func (i *instants) all() []time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.at)
}

// Each wait is shortened by up to the jitter, and not all by the same time.
func TestRetryJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var tries instants
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "0 0 1 1 1 *", Retry: scheduler.Retry{Tries: 200, Wait: 10 * time.Second, Max: 10 * time.Second, Jitter: .5},
			Func: func(context.Context, *scheduler.Run) error {
				tries.add(time.Now())
				return errBroken
			}})
		c.pass(2 * time.Hour)
		began := tries.all()
		different := map[time.Duration]bool{}
		for i := 1; i < len(began); i++ {
			wait := began[i].Sub(began[i-1])
			different[wait] = true
			if wait < 5*time.Second || wait > 10*time.Second {
				t.Errorf("wait %d is %v, want 5s to 10s", i, wait)
			}
		}
		if len(began) != 200 || len(different) < 100 {
			t.Errorf("%d tries with %d different waits", len(began), len(different))
		}
	})
}

// errors.Is and errors.As find the error that a function returns, and nil stays nil.
func TestErrorsAreSeenThrough(t *testing.T) {
	t.Parallel()
	for _, err := range []error{scheduler.Permanent(errBroken), scheduler.RetryAfter(time.Second, errBroken), scheduler.RetryAfter(time.Second, scheduler.Permanent(errBroken))} {
		if !errors.Is(err, errBroken) || err.Error() != errBroken.Error() || errors.Is(err, scheduler.ErrSkipped) {
			t.Errorf("%v is not %v", err, errBroken)
		}
	}
	if err := scheduler.Skip("no file"); !errors.Is(fmt.Errorf("import: %w", err), scheduler.ErrSkipped) || err.Error() != "no file" {
		t.Errorf("%v is not skipped", err)
	}
	if err := errors.Join(scheduler.Permanent(nil), scheduler.RetryAfter(time.Second, nil)); err != nil {
		t.Errorf("no error became %v", err)
	}
}
