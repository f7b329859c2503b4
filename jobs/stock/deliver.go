package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Name and spec of the jobs that DeliverEvents returns. The name of a job is DeliverEventsName, a
// dot, and the name of its target.
const (
	DeliverEventsName = "deliverEvents"
	DeliverEventsSpec = "* * * * * ?" // every second
)

const (
	maxDelivered = 500              // events of one pass
	passTime     = 5 * time.Second  // of one pass; requests that began in it may end later
	deliverTime  = 10 * time.Second // after this time a run begins no further pass; the next tick continues

	firstWait = time.Second
	longWait  = 5 * time.Minute

	// passedBy is the number of deliveries in which later events must succeed before a failing
	// event is put aside.
	passedBy = 5
	// maxAside bounds the events of a target that are put aside.
	maxAside = 1000
	// probe is the number of events in a pass while the first of them fails. It is larger than the
	// number of events of one order, so that an event of another order is among them.
	probe = 8
)

// DeliverEvents returns a job that delivers the events of a sale to one target. Each target has a
// job of its own, so that a slow or failing target delays no other. The first run adds the target:
// from then on events are written, and the target gets the events that come later. A target that is
// configured again within Options.EventRetention continues at its position. The job's fields may be
// changed before it is registered. A tick is skipped while the previous run works, and the tick of
// a dead node is run again.
//
// After a failure the target is retried after a second, doubling up to five minutes, or after the
// time that the target names. No event is dropped meanwhile. An event that the target refuses
// because of its content is put aside: see Sale.Aside.
//
// The error is a *FieldError if the sale is nil or has no Options.Book, or if the target's name is
// invalid.
func DeliverEvents(s *Sale, t Target) (scheduler.Job, error) {
	switch {
	case s == nil:
		return scheduler.Job{}, fmt.Errorf("stock: deliver events: %w", &FieldError{"sale", "nil", "a sale"})
	case s.options.Book == nil:
		return scheduler.Job{}, fmt.Errorf("stock: deliver events: %w", errNoBook)
	case t == nil || !targetPattern.MatchString(t.Name()):
		return scheduler.Job{}, fmt.Errorf("stock: deliver events: %w", &FieldError{"target", "nil, or of another name", "a target whose name has a letter, then up to 31 of a-z 0-9 -"})
	}
	return scheduler.Job{
		Name: DeliverEventsName + "." + t.Name(), Spec: DeliverEventsSpec, Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error { return newDeliveryRun(s, t, workOf(run)).run(ctx) },
	}, nil
}

// A deliveryRun is one run of deliverEvents.
type deliveryRun struct {
	sale   *Sale
	book   *Database
	target Target
	work   work
	at     cursor
	stored int64 // position of the cursor in the database
	done   int   // events delivered by this run
}

func newDeliveryRun(s *Sale, t Target, w work) *deliveryRun {
	return &deliveryRun{sale: s, book: s.options.Book, target: t, work: w}
}

func (c *deliveryRun) run(ctx context.Context) (err error) {
	if err := c.work.may(ctx, "enrol"); err != nil {
		return err
	}
	if err := c.book.Migrate(ctx); err != nil {
		return err
	}
	if c.at, err = c.book.enrol(ctx, c.sale.ID(), c.target.Name(), c.work.fence); err != nil {
		return fmt.Errorf("stock: deliver events: %w", err)
	}
	if c.stored = c.at.seq; c.at.wait > 0 {
		return nil // the previous run has logged the reason
	}
	defer func() {
		if c.done > 0 {
			c.work.log.Info("events delivered", slog.String("target", c.target.Name()), slog.Int("events", c.done))
		}
	}()
	if err := c.position(ctx); err != nil {
		return err
	}
	if err := c.checkTexts(ctx); err != nil {
		return fmt.Errorf("stock: deliver events to %s: %w", c.target.Name(), err)
	}
	if err = c.passes(ctx); err == nil {
		err = c.tryAgain(ctx)
	}
	if err == nil && c.at.troubled { // there was nothing to deliver, so the stored error is over
		err = c.move(ctx, advance{seq: c.at.seq})
	}
	if err != nil {
		return fmt.Errorf("stock: deliver events to %s: %w", c.target.Name(), err)
	}
	return nil
}

