package stock

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// longFailing is for how long an event fails, as in an outage, before the target is asked whether
	// it takes others.
	longFailing = longWait
	// besideWait is for how long a target at most that takes others is left alone.
	besideWait = time.Minute
)

// alone delivers the next event, which has failed for long. If it fails again with what may be an
// outage, one of another order is delivered, and then itself once more: a target that takes the one and
// refuses the other before and after is not out. That is counted as if later events had got through. The
// cursor does not move by the other one: the target gets it again.
func (c *courier) alone(ctx context.Context, events []Event) Delivery {
	first := c.deliver(ctx, events[:1])
	if first.Err == nil || ctx.Err() != nil {
		return first
	}
	if !first.Outage { // the target has its own ways to find out
		return c.deliver(ctx, events)
	}
	others := nextOfOthers(events)
	if len(others) == 0 {
		return first
	}
	i := rand.IntN(len(others)) // another one each time: it may be refused, too
	if d := c.deliver(ctx, others[i:i+1]); d.Err != nil || len(d.Refused) > 0 {
		return first
	}
	again := c.deliver(ctx, events[:1])
	again.Passable = again.Err != nil && again.Outage
	return again
}

// nextOfOthers are the next events of other orders than the first one's, of each order one.
func nextOfOthers(events []Event) (others []Event) {
	seen := map[string]bool{events[0].Order: true}
	for _, e := range events {
		if !seen[e.Order] {
			seen[e.Order], others = true, append(others, e)
		}
	}
	return others
}
