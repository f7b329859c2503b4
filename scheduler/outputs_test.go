package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A keeper is a store whose outputs the test gets first.
type keeper struct {
	*memlock.Store
	keep func(ctx context.Context, o series.Output) error
}

func (k *keeper) KeepOutput(ctx context.Context, o series.Output) error { return k.keep(ctx, o) }

// runFor runs a node with jobs that are due each second for a time, and then drains it.
func runFor(t *testing.T, d time.Duration, store scheduler.Store, jobs ...scheduler.Job) (n *scheduler.Node, stopped time.Duration) {
	t.Helper()
	for i := range jobs {
		jobs[i].Spec = "@every 1s"
	}
	n, err := scheduler.New(scheduler.Config{Store: store, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx) }()
	time.Sleep(d)
	stop()
	began := time.Now()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return n, time.Since(began)
}

// The output of a run is kept with any outcome: the last text that any try gave, with the fence of
// the run.
func TestOutputIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memlock.New(memlock.Options{})
		fences := map[string]int64{}
		var tick time.Time
		var mu sync.Mutex
		job := func(name string, f scheduler.Func) scheduler.Job {
			return scheduler.Job{Name: name, Retry: scheduler.Retry{Tries: 2, Wait: time.Millisecond}, Timeout: 500 * time.Millisecond,
				Func: func(ctx context.Context, r *scheduler.Run) error {
					mu.Lock()
					fences[name], tick = r.Fence, r.Tick
					mu.Unlock()
					r.KeepOutput(fmt.Sprint("try of ", name, ", fence ", r.Fence))
					return f(ctx, r)
				}}
		}
		tries := 0
		jobs := []scheduler.Job{
			job("ok", func(context.Context, *scheduler.Run) error { return nil }),
			job("failed", func(context.Context, *scheduler.Run) error { return errors.New("no") }),
			job("skipped", func(context.Context, *scheduler.Run) error { return scheduler.Skip("none") }),
			job("panic", func(context.Context, *scheduler.Run) error { panic("no") }),
			job("goexit", func(context.Context, *scheduler.Run) error { runtime.Goexit(); return nil }),
			job("timeout", func(ctx context.Context, _ *scheduler.Run) error { <-ctx.Done(); return ctx.Err() }),
			job("interrupted", func(ctx context.Context, _ *scheduler.Run) error { <-ctx.Done(); return ctx.Err() }),
			job("retried", func(_ context.Context, r *scheduler.Run) error {
				if tries++; tries == 1 {
					return errors.New("no")
				}
				r.KeepOutput("of the second try")
				r.KeepOutput(strings.Repeat("x", series.MaxOutput) + "\xffthe end")
				return nil
			}),
			{Name: "empty", Func: func(_ context.Context, r *scheduler.Run) error { r.KeepOutput(""); return nil }},
			{Name: "silent", Func: func(context.Context, *scheduler.Run) error { return nil }},
		}
		for i := range jobs {
			if jobs[i].Name == "interrupted" {
				jobs[i].Timeout, jobs[i].Interrupted = 0, scheduler.InterruptedLost
			}
		}
		n, _ := runFor(t, 1100*time.Millisecond, store, jobs...)
		for _, j := range jobs {
			o, err := store.Output(t.Context(), j.Name, tick.UnixMilli())
			want := series.Output{Key: j.Name, Number: tick.UnixMilli(), Fence: fences[j.Name], Text: fmt.Sprint("try of ", j.Name, ", fence ", fences[j.Name])}
			switch j.Name {
			case "empty", "silent":
				want = series.Output{}
			case "retried":
				want.Text = series.OutputText(strings.Repeat("x", series.MaxOutput) + "\uFFFDthe end")
			}
			if err != nil || o != want {
				t.Errorf("%s: the output is %+v, %v, want %+v", j.Name, o, err, want)
			}
		}
		if lost := n.Stats().OutputsLost; lost != 0 {
			t.Errorf("%d outputs lost", lost)
		}
	})
}

