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

// If a store does not answer its check, the node repeats the check after a pause that doubles up to
// fitLongest.
const (
	fitPause     = 250 * time.Millisecond
	fitLongest   = 2 * time.Second
	fitQuestions = 4 // the most requests that a store sends for its check, one after the other
)

// fit checks a store that is a driver.StoreChecker, until it answers. It logs the risks of the
// store. It returns an error if the store is unfit, and nil if ctx ends first.
func (n *Node) fit(ctx context.Context) error {
	store, knows := n.cfg.Store.(driver.StoreChecker)
	if !knows {
		return nil
	}
	for pause := fitPause; ; pause = min(2*pause, fitLongest) {
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
		if wait.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}
