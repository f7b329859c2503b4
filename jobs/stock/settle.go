package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/cronce/cronce/scheduler"
)

// maxSettled is the number of orders that a run of settleOrders holds in memory and writes in one
// transaction.
const maxSettled = 1000

// SettleOrders returns the job settleOrders. Each run, every second, writes the new and changed
// orders into the book, one batch after the other, until none is left. The job's fields may be
// changed before it is registered. A tick is skipped while the previous run works. The tick of a
// dead node is run again, since both runs do the same work.
//
// An order that the database refuses, or whose record cannot be read, does not delay the others: it
// is kept back and logged, the run fails, and the next run tries it again. The same holds for a
// product with a total that cannot be read.
//
// The store is compared with the book first. The run fails if stock is unknown, unless
// Options.Restore allows it to rebuild the shelf.
//
// It panics without a sale with Options.Book.
func SettleOrders(s *Sale) scheduler.Job {
	if s == nil || s.options.Book == nil {
		panic("stock: SettleOrders needs a sale with a book")
	}
	return scheduler.Job{
		Name: "settleOrders", Spec: "* * * * * ?", Takeover: scheduler.TakeoverRerun, Lease: lease,
		Func: func(ctx context.Context, run *scheduler.Run) error {
			return newSettler(s, maxSettled, workOf(run)).run(ctx)
		},
	}
}

// A settler is one run of settleOrders.
type settler struct {
	sale *Sale
	size int // of a batch, in orders
	work work

	orders         int // orders settled so far
	rejected, lost int // orders that the book refuses, and orders that the store has lost

	kept    map[string]bool  // by id: the order is kept back
	refused int              // number of orders that the database refuses
	problem error            // error of the first order that is kept back
	unread  map[string]error // by product: the total cannot be read
	later   map[string]bool  // by product: its total must wait for orders
	halted  map[string]bool  // by product: its counts do not balance
}

func newSettler(s *Sale, size int, w work) *settler {
	return &settler{sale: s, size: size, work: w, kept: map[string]bool{},
		unread: map[string]error{}, later: map[string]bool{}, halted: map[string]bool{}}
}

func (s *settler) run(ctx context.Context) error {
	if err := s.work.may(ctx, "migrate"); err != nil {
		return err
	}
	if err := s.sale.options.Book.Migrate(ctx); err != nil {
		return err
	}
	if err := s.probe(ctx); err != nil {
		return err
	}
	err := s.batches(ctx)
	if err == nil {
		err = s.halt(ctx)
	}
	if s.orders > 0 {
		s.work.log.Info("orders settled", slog.Int("orders", s.orders))
	}
	if err == nil && s.lost+s.rejected > 0 {
		err = fmt.Errorf("stock: settle: the book refuses %d orders, and the store has lost %d", s.rejected, s.lost)
	}
	if s.problem != nil {
		err = errors.Join(err, fmt.Errorf("stock: settle: %d orders are kept back, the first: %w", len(s.kept), s.problem))
	}
	return errors.Join(err, s.unreadError())
}

// probe compares the store with the book, and rebuilds the shelf if Options.Restore allows it.
func (s *settler) probe(ctx context.Context) error {
	err := s.sale.Probe(ctx)
	if errors.Is(err, ErrStockUnknown) && !errors.Is(err, ErrForeign) && s.sale.options.Restore {
		s.work.log.Warn("stock unknown", slog.String("err", err.Error()))
		var r Restored
		if r, err = s.sale.Restore(ctx); err == nil {
			r.Log(s.work.log)
			err = s.sale.Probe(ctx)
		}
	}
	return err
}

// batches settles batches until nothing is left that can be settled.
func (s *settler) batches(ctx context.Context) error {
	for s.refused <= maxKept && len(s.kept) <= maxUnread {
		kept := len(s.kept)
		got, moved, err := s.next(ctx)
		if err != nil || moved == 0 && len(s.kept) == kept {
			return err
		}
		s.orders += moved
		if got.found < s.size {
			return nil // the next tick settles newer orders
		}
	}
	return nil
}

// next settles one batch: it reads the orders, writes them to the database, and marks them as
// settled only then. If a run stops in between, the next one repeats the work without effect.
func (s *settler) next(ctx context.Context) (got batch, moved int, err error) {
	if err := s.work.may(ctx, "take"); err != nil {
		return batch{}, 0, err
	}
	seen, err := s.sale.known(ctx) // before the orders are read: they are of this shelf or of a later one
	if err != nil {
		return batch{}, 0, err
	}
	if got, err = s.sale.readBatch(ctx, s.work.fence, s.size, s.kept); err != nil {
		return batch{}, 0, err
	}
	got.seen = seen
	for _, id := range slices.Sorted(maps.Keys(got.unread)) {
		s.keep(id, got.unread[id])
	}
	if len(got.records)+len(got.lost) == 0 && got.restocked == 0 {
		return got, 0, nil
	}
	done, err := s.write(ctx, &got)
	if err != nil {
		return batch{}, 0, fmt.Errorf("stock: %w", err)
	}
	if err := s.work.may(ctx, "mark"); err != nil {
		return batch{}, 0, err
	}
	moved, err = s.mark(ctx, got, done)
	return got, moved, err
}

// logRefunds logs the payments that have to be refunded and were not: surplus payments, and those
// of orders that the book refuses.
func (s *settler) logRefunds(records []Record, rejected map[string]bool) {
	for _, r := range records {
		for _, p := range r.Payments {
			if r.refunded(p.Reference) || p.Kind != kindSurplus && (p.Kind != kindPaid || !rejected[r.ID]) {
				continue
			}
			s.work.log.Warn("payment to refund", slog.String("order", r.ID), slog.String("reference", p.Reference),
				slog.Int64("amount", p.Amount), slog.String("currency", p.Currency), slog.String("state", string(r.State)))
		}
	}
}

// mark records in the store which orders the database has. The next run finds a total that was not
// written.
func (s *settler) mark(ctx context.Context, got batch, done []settlement) (moved int, err error) {
	rejected := map[string]bool{}
	for _, d := range done {
		if d.instead != "" {
			rejected[d.id] = true
			s.rejected++
			s.work.log.Error("order refused", slog.String("order", d.id), slog.String("store", d.stamp), slog.String("database", d.instead))
		}
	}
	s.logRefunds(got.records, rejected)
	for _, id := range got.lost {
		s.lost++
		s.work.log.Error("order lost", slog.String("order", id))
		done = append(done, settlement{id: id})
	}
	if moved, err = s.sale.settled(ctx, s.work.fence, done); err != nil {
		return moved, err
	}
	totals := slices.DeleteFunc(got.totals, func(t total) bool { return s.later[t.sku] })
	return moved, s.sale.stocked(ctx, s.work.fence, got.mark, totals)
}
