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

// A store that does not answer whether it is fit is asked again after a pause that
// doubles up to the longest.
const (
	fitPause     = 250 * time.Millisecond
	fitLongest   = 2 * time.Second
	fitQuestions = 4 // how many requests a store may need, one after the other
)

// fit asks a store that knows whether it is fit, until it answers. Its risks are
// logged. The error is what refuses the store; it is nil also if ctx ended first.
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
