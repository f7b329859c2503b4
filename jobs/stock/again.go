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
			d.After = min(d.After, longWait) // events that come meanwhile wait, too
			return c.trouble(ctx, seq, d)
		case failed:
			refused = d.Err.Error()
		case len(d.Refused) > 0:
			refused = d.Refused[0].Reason
		default:
			c.done++
		}
		if err := c.book.triedAgain(ctx, sale, target, c.work.fence, seq, refused); err != nil {
			return err
		}
		if failed {
			return fmt.Errorf("event %d is put aside again: %w", seq, d.Err)
		}
	}
	return nil
}
