package stock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// The job that Reconcile makes.
const (
	ReconcileName = "reconcile"
	ReconcileSpec = "0 * * * * ?" // every minute
)

const (
	settleTime = 30 * time.Second // after which a settled order is looked up in the database
	maxTold    = 20               // findings of one run that are logged one by one
)

// Reconcile is the job reconcile: each run compares what the store has with what
// the database has, and both with what was put in, and fails, in the log, if
// anything is not as it must be. It looks up each order once, half a minute after
// it was settled.
//
// It repairs what is provably safe to repair: an order, or what was put in of a
// product, that the database had and has lost, as after a crash of a database that
// does not sync its commits, is settled again. Nothing else is: where the store
// and the database disagree about an order or a total that both have, a person
// decides. A run fails on a sale whose stock is not known: see Options.Book.
//
// Its fields may be changed before it is registered. The tick of a dead node is run
// again. It panics without a sale or a database.
func Reconcile(s *Sale, b *Database) scheduler.Job {
	if s == nil || b == nil {
		panic("stock: Reconcile needs a sale and a database")
	}
	return scheduler.Job{
		Name: ReconcileName, Spec: ReconcileSpec, Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return newReconciler(s, b, settleTime, workOf(run)).run(ctx)
		},
	}
}

// A reconciler is one run of reconcile.
type reconciler struct {
	sale     *Sale
	database *Database
	after    time.Duration
	most     int // orders and buyers that it compares
	work     work
	epoch    string // of the shelf
	walk     walk

	looked, again int // orders looked up, and settled again
	unknown       int // orders that neither the store nor the database has
	miscounted    int // buyers for which the store counts another number than their orders have
}

func newReconciler(s *Sale, b *Database, after time.Duration, w work) *reconciler {
	return &reconciler{sale: s, database: b, after: after, most: maxAudited, work: w}
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
	if err := r.sale.Probe(ctx); err != nil {
		return err
	}
	if err := r.lookUp(ctx); err != nil {
		return err
	}
	r.epoch = r.sale.epoch()
	if err := r.compare(ctx); err != nil {
		return err
	}
	if err := r.names(ctx); err != nil {
		return err
	}
	v, err := r.read(ctx)
	if err != nil {
		return err
	}
	if err := r.unchanged(ctx); err != nil {
		return err
	}
	found, unstocked := v.findings()
	if err := r.restock(ctx, unstocked); err != nil {
		return err
	}
	disputed, err := r.disputed(ctx, v)
	if err != nil {
		return err
	}
	lines, err := r.sale.auditLines(ctx, r.database)
	if err != nil {
		return fmt.Errorf("stock: reconcile: %w", err)
	}
	for _, d := range lines {
		found = append(found, finding{d.SKU, d.String()})
	}
	r.report(v, found, unstocked, disputed)
	for _, sku := range r.sale.Halted() {
		r.work.log.Error("stock broken", slog.String("sku", sku), slog.String("text", "its books do not balance: it is not sold"))
		r.unknown++
	}
	if orders := int(disputed) + r.unknown; len(found)+orders > 0 {
		return fmt.Errorf("stock: reconcile: %d products and %d orders are not as they must be", len(found), orders)
	}
	if r.miscounted > 0 {
		return fmt.Errorf("stock: reconcile: of %d buyers the store counts another number than their orders have", r.miscounted)
	}
	return nil
}

// disputed counts the disputed orders. After a rebuild one for which there was no stock stands only in the
// book, and one that a restored book has lost only in the store.
func (r *reconciler) disputed(ctx context.Context, v view) (int64, error) {
	n, err := r.database.countDisputes(ctx, r.sale.ID())
	return max(n, v.after.disputed), err
}

// unchanged returns nil if the shelf is still the one that the run has begun with, and has lost nothing: a
// difference that was found while it was emptied or rebuilt is none.
func (r *reconciler) unchanged(ctx context.Context) error {
	if err := r.sale.Probe(ctx); err != nil {
		return err
	}
	if r.epoch != r.sale.epoch() {
		return fmt.Errorf("stock: reconcile: the shelf was rebuilt meanwhile: %w", ErrStockUnknown)
	}
	return nil
}

// read reads the store, the database, and the store again.
func (r *reconciler) read(ctx context.Context) (view, error) {
	if err := r.work.may(ctx, "look"); err != nil {
		return view{}, err
	}
	return r.sale.view(ctx, r.database)
}

// compare compares orders and buyers, from where the run before has come to.
func (r *reconciler) compare(ctx context.Context) (err error) {
	if r.walk, err = r.sale.walk(ctx, r.most); err != nil {
		return err
	}
	if err := r.orders(ctx); err != nil {
		return err
	}
	if err := r.buyers(ctx); err != nil {
		return err
	}
	return r.sale.walked(ctx, r.work.fence, r.walk)
}

