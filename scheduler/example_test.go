package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A node runs the jobs of its cluster until its context ends. Nodes in other
// processes share a store such as redislock; memlock is for one process.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	node, err := scheduler.New(scheduler.Config{
		Name:  "pod-1",
		Store: memlock.New(memlock.Options{}),
		Jobs: []scheduler.Job{{
			Name:    "report",
			Spec:    "* * * * * *", // every second
			Timeout: 10 * time.Second,
			Func: func(_ context.Context, run *scheduler.Run) error {
				fmt.Printf("%s, attempt %d\n", run.Job, run.Attempt)
				stop()
				return nil
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: report, attempt 1
}

// Faults are returned together, each with its path.
func ExampleNew_faults() {
	_, err := scheduler.New(scheduler.Config{
		Name:  "pod-1",
		Store: memlock.New(memlock.Options{}),
		Jobs: []scheduler.Job{
			{Name: "a b", Spec: "@daily", Func: func(context.Context, *scheduler.Run) error { return nil }},
			{Name: "c", Spec: "0 0 30 2 *"},
		},
	})
	fmt.Println(err)
	// Output:
	// scheduler: configuration: jobs[0].name: is "a b", must be ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$
	// jobs[1].func: is nil, a function is needed
	// jobs[1].spec: spec "0 0 30 2 *": day of month "30": never fires: no such day in month "2"
}

// A function's error decides how its run continues. Middleware gets this error too.
func ExampleSkip() {
	ctx, stop := context.WithCancel(context.Background())
	logging := func(next scheduler.Func) scheduler.Func {
		return func(ctx context.Context, run *scheduler.Run) error {
			err := next(ctx, run)
			fmt.Printf("%s: %v, skipped: %t\n", run.Job, err, errors.Is(err, scheduler.ErrSkipped))
			return err
		}
	}
	node, err := scheduler.New(scheduler.Config{
		Name:       "pod-1",
		Store:      memlock.New(memlock.Options{}),
		Middleware: []scheduler.Middleware{logging},
		Jobs: []scheduler.Job{{
			Name:  "import",
			Spec:  "* * * * * *",
			Retry: scheduler.Retry{Tries: 3},
			Func: func(context.Context, *scheduler.Run) error {
				stop()
				return scheduler.Skip("no new file")
			},
		}},
		Observers: []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) {
			if e.Kind == scheduler.EventRunFinished {
				fmt.Printf("%s, outcome %s: %s\n", e.Kind, e.Outcome, e.Err)
			}
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// import: no new file, skipped: true
	// run finished, outcome skipped: no new file
}

// A gateway says when to try again. An error that no other try would mend ends the run.
func ExampleRetryAfter() {
	ctx, stop := context.WithCancel(context.Background())
	answers := []error{
		scheduler.RetryAfter(50*time.Millisecond, errors.New("429 Too Many Requests")),
		fmt.Errorf("the order: %w", scheduler.Permanent(errors.New("404 Not Found"))),
	}
	node, err := scheduler.New(scheduler.Config{
		Name:  "pod-1",
		Store: memlock.New(memlock.Options{}),
		Jobs: []scheduler.Job{{
			Name:  "order",
			Spec:  "* * * * * *",
			Retry: scheduler.Retry{Tries: 5, Wait: time.Minute, Jitter: 0.2, For: time.Hour},
			Func: func(context.Context, *scheduler.Run) error {
				answer := answers[0]
				if answers = answers[1:]; len(answers) == 0 {
					stop()
				}
				return answer
			},
		}},
		Observers: []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) {
			if e.Kind == scheduler.EventTryFailed || e.Kind == scheduler.EventRunFinished {
				fmt.Println(e.Kind, e.Outcome, e.Err)
			}
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// try failed  429 Too Many Requests
	// run finished failed the order: 404 Not Found
}

// The middleware of the node is outside the middleware of the job, and the first of each is the
// outermost.
func ExampleMiddleware() {
	named := func(name string) scheduler.Middleware {
		return func(next scheduler.Func) scheduler.Func {
			return func(ctx context.Context, run *scheduler.Run) error {
				fmt.Println(name, "begins")
				defer fmt.Println(name, "ends")
				return next(ctx, run)
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	node, err := scheduler.New(scheduler.Config{
		Name:       "pod-1",
		Store:      memlock.New(memlock.Options{}),
		Middleware: []scheduler.Middleware{named("trace"), named("limit")},
		Jobs: []scheduler.Job{{
			Name:       "report",
			Spec:       "* * * * * *",
			Middleware: []scheduler.Middleware{named("transaction")},
			Func: func(context.Context, *scheduler.Run) error {
				stop()
				fmt.Println("report")
				return nil
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// trace begins
	// limit begins
	// transaction begins
	// report
	// transaction ends
	// limit ends
	// trace ends
}

// A job can be added while the node runs.
func ExampleNode_Add() {
	node, err := scheduler.New(scheduler.Config{Name: "pod-1", Store: memlock.New(memlock.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	job := scheduler.Job{Name: "report", Spec: "@daily", Func: func(context.Context, *scheduler.Run) error { return nil }}
	fmt.Println(node.Add(job))
	fmt.Println(node.Add(job))
	// Output:
	// <nil>
	// scheduler: add: jobs[0].name: "report" is taken by another job
}

// Jobs are replaced and removed while the node runs. Each call makes all of its changes, or none.
func ExampleNode_Replace() {
	work := func(context.Context, *scheduler.Run) error { return nil }
	node, err := scheduler.New(scheduler.Config{Name: "pod-1", Store: memlock.New(memlock.Options{}), Jobs: []scheduler.Job{
		{Name: "bill", Spec: "0 3 * * *", Func: work}, {Name: "report", Spec: "@daily", Func: work},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(node.Replace(scheduler.Job{Name: "bill", Spec: "0 4 * * *", Func: work}))
	fmt.Println(node.Remove("report", "raport"))
	fmt.Println(node.Remove("report"))
	for _, job := range node.Jobs() {
		fmt.Println(job.Name, job.Spec, job.Zone)
	}
	// Output:
	// <nil>
	// scheduler: remove: names[1]: "raport" is no job of this node
	// <nil>
	// bill 0 4 * * * UTC
}