// A store that does not answer requests with outputs delays no run, no end and no stop for longer
// than one request may take, and each output is counted.
func TestOutputsDelayNothing(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(ctx context.Context) error{
		"silent":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"fails":   func(context.Context) error { return errors.New("no room") },
		"panics":  func(context.Context) error { panic("no") },
		"refuses": func(context.Context) error { return driver.ErrUnsupported },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				store := &keeper{Store: memlock.New(memlock.Options{}), keep: func(ctx context.Context, _ series.Output) error { return keep(ctx) }}
				ran := 0
				n, stopped := runFor(t, 10*time.Second+100*time.Millisecond, store, scheduler.Job{Name: "a", Func: func(_ context.Context, r *scheduler.Run) error {
					ran++
					if late := time.Since(r.Tick); late > 50*time.Millisecond {
						t.Errorf("the run of %v is late by %v", r.Tick, late)
					}
					r.KeepOutput("text")
					return nil
				}})
				synctest.Wait()
				if ran != 10 || n.Stats().OutputsLost != 10 {
					t.Errorf("%d runs, %d outputs lost, want 10 of each", ran, n.Stats().OutputsLost)
				}
				if stopped > 2*time.Second+100*time.Millisecond {
					t.Errorf("the stop took %v", stopped)
				}
				j, err := store.Journal(t.Context(), "a", 0)
				if last := j.Lines[len(j.Lines)-1]; err != nil || last.Outcome != series.OutcomeOK {
					t.Errorf("the last line is %+v, %v", last, err)
				}
			})
		})
	}
}

// A run on a store that keeps no outputs, and a run that a test makes, accept the text and drop it.
func TestOutputIsDropped(t *testing.T) {
	new(scheduler.Run).KeepOutput("text")
	bubble(t, func(t *testing.T) {
		n, _ := runFor(t, 1100*time.Millisecond, struct{ scheduler.Store }{memlock.New(memlock.Options{})},
			scheduler.Job{Name: "a", Func: func(_ context.Context, r *scheduler.Run) error { r.KeepOutput("text"); return nil }})
		if lost := n.Stats().OutputsLost; lost != 0 {
			t.Errorf("%d outputs lost", lost)
		}
	})
}

// The empty output of a later attempt replaces the output of the attempt before.
func TestEmptyOutputOfALaterAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := memlock.New(memlock.Options{})
		var tick time.Time
		job := scheduler.Job{Name: "a", Func: func(ctx context.Context, r *scheduler.Run) error {
			if r.Attempt > 1 || !tick.IsZero() {
				r.KeepOutput("")
				return nil
			}
			tick = r.Tick
			r.KeepOutput("of the first attempt")
			<-ctx.Done()
			return ctx.Err()
		}}
		for _, want := range []string{"of the first attempt", ""} {
			runFor(t, 1100*time.Millisecond, store, job)
			if o, err := store.Output(t.Context(), "a", tick.UnixMilli()); err != nil || o.Fence == 0 || o.Text != want {
				t.Errorf("the output is %+v, %v, want %q", o, err, want)
			}
		}
	})
}

// The output of a shard says whether the shard failed. An empty output of a later attempt of a shard
// is not sent, since it would replace the output of another shard.
func TestOutputsOfShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var kept []string
		store := &keeper{memlock.New(memlock.Options{}), func(_ context.Context, o series.Output) error {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, fmt.Sprintf("%q failed: %v", o.Text, o.Failed))
			return nil
		}}
		var tick time.Time
		again := false
		job := scheduler.Job{Name: "a", Shards: 3, Func: func(ctx context.Context, r *scheduler.Run) error {
			mu.Lock()
			if tick.IsZero() {
				tick = r.Tick
			}
			first, later := r.Tick.Equal(tick), r.Attempt > 1
			again = again || first && later
			mu.Unlock()
			switch {
			case !first:
			case later:
				r.KeepOutput("")
			case r.Shard == 0:
				r.KeepOutput("fine")
			case r.Shard == 1:
				r.KeepOutput("broken")
				return errors.New("no")
			default:
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		for range 2 {
			runFor(t, 1100*time.Millisecond, store, job)
		}
		slices.Sort(kept)
		if want := []string{`"broken" failed: true`, `"fine" failed: false`}; !again || !slices.Equal(kept, want) {
			t.Errorf("a second attempt: %v, kept %q, want %q", again, kept, want)
		}
	})
}

// A node that stops waits for the waiting outputs, at most as long as one request may take.
func TestStopWaitsForOutputs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		kept := 0
		store := &keeper{Store: memlock.New(memlock.Options{}), keep: func(ctx context.Context, _ series.Output) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(500 * time.Millisecond):
				kept++
				return nil
			}
		}}
		job := func(name string) scheduler.Job {
			return scheduler.Job{Name: name, Func: func(_ context.Context, r *scheduler.Run) error { r.KeepOutput("text"); return nil }}
		}
		n, _ := runFor(t, 1100*time.Millisecond, store, job("a"), job("b"))
		if kept != 2 || n.Stats().OutputsLost != 0 {
			t.Errorf("%d outputs kept, %d lost, want 2 and none", kept, n.Stats().OutputsLost)
		}
	})
}
