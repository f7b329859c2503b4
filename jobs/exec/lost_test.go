package exec_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// An unrenewed store answers no renewal of a run for a while.
type unrenewed struct {
	*memlock.Store
	silent atomic.Bool
}

func (s *unrenewed) RenewRuns(ctx context.Context, runs []series.RunRef) []series.RenewAnswer {
	if !s.silent.Load() {
		return s.Store.RenewRuns(ctx, runs)
	}
	answers := make([]series.RenewAnswer, len(runs))
	for i := range answers {
		answers[i].Err = errors.New("no answer")
	}
	return answers
}

// The store answers no renewal, and the command is ended before the lease. Its run is lost, not failed, so the job's takeover runs
// the tick again.
func TestEndedForALostLease(t *testing.T) {
	t.Parallel()
	store := &unrenewed{Store: memlock.New(memlock.Options{})}
	f, err := runner(t).Func(sh("exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	outcomes, started := make(chan string, 100), make(chan int, 100)
	n, err := scheduler.New(scheduler.Config{Store: store, Logger: slog.New(slog.DiscardHandler), CancelGrace: time.Minute, Grace: time.Millisecond,
		Jobs: []scheduler.Job{{Name: "a", Spec: "@every 1s", Deadline: time.Hour, Lease: 1500 * time.Millisecond, Takeover: scheduler.TakeoverRerun, Func: f}},
		Observers: []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) {
			switch e.Kind {
			case scheduler.EventRunStarted:
				started <- e.Attempt
			case scheduler.EventRunFinished:
				outcomes <- e.Outcome
			}
		})}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-started
	store.silent.Store(true)
	if got := <-outcomes; got != series.OutcomeLost {
		t.Errorf("the run is %s, want lost", got)
	}
	store.silent.Store(false)
	if attempt := <-started; attempt != 2 {
		t.Errorf("attempt %d started next, want the second one of the tick", attempt)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
