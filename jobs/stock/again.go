package stock

import "context"

// tryAgain delivers events that were put aside and are to be tried again, each by itself.
// What comes meanwhile is delivered by the same run, after it.
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
		d := c.deliver(ctx, events[i:i+1])
		refused := ""
		switch {
		case len(d.Refused) > 0:
			refused = d.Refused[0].Reason
		case d.Done == 0:
			return c.trouble(ctx, d)
		default:
			c.done++
		}
		if err := c.book.triedAgain(ctx, sale, target, c.work.fence, events[i].Seq, refused); err != nil {
			return err
		}
	}
	return nil
}
