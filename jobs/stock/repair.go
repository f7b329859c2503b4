package stock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxRecorded is how many differences of one repair are recorded each by itself.
const maxRecorded = 1000

// Repaired is what a repair has done.
type Repaired struct {
	Found     []Difference
	Again     int      // orders that are settled again
	Restocked int      // totals and deliveries that could not be read, and are on their way to the book again
	Recount   int      // products whose counts in the book were made from its orders
	Restored  Restored // of the rebuild; its Epoch is empty if none was needed
}

// Repair does what an Audit says: first it lets orders that the book has lost be settled
// again, and what was put in and cannot be read, then it makes counts of the book from its orders, then it rebuilds the shelf if that
// differs. Where both have something of an order or total, the book's holds. Each difference is
// recorded, with the By and Reason of d; its other fields are not read. It may be called
// again after an error. It needs Options.Book, and returns a *FieldError for each field
// that is not allowed, joined, or an ErrStockUnknown on a shelf that is closed: see Restore.
func (s *Sale) Repair(ctx context.Context, d Decision) (r Repaired, err error) {
	if err := d.faults(); err != nil {
		return r, fmt.Errorf("stock: repair: %w", err)
	}
	if r.Found, err = s.Audit(ctx); err != nil || len(r.Found) == 0 {
		return r, err
	}
	if err := s.repair(ctx, d, &r); err != nil {
		return r, fmt.Errorf("stock: repair: %w", err)
	}
	return r, nil
}

func (s *Sale) repair(ctx context.Context, d Decision, r *Repaired) (err error) {
	if err := s.recordRepair(ctx, d, r.Found); err != nil {
		return err
	}
	needs := func(m Mend) (some []Difference) {
		for _, d := range r.Found {
			if d.Mend == m {
				some = append(some, d)
			}
		}
		return some
	}
	if r.Restocked, err = s.rewrite(ctx, r.Found); err != nil { // a rebuild would drop products that the book lacks
		return err
	}
	if r.Again, err = s.settleAgain(ctx, needs(SettleAgain)); err != nil {
		return err
	}
	if len(needs(Recount)) > 0 {
		if r.Recount, err = s.options.Book.recount(ctx, s.ID(), s.epoch()); err != nil {
			return err
		}
	}
	if len(needs(Rebuild))+len(needs(Recount)) == 0 {
		return nil
	}
	if _, err := s.ask(ctx, closeScript, s.keys(keyShelf), s.epoch(), "repair"); err != nil {
		return err
	}
	r.Restored, err = s.Restore(ctx)
	return err
}

// recordRepair records what is to be repaired, before it is: nothing is repaired without
// a record.
func (s *Sale) recordRepair(ctx context.Context, d Decision, found []Difference) error {
	return s.options.Book.transact(ctx, s.ID(), func(tx *transaction) error {
		for _, f := range found[:min(maxRecorded, len(found))] {
			err := tx.record(ctx, Decision{Action: Repair, Order: f.Order, SKU: f.SKU, By: d.By, Reason: d.Reason, storeHas: f.Store, bookHas: f.Book})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// settleAgain lets orders that the book has lost be settled again by settleOrders.
func (s *Sale) settleAgain(ctx context.Context, found []Difference) (again int, err error) {
	for some := range slices.Chunk(found, maxBatch) {
		ids := make([]string, len(some))
		for i := range some {
			ids[i] = some[i].Order
		}
		now, err := s.held(ctx, ids)
		if err != nil {
			return again, err
		}
		args := make([]any, 0, 2*len(ids))
		for i, id := range ids {
			args = append(args, id, now[i].stamp)
		}
		n, err := number(s.ask(ctx, againScript, s.orderKeys(ids, keyUnsettled, keyFresh, keyDue, keySettled, keyRestored, keyDisputed), args...))
		if err != nil {
			return again, fmt.Errorf("settle orders again: %w", err)
		}
		again += n
	}
	return again, nil
}

// recount makes the counts of products in the book from its orders.
func (b *Database) recount(ctx context.Context, sale, epoch string) (n int, err error) {
	err = b.transact(ctx, sale, func(tx *transaction) error {
		if err := tx.turn(ctx, position{epoch: epoch}); err != nil {
			return err
		}
		wrong, err := miscounted(ctx, tx.tx, tx.dialect, sale)
		if err != nil {
			return err
		}
		n = len(wrong)
		query := tx.dialect.Bind("UPDATE product SET reserved = ?, sold = ?, oversold = CASE WHEN ? > put_in THEN ? - put_in ELSE 0 END WHERE sale = ? AND sku = ?")
		for _, sku := range slices.Sorted(maps.Keys(wrong)) {
			sums := wrong[sku][1]
			all := sums.reserved + sums.sold
			if _, err := tx.tx.ExecContext(ctx, query, sums.reserved, sums.sold, all, all, sale, sku); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("count the book's orders: %w", err)
	}
	return n, err
}

// Free ends a reservation before its time, as an operator decides, and records it: its
// items are back in stock. The decision has the Order's id, By and Reason. It is refused with an
// ErrClosed when the order is paid or over, with ErrUnknownOrder, or a *FieldError for each
// field that is not allowed, joined. It needs Options.Book. See also ErrStockUnknown.
func (s *Sale) Free(ctx context.Context, d Decision) (Record, error) {
	r, err := s.free(ctx, d)
	if err != nil {
		return Record{}, fmt.Errorf("stock: free %s: %w", quote(d.Order), err)
	}
	return r, nil
}

func (s *Sale) free(ctx context.Context, d Decision) (Record, error) {
	b := s.options.Book
	if b == nil {
		return Record{}, errNoBook
	}
	if err := errors.Join(checkID(d.Order), d.faults()); err != nil {
		return Record{}, err
	}
	if err := s.Probe(ctx); err != nil { // what is not known is known to be so only then
		return Record{}, err
	}
	r, _, err := s.stored(ctx, d.Order) // one that is past its time may be there still, and can be freed
	if err != nil {
		return Record{}, err
	}
	if r.State == Paying {
		return Record{}, ErrPaying
	}
	if r.State != Reserved {
		return Record{}, &ClosedError{ID: r.ID, State: r.State}
	}
	line, err := booked{Record: r}.line()
	if err != nil {
		return Record{}, err
	}
	d.Action, d.SKU, d.NewID, d.storeHas, d.bookHas = Free, "", "", line, ""
	if err := b.transact(ctx, s.ID(), func(tx *transaction) error { return tx.record(ctx, d) }); err != nil {
		return Record{}, err
	}
	return s.Cancel(ctx, d.Order)
}
