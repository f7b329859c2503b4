package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
)

// requests is how often a change is asked for while the answer is doubt, and betweenRequests
// how long is waited in between. The operation is the same, so it is done once.
const (
	requests        = 3
	betweenRequests = 300 * time.Millisecond
)

// request asks for a change, which a replica must have where one is attached: one that lags is
// doubt, since it may be promoted without the change. A refusal, and doubt that is left, is an error.
func request(ctx context.Context, s *clients.Store, c series.Control) (a series.ControlAnswer, err error) {
	if d, ok := s.Driver.(attached); ok {
		if n, err := d.Attached(ctx, c.Key); err == nil {
			c.Replicas = min(n, 1)
		}
	}
	for i := range requests {
		if i > 0 && !wait(ctx) {
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
	case a.Kind == series.ControlRefused:
		return a, exit.With(exit.Refused, errors.New(refusalText(&c, &a)))
	}
	return a, nil
}

// attached is implemented by a store that counts the replicas of the server of a key, whether they
// lag or not.
type attached interface {
	Attached(ctx context.Context, key string) (int, error)
}

func wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(betweenRequests):
		return true
	}
}

// refusalText says why nothing was done.
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
	return fmt.Sprintf("%s: %s: nothing was done", c.Key, a.Refusal)
}

// latestText says what the latest change of a job was.
func latestText(l *series.Change) string {
	return fmt.Sprintf("%s by %s at %s%s", l.Action, terminal.Printable(l.Who), terminal.RFC3339(l.At), because(l.Reason))
}
