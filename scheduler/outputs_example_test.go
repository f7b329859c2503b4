package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A function makes the store keep the end of its output, with any outcome. cronce why and the pages
// show it, and a program can read it.
func ExampleRun_KeepOutput() {
	store := memlock.New(memlock.Options{})
	ctx, stop := context.WithCancel(context.Background())
	var tick time.Time
	node, err := scheduler.New(scheduler.Config{Store: store, Jobs: []scheduler.Job{{
		Name: "report",
		Spec: "* * * * * *",
		Func: func(_ context.Context, run *scheduler.Run) error {
			var out strings.Builder
			defer func() { run.KeepOutput(out.String()) }()
			fmt.Fprintln(&out, "3 rows read")
			fmt.Fprintln(&out, "the last one has no date")
			tick = run.Tick
			stop()
			return nil
		},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	kept, err := store.Output(context.Background(), "report", tick.UnixMilli())
	fmt.Print(kept.Text, err)
	// Output:
	// 3 rows read
	// the last one has no date
	// <nil>
}
