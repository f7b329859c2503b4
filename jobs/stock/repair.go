package stock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxRecorded bounds the differences of one repair that are recorded.
const maxRecorded = 1000

// Repaired is the result of a repair.
type Repaired struct {
	Found     []Difference
	Again     int      // orders to be settled again
	Restocked int      // unreadable totals and deliveries that were rewritten
	Recount   int      // products whose counts in the book were computed again
	Restored  Restored // the rebuild; its Epoch is empty if none was needed
}

// Repair runs an Audit and repairs its differences, in this order: it rewrites unreadable totals
// and deliveries, has orders that the book has lost settled again, computes counts of the book from
// its orders, and rebuilds the shelf if it differs. If both have an order or a total, the book's
// holds. Each difference is recorded with the By and Reason of d; other fields of d are not read.
// It may be called again after an error. It refuses with a joined *FieldError for each field that
// is not allowed, and with ErrStockUnknown on a closed shelf: see Restore. It needs Options.Book.
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
	if r.Restocked, err = s.rewrite(ctx, r.Found); err != nil { // first, since a rebuild drops products that the book lacks
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
	r.Restored, err = s.RestoreNow(ctx)
	return err
}

// recordRepair records the differences before they are repaired, so that no repair is unrecorded.
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

// settleAgain lists orders that the book has lost as unsettled, so that settleOrders writes them.
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

// recount computes the counts of products in the book from its orders.
func (b *Database) recount(ctx context.Context, sale, epoch string) (n int, err error) {
	err = b.transact(ctx, sale, func(tx *transaction) error {
		if err := tx.moveBook(ctx, position{epoch: epoch}); err != nil {
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

// Free ends a reservation early by decision of an operator: its items are back in stock. It records
// the decision with its Order, By and Reason. It refuses with ErrPaying, with ErrClosed if the
// order is in a last state or paid, with ErrUnknownOrder, or with a joined *FieldError for each
// field that is not allowed. It needs Options.Book. See also ErrStockUnknown.
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
	if err := s.Probe(ctx); err != nil { // only then is ErrUnknownOrder certain
		return Record{}, err
	}
	r, _, err := s.stored(ctx, d.Order) // an order past its time may still be stored, and can be freed
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
