package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// tick is one tick of a job on one node, granted, run and ended, on the store in memory and without a logger. Time is
// simulated, so that nothing else is due near the tick. A simulation needs a test, and the process exits with it.
func tick(ctx context.Context, measure measure) error {
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Tick", F: func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := lateTick(t.Context(), measure); err != nil {
				t.Error(err)
			}
		})
	}}}, nil, nil)
	return nil
}

// lateTick runs a node with a job that is due every second, and measures one of its ticks.
func lateTick(ctx context.Context, measure measure) error {
	time.Sleep(500 * time.Millisecond) // heartbeats and other timers of the node are then due half a second away from the ticks
	store := memlock.New(memlock.Options{})
	runs := 0
	node, err := scheduler.New(scheduler.Config{
		Store: store,
		Jobs:  []scheduler.Job{{Name: "report", Spec: "* * * * * *", Func: func(context.Context, *scheduler.Run) error { runs++; return nil }}},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	due := time.Now().Truncate(time.Second).Add(time.Minute)
	time.Sleep(time.Until(due) - 100*time.Millisecond)
	synctest.Wait()
	before := runs
	err = measure(func() error {
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		return nil
	})
	if runs-before != 1 {
		err = errors.Join(err, fmt.Errorf("tick: %d runs in 300 ms, want 1", runs-before))
	}
	journal, read := store.Journal(ctx, "report", 1)
	if read != nil || len(journal.Lines) != 1 || journal.Lines[0].To != due.UnixMilli() || journal.Lines[0].Outcome == "" {
		err = errors.Join(err, read, fmt.Errorf("tick: the journal is %+v, want the end of %d", journal.Lines, due.UnixMilli()))
	}
	stop()
	return errors.Join(err, <-ended)
}
