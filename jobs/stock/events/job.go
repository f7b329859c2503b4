package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

const (
	lease = 5 * time.Second // short, so that another node soon continues the work of a dead one

	maxDelivered = 500              // events of one pass
	passTime     = 5 * time.Second  // of one pass; requests that began in it may end later
	deliverTime  = 10 * time.Second // after this time a run begins no further pass; the next tick continues

	// probed is the number of events in a pass while the first of them fails. An order has fewer
	// events, so one of another order is among them if there is any.
	probed = 8
	// maxPassed is the number of deliveries at which an event must fail, while later events are
	// accepted, before it is skipped.
	maxPassed = 8
)

// backoff are the pauses between two deliveries of an event that failed: at most a minute.
var backoff = wait.Backoff{First: time.Second, Longest: 40 * time.Second, Spread: true}

// Job returns the job that posts the events of a sale to a webhook: see the package's
// documentation. From its first run on events are written, and it posts the events that come
// later. A job that is not run for stock.Options.EventRetention begins anew. The job's fields may
// be changed before it is registered. A tick is skipped while the previous run works, and the tick
// of a dead node is run again.
//
// The error joins a *stock.FieldError for each option that is not allowed, and repeats neither the
// URL nor a secret.
func Job(s *stock.Sale, o Options) (scheduler.Job, error) {
	o = o.filled()
	err := o.faults()
	if s == nil {
		err = errors.Join(&stock.FieldError{Field: "sale", Value: "nil", Allowed: "a sale"}, err)
	}
	if err != nil {
		return scheduler.Job{}, fmt.Errorf("events: new job: %w", err)
	}
	w := newWebhook(o)
	return scheduler.Job{
		Name: "deliverEvents", Spec: "* * * * * ?", Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			err := (&delivery{sale: s, webhook: w, run: run, log: run.Logger()}).deliver(ctx)
			if err != nil {
				return fmt.Errorf("events: deliver: %w", err)
			}
			return nil
		},
	}, nil
}

// A delivery is one run of the job.
type delivery struct {
	sale    *stock.Sale
	webhook *webhook
	run     *scheduler.Run
	log     *slog.Logger
	at      stock.EventCursor
	done    int // accepted events
}

func (d *delivery) deliver(ctx context.Context) (err error) {
	if d.at, err = d.sale.FollowEvents(ctx, d.run.Fence); err != nil {
		return err
	}
	if d.at.Wait > 0 {
		return nil // the previous run has logged the reason
	}
	defer func() {
		if d.done > 0 {
			d.log.Info("events delivered", slog.Int("events", d.done))
		}
	}()
	for end := time.Now().Add(deliverTime); time.Now().Before(end); {
		if more, err := d.pass(ctx); err != nil || !more {
			return err
		}
	}
	return nil
}

// pass delivers up to maxDelivered events, and reports whether there may be more.
func (d *delivery) pass(ctx context.Context) (more bool, err error) {
	probing := d.at.Failures > 0
	n, limit := maxDelivered, passTime
	if probing {
		n, limit = probed, passTime+d.webhook.options.Timeout // if the first one gets no reply, there is time for others
	}
	all, err := d.sale.Events(ctx, d.at.Seq, n)
	if err != nil || len(all) == 0 {
		return false, err
	}
	if err := d.may(ctx); err != nil {
		return false, err
	}
	bounded, stop := context.WithTimeout(ctx, limit)
	defer stop()
	outcomes := d.webhook.post(bounded, all, probing)
	if err := d.may(ctx); err != nil {
		return false, err
	}
	next, failed := after(d.at, all, outcomes)
	if err := d.sale.MoveEvents(ctx, d.run.Fence, next); err != nil {
		return false, err
	}
	d.done += int(next.Seq - next.Skipped - d.at.Seq + d.at.Skipped)
	skipped := next.Skipped > d.at.Skipped
	d.at = next
	switch {
	case skipped:
		e := &all[0]
		d.log.Error("event skipped", slog.Int64("seq", e.Seq), slog.String("event", e.ID), slog.String("err", failed.Error()))
	case failed != nil:
		return false, fmt.Errorf("event %d, posted again in %v: %w", next.Seq+1, next.Wait.Round(time.Millisecond), failed)
	}
	return true, nil
}

// may returns nil if the run may continue.
func (d *delivery) may(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return d.run.Check()
}

// after returns the cursor after a pass, and the error of the first event that was not accepted;
// nil: all were, or the time was over.
func after(at stock.EventCursor, all []stock.Event, outcomes []outcome) (next stock.EventCursor, failed error) {
	next = at
	done := 0
	for done < len(all) && outcomes[done].accepted {
		done++
	}
	if done > 0 {
		next.Seq, next.Failures, next.Passed = all[done-1].Seq, 0, 0
	}
	if done == len(all) || outcomes[done].err == nil {
		return next, nil
	}
	next.Failures++
	passed := false
	for _, o := range outcomes[done:] {
		passed = passed || o.accepted
	}
	switch {
	case !passed: // perhaps an outage
		next.Wait = backoff.After(int(next.Failures))
		if outcomes[done].after > 0 {
			next.Wait = outcomes[done].after
		}
	case next.Passed+1 < maxPassed:
		next.Passed++
		next.Wait = backoff.After(int(next.Passed))
	default:
		next.Seq, next.Skipped, next.Failures, next.Passed = all[done].Seq, next.Skipped+1, 0, 0
	}
	return next, outcomes[done].err
}