// passes delivers events until none is left or deliverTime is over.
func (c *deliveryRun) passes(ctx context.Context) error {
	for end := time.Now().Add(deliverTime); time.Now().Before(end); {
		if more, err := c.pass(ctx); err != nil || !more {
			return err
		}
	}
	return nil
}

// position compares the cursor with a target that knows its own position. It moves the cursor back
// if the target has lost events, as far as the book still has them.
func (c *deliveryRun) position(ctx context.Context) error {
	p, ok := c.target.(positioned)
	if !ok {
		return nil
	}
	at, err := p.position(ctx, c.at.since, c.at.seq)
	if err != nil {
		return c.trouble(ctx, c.at.seq+1, Delivery{Err: err})
	}
	if at == c.at.seq {
		return nil
	}
	if at < c.at.seq {
		if c.at.skipped >= 0 && at >= c.at.skipped {
			return nil // the events between were skipped
		}
		c.work.log.Warn("events lost by their target", slog.String("target", c.target.Name()), slog.Int64("from", at+1), slog.Int64("to", c.at.seq))
	}
	c.at.seq = at
	return c.move(ctx, advance{seq: at, has: true})
}

// pass delivers up to maxDelivered events, and reports whether there may be more.
func (c *deliveryRun) pass(ctx context.Context) (more bool, err error) {
	if err := c.work.may(ctx, "read"); err != nil {
		return false, err
	}
	n := maxDelivered
	if c.at.tries > 0 {
		n = probe
	}
	events, err := c.book.eventsAfter(ctx, c.sale.ID(), c.at.seq, n)
	if err != nil || len(events) == 0 {
		return false, err
	}
	if err := c.work.may(ctx, "deliver"); err != nil {
		return false, err
	}
	deliver := c.deliver
	if c.at.tries > 0 && c.at.failing >= longFailing {
		deliver = c.alone
	}
	d := deliver(ctx, events)
	if d.Done > 0 {
		c.at.passed = 0 // the next event is a different one
	}
	if d.Err != nil && d.Passable && c.at.passed+1 >= passedBy && d.Done < len(events) {
		d.Refused = append(d.Refused, Refusal{events[d.Done], fmt.Sprintf("%d times, while others got through: %s", c.at.passed+1, d.Err.Error())})
		d.Done, d.Err = d.Done+1, nil
	}
	if len(d.Refused) > 0 {
		if d, err = c.room(ctx, events, d); err != nil {
			return false, err
		}
	}
	if err := c.work.may(ctx, "advance"); err != nil {
		return false, err
	}
	if d.Done > 0 {
		c.at.seq, c.at.tries, c.at.passed, c.at.troubled = events[d.Done-1].Seq, 0, 0, false
		c.done += d.Done - len(d.Refused)
	}
	for _, r := range d.Refused {
		c.work.log.Error("event put aside", slog.String("target", c.target.Name()), slog.Int64("seq", r.Event.Seq), slog.String("order", r.Event.Order),
			slog.String("kind", string(r.Event.Kind)), slog.String("reason", r.Reason))
	}
	if d.Err != nil {
		return false, c.trouble(ctx, c.at.seq+1, d)
	}
	return true, c.move(ctx, advance{seq: c.at.seq, aside: d.Refused, kept: d.kept, has: true})
}

// room checks the limit of events that are put aside. A target that refuses more than maxAside
// events has another fault, so the run fails instead.
func (c *deliveryRun) room(ctx context.Context, events []Event, d Delivery) (Delivery, error) {
	n, err := c.book.countAside(ctx, c.sale.ID(), c.target.Name())
	if err != nil || n+len(d.Refused) <= maxAside {
		return d, err
	}
	first := d.Refused[0]
	for i := range events {
		if events[i].Seq == first.Event.Seq {
			d.Done = i
		}
	}
	d.Refused, d.After = nil, 0
	d.Err = fmt.Errorf("%d events are put aside already, and it refuses the next one: %s", n, first.Reason)
	return d, nil
}

