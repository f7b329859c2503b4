package stock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cronce/cronce/scheduler"
)

// maxLogged bounds the findings that one run logs one by one.
const maxLogged = 20

// Reconcile returns the job reconcile. Each run, every minute, compares the store with the book, as
// Sale.Differences does, but leaves out closed orders. It fails, and logs, if they differ, and
// repairs nothing. If the store has lost an order that the book has, the run closes the sale: see
// Options.Book.
//
// The job's fields may be changed before it is registered. The tick of a dead node is run again.
// Reconcile panics without a sale with Options.Book.
func Reconcile(s *Sale) scheduler.Job {
	if s == nil || s.options.Book == nil {
		panic("stock: Reconcile needs a sale with a book")
	}
	return scheduler.Job{
		Name: "reconcile", Spec: "0 * * * * ?", Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return s.reconcile(ctx, workOf(run))
		},
	}
}

// reconcile is one run of the job reconcile.
func (s *Sale) reconcile(ctx context.Context, w work) error {
	if err := w.may(ctx, "migrate"); err != nil {
		return err
	}
	if _, err := s.options.Book.book(ctx, s.ID()); err != nil { // it creates the book
		return err
	}
	if err := s.options.Book.sweepEvents(ctx, s.ID(), s.options.EventRetention); err != nil {
		return err
	}
	if err := w.may(ctx, "compare"); err != nil {
		return err
	}
	epoch := s.epoch() // of the shelf that is compared, or of one before it
	found, v, err := s.differences(ctx, 0, true)
	if err != nil {
		return fmt.Errorf("stock: reconcile: %w", err)
	}
	for _, sku := range s.Halted() {
		found = append(found, Difference{SKU: sku, Store: "it closed", Book: "counts that do not balance"})
	}
	if err := w.may(ctx, "report"); err != nil {
		return err
	}
	if err := s.report(ctx, w, epoch, found); err != nil {
		return err
	}
	w.log.Info("stock reconciled", slog.Int("products", len(v.after.products)), slog.Int64("unsettled", v.after.unsettled),
		slog.Bool("exact", v.still()), slog.Int("broken", len(found)))
	if len(found) > 0 {
		return fmt.Errorf("stock: reconcile: store and book differ about %d orders and products, the first: %s", len(found), found[0])
	}
	return nil
}

// report logs the differences, ends the run in the store, and closes the compared shelf if it has
// lost orders.
func (s *Sale) report(ctx context.Context, w work, epoch string, found []Difference) error {
	lost := false
	for i, d := range found {
		lost = lost || d.lost
		if i < maxLogged {
			w.log.Error("stock broken", slog.String("order", d.Order), slog.String("sku", d.SKU), slog.String("text", d.String()))
		}
	}
	why := ""
	if lost {
		why = "behind"
	}
	if _, err := s.fenced(ctx, comparedScript, s.keys(keyFence+reconciling, keyShelf), w.fence, epoch, why); err != nil {
		return fmt.Errorf("stock: end the run of reconcile: %w", err)
	}
	return nil
}
