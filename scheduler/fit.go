package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/bounded"
	"github.com/cronce/cronce/scheduler/internal/health"
)

// fitQuestions is the most requests that a store sends for its check, one after the other.
const fitQuestions = 4

// fitPauses are the pauses before the node repeats a check that the store did not answer.
var fitPauses = wait.Backoff{First: 250 * time.Millisecond, Longest: 2 * time.Second}

// fit checks a store that is a driver.StoreChecker, until it answers. It logs the risks of the
// store. It returns an error if the store is unfit, and nil if ctx ends first.
func (n *Node) fit(ctx context.Context) error {
	store, knows := n.cfg.Store.(driver.StoreChecker)
	if !knows {
		return nil
	}
	for failed := 1; ; failed++ {
		risks, err := wait.CallWithin(ctx, bounded.Times(fitQuestions, n.cfg.StoreTimeout), store.CheckStore)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, lock.ErrUnfit):
			return fmt.Errorf("scheduler: run: %w", err)
		}
		n.monitor.Answered(health.Part{Kind: health.Check}, err)
		if err == nil {
			for _, r := range risks {
				n.events.storeRisk(r)
			}
			return nil
		}
		if wait.Sleep(ctx, fitPauses.After(failed)) != nil {
			return nil
		}
	}
}