// deliver sends events to the target for at most passTime.
func (c *deliveryRun) deliver(ctx context.Context, events []Event) Delivery {
	bounded, stop := context.WithTimeout(ctx, passTime)
	defer stop()
	d := c.target.Deliver(bounded, events)
	if ctx.Err() == nil && errors.Is(d.Err, context.DeadlineExceeded) && d.Done > 0 && bounded.Err() != nil {
		d.Err = nil // the pass is over and began no further request; the next pass continues
	}
	d.Done = min(max(0, d.Done), len(events))
	if d.Done == 0 && d.Err == nil {
		d.Err = errors.New("the target has delivered nothing, and gave no reason")
	}
	return d
}

// trouble stores the time of the next delivery after a failure, and returns the error of the run.
func (c *deliveryRun) trouble(ctx context.Context, seq int64, d Delivery) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the run was ended, the target has not failed
	}
	wait := d.After
	if wait <= 0 {
		wait = firstWait << min(c.at.tries, 10)
		wait = min(wait, longWait)
		wait -= rand.N(wait/4 + 1)
	}
	if d.Passable && d.Outage {
		wait = min(wait, besideWait) // the target takes other events
	}
	a := advance{seq: c.at.seq, aside: d.Refused, kept: d.kept, err: d.Err, wait: wait, has: d.Done > 0}
	if d.Passable {
		a.later = 1
	}
	return c.leave(ctx, seq, a)
}

// leave stores the time of the next delivery and the reason, and returns the reason as the error of
// the run.
func (c *deliveryRun) leave(ctx context.Context, seq int64, a advance) error {
	if err := c.move(ctx, a); err != nil {
		return err
	}
	return fmt.Errorf("event %d, asked again in %v: %w", seq, a.wait.Round(time.Millisecond), a.err)
}

func (c *deliveryRun) move(ctx context.Context, a advance) error {
	a.from = c.stored
	err := c.book.advance(ctx, c.sale.ID(), c.target.Name(), c.work.fence, a)
	if err == nil {
		c.stored = a.seq
	}
	return err
}

const (
	// longFailing is the time for which an event must fail, as in an outage, before the target is
	// tried with other events.
	longFailing = longWait
	// besideWait bounds the wait for a target that takes other events.
	besideWait = time.Minute
)

// alone delivers the next event, which has failed for longFailing. If it fails again, and the
// reason may be an outage, alone delivers one event of another order and then the first event once
// more. A target that takes the other event and fails the first before and after it has no outage,
// which counts as if later events had succeeded. The cursor does not move past the other event, so
// the target gets it again.
func (c *deliveryRun) alone(ctx context.Context, events []Event) Delivery {
	first := c.deliver(ctx, events[:1])
	if first.Err == nil || ctx.Err() != nil {
		return first
	}
	if !first.Outage { // the target distinguishes such failures itself
		return c.deliver(ctx, events)
	}
	others := nextOfOthers(events)
	if len(others) == 0 {
		return first
	}
	i := rand.IntN(len(others)) // a different one each time, since the target may refuse that one as well
	if d := c.deliver(ctx, others[i:i+1]); d.Err != nil || len(d.Refused) > 0 {
		return first
	}
	again := c.deliver(ctx, events[:1])
	again.Passable = again.Err != nil && again.Outage
	return again
}

// nextOfOthers returns the next event of each order other than the first event's.
func nextOfOthers(events []Event) (others []Event) {
	seen := map[string]bool{events[0].Order: true}
	for _, e := range events {
		if !seen[e.Order] {
			seen[e.Order], others = true, append(others, e)
		}
	}
	return others
}
