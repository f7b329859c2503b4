package scheduler_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// Three jobs load the same database, which shall bear two of them at once. On several nodes with one
// store the limit holds over all nodes.
func ExampleLimit() {
	ctx, stop := context.WithCancel(context.Background())
	var running, most, ended atomic.Int64
	load := func(context.Context, *scheduler.Run) error {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		if ended.Add(1) == 3 {
			stop()
		}
		return nil
	}
	at := time.Now().Add(2 * time.Second).Truncate(time.Second)
	database := scheduler.Limit{Name: "database", Of: 2}
	node, err := scheduler.New(scheduler.Config{Name: "pod-1", Store: memlock.New(memlock.Options{}), Jobs: []scheduler.Job{
		{Name: "bills", At: at, Limit: database, Func: load},
		{Name: "mails", At: at, Limit: database, Func: load},
		{Name: "sums", At: at, Limit: database, Func: load},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(ended.Load(), "runs, at most 2 at once:", most.Load() <= 2)
	// Output:
	// 3 runs, at most 2 at once: true
}
