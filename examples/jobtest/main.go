// Command jobtest is a job with a unit test: main_test.go runs it for hours of
// simulated time, without a server and without a wait.
package main

import (
	"context"
	"log"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	node, err := scheduler.New(scheduler.Config{
		Store:  memlock.New(memlock.Options{}), // of this process alone: a cluster needs a store that its nodes share
		Logger: slog.Default(),
		Jobs:   []scheduler.Job{Report(func(hour time.Time) error { log.Println("report of", hour); return nil })},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := node.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// Report is the job under test: at minute 5 it sends the report of the hour before.
func Report(send func(hour time.Time) error) scheduler.Job {
	return scheduler.Job{
		Name:     "report",
		Spec:     "5 * * * *",
		Takeover: scheduler.TakeoverRerun,
		Retry:    scheduler.Retry{Tries: 3, Wait: time.Minute},
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return send(run.Tick.Truncate(time.Hour).Add(-time.Hour)) // of the tick, not of the clock: a run can be late
		},
	}
}
