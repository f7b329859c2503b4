package stock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Name and spec of the job that Reconcile returns.
const (
	ReconcileName = "reconcile"
	ReconcileSpec = "0 * * * * ?" // every minute
)

const (
	settleTime = 30 * time.Second // delay before a settled order is looked up in the database
	maxLogged  = 20               // findings that one run logs one by one
)

// Reconcile returns the job reconcile. Each run compares the store with the database, and both with
// the totals of products. It fails, and logs, if they differ. It looks up each order once, half a
// minute after it was settled.
//
// It repairs only a loss of the database, as after a crash of a database that does not sync its
// commits: an order or a total that the database has lost is settled again. If both have an order
// or a total and disagree about it, an operator decides. A run fails on a sale whose stock is
// unknown: see Options.Book.
//
// The job's fields may be changed before it is registered. The tick of a dead node is run again.
// Reconcile panics without a sale or a database.
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
	most     int // orders and buyers that one run compares
	work     work
	epoch    string // of the shelf
	walk     walk

	lookedUp, again int // orders looked up, and settled again
	unknown         int // orders that neither the store nor the database has
	miscounted      int // buyers whose count in the store differs from the sum of their orders
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

// disputed returns the number of disputed orders. After a rebuild, an order for which there was no
// stock is disputed in the book alone. A restored book has lost disputes that the store still has.
func (r *reconciler) disputed(ctx context.Context, v view) (int64, error) {
	n, err := r.database.countDisputes(ctx, r.sale.ID())
	return max(n, v.after.disputed), err
}

// unchanged returns nil if the shelf is still the one that the run began with and has lost nothing.
// Otherwise a difference may be due to the loss or to a rebuild.
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
	if err := r.work.may(ctx, "view"); err != nil {
		return view{}, err
	}
	return r.sale.view(ctx, r.database)
}

// compare compares orders and buyers, from the position of the previous run on.
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

// orders compares the reserved orders of store and book. Orders that the book has lost are settled
// again. If the shelf has lost orders, it is closed, and rebuilt if Options.Restore allows it. An
// unreadable record that waits for its settlement does not close the shelf, because a rebuild would
// replace the record: an operator decides.
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
		if !d.unread { // an unreadable order still holds its items
			lost++
		}
		if shown++; shown <= maxLogged {
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

// buyers compares the quantities of buyers.
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
	for _, d := range found[:min(maxLogged, len(found))] {
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
	for _, f := range found[:min(maxLogged, len(found))] {
		r.work.log.Error("stock broken", slog.String("sku", f.sku), slog.String("text", f.text))
	}
	r.work.log.Info("stock reconciled", slog.Int("products", len(v.after.products)), slog.Int64("unsettled", v.after.unsettled),
		slog.Bool("exact", v.still()), slog.Int("looked_up", r.lookedUp), slog.Int("settled_again", r.again+len(unstocked)),
		slog.Int64("disputed", disputed), slog.Int("broken", len(found)))
}

// names repairs the ordered list of product names. During a rolling update, an older version
// without this list may delete as many products as it adds; comparing the numbers alone does not
// find that.
func (r *reconciler) names(ctx context.Context) error {
	if err := r.work.may(ctx, "names"); err != nil {
		return err
	}
	all := 0
	for after, more := "", true; more; more = after != "" {
		answer, err := r.sale.fenced(ctx, namesScript, r.sale.keys(keyFence+reconciling, keyNames, keyPut), r.work.fence, after, maxBatch)
		if err == nil && len(answer) != 2 {
			err = unknownAnswer(answer)
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

// lookUp looks up each order once, some time after it was settled. Orders that the database has
// lost since are settled again.
func (r *reconciler) lookUp(ctx context.Context) error {
	for {
		if err := r.work.may(ctx, "look up"); err != nil {
			return err
		}
		keys := r.sale.keys(keyFence+reconciling, keyRecent)
		pairs, err := r.sale.fenced(ctx, recentScript, keys, r.work.fence, r.after.Milliseconds(), maxBatch)
		if err != nil {
			return fmt.Errorf("stock: find settled orders: %w", err)
		}
		if len(pairs) < 2 {
			return nil
		}
		if err := r.lookUpThese(ctx, pairs); err != nil {
			return err
		}
	}
}

// lookUpThese looks up pairs of id and time of settlement.
func (r *reconciler) lookUpThese(ctx context.Context, pairs []string) error {
	ids := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		ids = append(ids, pairs[i])
	}
	var got batch // read first: the database must have at least this
	if err := r.sale.readRecords(ctx, ids, &got); err != nil {
		return fmt.Errorf("stock: read settled orders: %w", err)
	}
	found, err := r.database.find(ctx, r.sale.ID(), ids)
	if err != nil {
		return fmt.Errorf("stock: look up settled orders: %w", err)
	}
	missing := make(map[string]string)
	for _, record := range got.records {
		if have, ok := found[record.ID]; !ok || have.before(record) || have.status.open() && !record.State.open() {
			missing[record.ID] = record.stamp()
		}
	}
	for _, id := range got.lost {
		if _, ok := found[id]; !ok {
			r.unknown++
			r.work.log.Error("order lost", slog.String("order", id))
		}
	}
	return r.kept(ctx, ids, pairs, missing)
}

// kept removes the orders from the list of those to be looked up, and lists the missing ones as
// unsettled. An order that is already unsettled stays so.
func (r *reconciler) kept(ctx context.Context, ids, pairs []string, missing map[string]string) error {
	if err := r.work.may(ctx, "keep"); err != nil {
		return err
	}
	args := make([]any, 0, 3*len(ids))
	for i, id := range ids {
		args = append(args, id, pairs[2*i+1], missing[id])
	}
	keys := r.sale.orderKeys(ids, keyFence+reconciling, keyRecent, keyUnsettled, keySettled, keyRestored, keyDisputed)
	again, err := number(r.sale.fenced(ctx, keptScript, keys, r.work.fence, args...))
	if err != nil {
		return fmt.Errorf("stock: settle lost orders again: %w", err)
	}
	if r.lookedUp += len(ids); again > 0 {
		r.again += again
		r.work.log.Warn("orders settled again: the database had lost them", slog.Int("orders", again))
	}
	return nil
}
