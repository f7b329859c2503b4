package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
)

// A change is requested up to requests times while the answer is doubt, with a pause of
// betweenRequests. All requests have the same operation, so the change is made once.
const (
	requests        = 3
	betweenRequests = 300 * time.Millisecond
)

// request requests a change. If a replica is attached, it must have the change: a replica that lags
// is doubt, because it may be promoted without the change. A refusal, and doubt that remains, is an
// error.
func request(ctx context.Context, s *clients.Store, c series.Control) (a series.ControlAnswer, err error) {
	if d, ok := s.Driver.(attached); ok {
		if n, err := d.Attached(ctx, c.Key); err == nil {
			c.Replicas = min(n, 1)
		}
	}
	for i := range requests {
		if i > 0 && wait.Sleep(ctx, betweenRequests) != nil {
			break
		}
		a = s.Front().Control(ctx, c)
		if a.Err == nil || s.Driver.Refuses(a.Err) {
			break
		}
	}
	switch {
	case a.Err != nil && s.Driver.Refuses(a.Err):
		return a, s.Failed(a.Err)
	case a.Err != nil:
		return a, s.Failed(fmt.Errorf("whether the %s of %s was done is not known: repeat the command for this job with --op %s: %w", c.Action, c.Key, c.Op, a.Err))
	case a.Refusal != "":
		return a, exit.With(exit.Refused, errors.New(refusalText(&c, &a)))
	}
	return a, nil
}

// attached is implemented by a store that counts the replicas of a key's server, including those
// that lag.
type attached interface {
	Attached(ctx context.Context, key string) (int, error)
}

// refusalText returns the reason why a change was not made.
func refusalText(c *series.Control, a *series.ControlAnswer) string {
	switch a.Refusal {
	case series.RefusedNotOpen:
		return fmt.Sprintf("%s was never opened by a node: there is nothing to %s", c.Key, c.Action)
	case series.RefusedOp:
		return fmt.Sprintf("the operation %s was used for another change of %s: nothing was done", c.Op, c.Key)
	case series.RefusedChanged:
		return fmt.Sprintf("%s: another change came first, %s: nothing was done, see how it stands and ask again", c.Key, latestText(&a.Latest))
	case series.RefusedNotPaused:
		return fmt.Sprintf("%s is not paused", c.Key)
	case series.RefusedPast:
		return fmt.Sprintf("%s: the pause would have been over before it began: nothing was done", c.Key)
	case series.RefusedAlive:
		return fmt.Sprintf("%s has a run that is alive: nothing was done, see cronce runs %s --alive", c.Key, c.Key)
	}
	if c.Action == series.ActionCancel {
		return cancelRefused(c, a)
	}
	return fmt.Sprintf("%s: %s: nothing was done", c.Key, a.Refusal)
}

// latestText describes the latest change of a job.
func latestText(l *series.Change) string {
	return fmt.Sprintf("%s by %s at %s%s", l.Action, terminal.Printable(l.Who), terminal.RFC3339(l.At), because(l.Reason))
}