// orders compares the reserved orders of both sides. What the book has lost is settled
// again; a shelf that has lost orders is closed, and rebuilt as Options.Restore says. A record that
// waits for its settlement and cannot be read closes nothing: an operator decides, since a rebuild replaces it.
func (r *reconciler) orders(ctx context.Context) error {
	if err := r.work.may(ctx, "orders"); err != nil {
		return err
	}
	found, err := r.sale.auditOrders(ctx, r.database, 0, &r.walk)
	if err != nil {
		return fmt.Errorf("stock: compare orders: %w", err)
	}
	if len(found) > 0 {
		if err := r.unchanged(ctx); err != nil {
			return err
		}
	}
	var again []Difference
	lost, shown := 0, 0
	for _, d := range found {
		if d.Mend == SettleAgain {
			again = append(again, d)
			continue
		}
		r.unknown++
		if !d.unread { // which still holds its stock
			lost++
		}
		if shown++; shown <= maxTold {
			r.work.log.Error("stock broken", slog.String("order", d.Order), slog.String("text", d.String()))
		}
	}
	n, err := r.sale.settleAgain(ctx, again)
	if err != nil {
		return fmt.Errorf("stock: compare orders: %w", err)
	}
	if r.again += n; n > 0 {
		r.work.log.Warn("orders settled again: the database had lost them", slog.Int("orders", n))
	}
	if lost == 0 || r.sale.options.Book == nil {
		return nil
	}
	if _, err := r.sale.ask(ctx, closeScript, r.sale.keys(keyShelf), r.sale.epoch(), "behind"); err != nil {
		return fmt.Errorf("stock: close a shelf that has lost orders: %w", err)
	}
	return nil
}

// buyers compares what buyers have.
func (r *reconciler) buyers(ctx context.Context) error {
	if err := r.work.may(ctx, "buyers"); err != nil {
		return err
	}
	found, err := r.sale.auditBuyers(ctx, r.database, &r.walk)
	if err != nil {
		return fmt.Errorf("stock: compare buyers: %w", err)
	}
	if len(found) > 0 {
		if err := r.unchanged(ctx); err != nil {
			return err
		}
	}
	r.miscounted = len(found)
	for _, d := range found[:min(maxTold, len(found))] {
		r.work.log.Error("stock broken", slog.String("sku", d.SKU), slog.String("buyer", Mask(d.Buyer)), slog.String("text", "the store counts "+d.Store+", the book "+d.Book))
	}
	return nil
}

func (r *reconciler) restock(ctx context.Context, skus []string) error {
	if len(skus) == 0 {
		return nil
	}
	if err := r.work.may(ctx, "restock"); err != nil {
		return err
	}
	if _, err := r.sale.fenced(ctx, restockScript, r.sale.keys(keyFence+reconciling, keyRestocked, keyPut, keyOffer), r.work.fence, argsOf(skus)...); err != nil {
		return fmt.Errorf("stock: settle totals again: %w", err)
	}
	return nil
}

func (r *reconciler) report(v view, found []finding, unstocked []string, disputed int64) {
	for _, f := range found[:min(maxTold, len(found))] {
		r.work.log.Error("stock broken", slog.String("sku", f.sku), slog.String("text", f.text))
	}
	r.work.log.Info("stock reconciled", slog.Int("products", len(v.after.products)), slog.Int64("unsettled", v.after.unsettled),
		slog.Bool("exact", v.still()), slog.Int("looked_up", r.looked), slog.Int("settled_again", r.again+len(unstocked)),
		slog.Int64("disputed", disputed), slog.Int("broken", len(found)))
}

// names gives each product its name in the list of products. A version that keeps none, in a rolling update, may
// have left names of products that are gone, as many as are missing: counting alone does not find those.
func (r *reconciler) names(ctx context.Context) error {
	if err := r.work.may(ctx, "names"); err != nil {
		return err
	}
	all := 0
	for after, more := "", true; more; more = after != "" {
		answer, err := r.sale.fenced(ctx, namesScript, r.sale.keys(keyFence+reconciling, keyNames, keyPut), r.work.fence, after, maxBatch)
		if err == nil && len(answer) != 2 {
			err = strange(answer)
		}
		var removed int64
		if err == nil {
			err = parseNumbers(answer[1:], &removed)
		}
		if err != nil {
			return fmt.Errorf("stock: compare the names of products: %w", err)
		}
		after, all = answer[0], all+int(removed)
	}
	if all > 0 {
		r.work.log.Warn("names of products mended", slog.Int("names", all))
	}
	return nil
}
