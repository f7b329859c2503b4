package cronce_test

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A node runs a job each second until its context ends.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	report := func(_ context.Context, run *scheduler.Run) error {
		fmt.Println(run.Job, run.Attempt)
		stop() // one tick is enough here
		return nil
	}
	node, err := scheduler.New(scheduler.Config{
		Store: memlock.New(memlock.Options{}), // redislock.New, sqllock.New or zklock.New for several processes
		Jobs:  []scheduler.Job{{Name: "report", Spec: "* * * * * *", Func: report}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: report 1
}
