package stock

import (
	"context"
	"fmt"
)

// tryAgain delivers events that were put aside and are to be tried again, each by itself, after
// all others: one that fails again keeps none of them. It is put aside again then, unless the target
// says when it takes events again, and has taken none in this run.
func (c *courier) tryAgain(ctx context.Context) error {
	sale, target := c.sale.ID(), c.target.Name()
	events, err := c.book.asideAgain(ctx, sale, target)
	if err != nil {
		return err
	}
	for i := range events {
		if err := c.work.may(ctx, "try again"); err != nil {
			return err
		}
		seq, refused := events[i].Seq, ""
		d := c.deliver(ctx, events[i:i+1])
		failed := len(d.Refused) == 0 && d.Done == 0
		switch {
		case failed && (d.After > 0 && c.done == 0 || ctx.Err() != nil):
			return c.busy(ctx, seq, d)
		case failed:
			refused = d.Err.Error()
		case len(d.Refused) > 0:
			refused = d.Refused[0].Reason
		default:
			c.done++
		}
		if err := c.book.triedAgain(ctx, sale, target, c.work.fence, seq, refused, d.kept); err != nil {
			return err
		}
		if failed {
			return fmt.Errorf("event %d is put aside again: %w", seq, d.Err)
		}
	}
	return nil
}

// busy leaves the target alone as long as it says about an event that was tried again, and is the error
// of the run. Events that come meanwhile wait, too: not for long, since it may be about this one alone. It
// says nothing of the next one, which has not failed by it.
func (c *courier) busy(ctx context.Context, seq int64, d Delivery) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // it is not the target's
	}
	return c.leave(ctx, seq, advance{seq: c.at.seq, err: d.Err, wait: min(d.After, longWait), other: true})
}
