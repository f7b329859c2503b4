package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A wrapper makes middleware that counts how often it was built, and how often it ran.
type wrapper struct{ built, ran atomic.Int64 }

func (w *wrapper) around(next scheduler.Func) scheduler.Func {
	w.built.Add(1)
	return func(ctx context.Context, r *scheduler.Run) error {
		w.ran.Add(1)
		if err := next(ctx, r); err != nil {
			return fmt.Errorf("wrapped: %w", err)
		}
		return nil
	}
}

// Middleware is built once for each job, including jobs that are added or replaced later, and each
// try of each run calls it. Its panic is the panic of the run, and the error that it returns is the
// error of the try.
func TestMiddleware(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var node, own wrapper
		panics := func(next scheduler.Func) scheduler.Func {
			return func(ctx context.Context, r *scheduler.Run) error { panic(next(ctx, r)) }
		}
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Retry: scheduler.Retry{Tries: 3}, Middleware: []scheduler.Middleware{own.around}, Func: fails},
			scheduler.Job{Name: "b", Spec: "@every 1m", Func: func(context.Context, *scheduler.Run) error { return scheduler.Skip("no file") }},
			scheduler.Job{Name: "c", Spec: "@every 1m", Retry: scheduler.Retry{Tries: 3}, Middleware: []scheduler.Middleware{panics}, Func: fails})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Middleware = []scheduler.Middleware{node.around} }
		n := c.start()
		c.pass(5*time.Minute + 10*time.Second)
		c.wantTally("a", "ran failed 5")
		c.wantTally("b", "ran skipped 5")
		c.wantLogged(5, "run finished", "job", "c", "outcome", "panic")
		c.wantLogged(5, "run finished", "job", "a", "err", "wrapped: wrapped: broken")
		c.wantLogged(5, "run finished", "job", "b", "err", "wrapped: no file")
		if got := []int64{own.built.Load(), own.ran.Load(), node.built.Load(), node.ran.Load()}; !slices.Equal(got, []int64{1, 15, 3, 25}) {
			t.Errorf("the job's was built and ran, and the node's: %v, want 1 15 3 25", got)
		}
		later := scheduler.Job{Name: "b", Spec: "@every 1m", Middleware: []scheduler.Middleware{own.around, func(next scheduler.Func) scheduler.Func {
			_ = n.Jobs() // no mutex is held
			return next
		}}, Func: nothing}
		if err := errors.Join(n.Remove("b"), n.Add(n.recording([]scheduler.Job{later})...), n.Replace(n.recording([]scheduler.Job{later})...)); err != nil {
			t.Error(err)
		}
		before := own.ran.Load()
		c.pass(time.Minute)
		c.wantLogged(1, "run finished", "job", "b", "outcome", "ok")
		if ran := own.ran.Load() - before; ran != 4 { // once by b, three times by a
			t.Errorf("the middleware ran %d times, want 4", ran)
		}
	})
}

// Middleware that is nil, returns nil or panics is a fault with its path, in New, Add and Replace.
func TestMiddlewareFaults(t *testing.T) {
	t.Parallel()
	nothingComes := func(scheduler.Func) scheduler.Func { return nil }
	breaks := func(scheduler.Func) scheduler.Func { panic("no tracer") }
	pass := func(next scheduler.Func) scheduler.Func { return next }
	job := func(m ...scheduler.Middleware) scheduler.Job {
		return scheduler.Job{Name: "a", Spec: "@daily", Func: nothing, Middleware: m}
	}
	for _, tc := range []struct {
		node []scheduler.Middleware
		job  scheduler.Job
		want []string
	}{
		{nil, job(pass, nil), []string{"jobs[0].middleware[1]: is nil"}},
		{nil, job(nil, nothingComes, pass), []string{"jobs[0].middleware[1]: returned no function"}},
		{[]scheduler.Middleware{nil, pass}, job(), []string{"middleware[0]: is nil"}},
		{[]scheduler.Middleware{nothingComes}, job(), []string{"jobs[0]: middleware[0]: returned no function"}},
		{nil, job(pass, breaks), []string{"jobs[0].middleware[1]: panicked: no tracer"}},
		{[]scheduler.Middleware{pass, breaks}, job(), []string{"jobs[0]: middleware[1]: panicked: no tracer"}},
		{[]scheduler.Middleware{nothingComes}, scheduler.Job{Name: "a", Spec: "@daily"}, []string{"jobs[0].func: is nil, a function is needed"}},
	} {
		_, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Middleware: tc.node, Jobs: []scheduler.Job{tc.job}})
		if err == nil {
			t.Errorf("%v is accepted", tc.want)
			continue
		}
		got := strings.Split(strings.TrimPrefix(err.Error(), "scheduler: configuration: "), "\n")
		if !slices.Equal(got, tc.want) {
			t.Errorf("faults %q, want %q", got, tc.want)
		}
	}
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{job()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Replace(job(breaks)); err == nil || !strings.Contains(err.Error(), "jobs[0].middleware[0]: panicked: no tracer") {
		t.Errorf("replaced by one that panics: %v", err)
	}
	if err := n.Replace(job(nil)); err == nil || !strings.Contains(err.Error(), "jobs[0].middleware[0]: is nil") {
		t.Errorf("replaced: %v", err)
	}
}

// A caller that changes its slice of middleware after New changes no job that is added later.
func TestMiddlewareIsCopied(t *testing.T) {
	t.Parallel()
	var w wrapper
	node := []scheduler.Middleware{w.around}
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Middleware: node})
	if err != nil {
		t.Fatal(err)
	}
	node[0] = nil
	if err := n.Add(scheduler.Job{Name: "a", Spec: "@daily", Func: nothing}); err != nil || w.built.Load() != 1 {
		t.Errorf("%v, the middleware was built %d times, want once", err, w.built.Load())
	}
}
