package stock

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cronce/cronce/scheduler"
)

// Name and spec of the job that Reconcile returns.
const (
	reconcileName = "reconcile"
	reconcileSpec = "0 * * * * ?" // every minute
)

const (
	maxCompared = 20_000 // orders that one run of reconcile compares, of the store and of the book each
	maxLogged   = 20     // findings that one run logs one by one
)

// Reconcile returns the job reconcile. Each run compares the store with the database, as
// Sale.Differences does, but no more than some ten thousand orders: the next run continues behind
// them. It fails, and logs, if they differ, and repairs nothing. If the store has lost an order that
// the database has, the run closes the sale: see Options.Book.
//
// The job's fields may be changed before it is registered. The tick of a dead node is run again.
// Reconcile panics without a sale or a database.
func Reconcile(s *Sale, b *Database) scheduler.Job {
	if s == nil || b == nil {
		panic("stock: Reconcile needs a sale and a database")
	}
	return scheduler.Job{
		Name: reconcileName, Spec: reconcileSpec, Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return (&reconciler{sale: s, database: b, most: maxCompared, work: workOf(run)}).run(ctx)
		},
	}
}

// A reconciler is one run of reconcile.
type reconciler struct {
	sale     *Sale
	database *Database
	most     int // orders that one run compares
	work     work
}

func (r *reconciler) run(ctx context.Context) error {
	if err := r.work.may(ctx, "migrate"); err != nil {
		return err
	}
	if err := r.database.Migrate(ctx); err != nil {
		return err
	}
	if err := r.database.sweepEvents(ctx, r.sale.ID(), r.sale.options.EventRetention); err != nil {
		return err
	}
	w, err := r.sale.walk(ctx, r.most)
	if err != nil {
		return err
	}
	if err := r.work.may(ctx, "compare"); err != nil {
		return err
	}
	found, v, err := r.sale.differences(ctx, r.database, 0, &w)
	if err != nil {
		return fmt.Errorf("stock: reconcile: %w", err)
	}
	for _, sku := range r.sale.Halted() {
		found = append(found, Difference{SKU: sku, Store: "it closed", Book: "counts that do not balance"})
	}
	if err := r.work.may(ctx, "report"); err != nil {
		return err
	}
	if err := r.sale.walked(ctx, r.work.fence, w); err != nil {
		return err
	}
	if err := r.report(ctx, found); err != nil {
		return err
	}
	r.work.log.Info("stock reconciled", slog.Int("products", len(v.after.products)), slog.Int64("unsettled", v.after.unsettled),
		slog.Bool("exact", v.still()), slog.Int("broken", len(found)))
	if len(found) > 0 {
		return fmt.Errorf("stock: reconcile: store and book differ about %d orders and products, the first: %s", len(found), found[0])
	}
	return nil
}

// report logs the differences, and closes a shelf that has lost orders.
func (r *reconciler) report(ctx context.Context, found []Difference) error {
	lost := false
	for i, d := range found {
		lost = lost || d.lost
		if i < maxLogged {
			r.work.log.Error("stock broken", slog.String("order", d.Order), slog.String("sku", d.SKU), slog.String("text", d.String()))
		}
	}
	if !lost || r.sale.options.Book == nil {
		return nil
	}
	if _, err := r.sale.ask(ctx, closeScript, r.sale.keys(keyShelf), r.sale.epoch(), "behind"); err != nil {
		return fmt.Errorf("stock: close a shelf that has lost orders: %w", err)
	}
	return nil
}
