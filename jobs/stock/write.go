package stock

import (
	"context"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// settle writes a batch in one transaction: see transaction.settle. The fence is of the run that
// settles, or 0. It refuses if a run with a higher fence has written before. Until it ends it locks
// the rows of the fence and of the book, so that no run with a lower fence can write afterwards. It
// may be called again with the same orders or with later states of them.
func (s *Sale) settle(ctx context.Context, fence int64, got *batch) (done []settlement, later []string, err error) {
	err = s.options.Book.transact(ctx, s.ID(), func(tx *transaction) (err error) {
		if err := tx.moveBook(ctx, position{epoch: got.seen.epoch, changes: got.seen.changes}); err != nil {
			return err
		}
		if fence > 0 {
			if err := tx.enter(ctx, settling, fence); err != nil {
				return err
			}
		}
		if !got.numbered {
			if err := s.number(ctx, tx, fence, got); err != nil {
				return err
			}
		}
		done, later, err = tx.settle(ctx, *got)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("settle in the database: %w", err)
	}
	return done, later, nil
}

// settle writes a batch. It returns the result of each order, and the products whose total was not
// written because it must wait for orders of another batch.
func (tx *transaction) settle(ctx context.Context, got batch) (done []settlement, later []string, err error) {
	lower, err := tx.raiseTotals(ctx, got.totals)
	if err != nil {
		return nil, nil, fmt.Errorf("products: %w", err)
	}
	found, err := tx.find(ctx, ids(got.records))
	if err != nil {
		return nil, nil, fmt.Errorf("find the orders: %w", err)
	}
	p := plan(got.records, found)
	if err := tx.writePlan(ctx, p); err != nil {
		return nil, nil, err
	}
	if later, err = tx.lowerTotals(ctx, lower); err != nil {
		return nil, nil, fmt.Errorf("products: %w", err)
	}
	return p.done, later, nil
}

func ids(records []Record) []string {
	names := make([]string, len(records))
	for i := range records {
		names[i] = records[i].ID
	}
	return names
}

// A shift is a change of a product's counts.
type shift struct{ reserved, sold int64 }

// planned is the set of rows to be written for some orders.
type planned struct {
	done   []settlement
	orders []Record         // orders whose rows are new or change
	items  []Record         // orders whose items are new
	shifts map[string]shift // by product
	moves  []transition     // orders with a new state
}

func rowOf(r Record) row {
	return row{status: r.State, placed: r.Placed.UnixMilli(), payments: int64(len(r.Payments))}
}

// same reports whether a row and a record are of the same order, and not of two orders that used
// the same id.
func (have row) same(r Record) bool { return have.placed == r.Placed.UnixMilli() }

// knows reports whether a row has the state and all payments of a record.
func (have row) knows(r Record) bool {
	return have.same(r) && have.status == r.State && have.payments >= int64(len(r.Payments))
}

// before reports whether a row has an earlier state of a record.
func (have row) before(r Record) bool {
	return have.same(r) && (r.State.follows(have.status) || have.status == r.State && have.payments < int64(len(r.Payments)))
}

// later reports whether a row has a later state of a record, because a caller has written it since.
func (have row) later(r Record) bool { return have.same(r) && have.status.follows(r.State) }

// plan compares orders with the database's rows. An open row may change to any state, and a paid
// one to a later state. Any other row stays as it is, and the book refuses the order: the id was
// used again after the store forgot it, or the store has lost data. An order that the database
// has in a later state is left out, because a caller has written that since: the next run reads the
// order again.
func plan(records []Record, found map[string]row) planned {
	p := planned{shifts: map[string]shift{}, done: make([]settlement, 0, len(records))}
	for _, r := range records {
		s := settlement{id: r.ID, stamp: r.stamp()}
		have, known := found[r.ID]
		switch {
		case !known:
			p.orders, p.items = append(p.orders, r), append(p.items, r)
			p.moves = append(p.moves, transition{record: r})
			p.shift(r.Items, r.State, 1)
		case have.knows(r): // already written
		case have.before(r):
			p.orders, p.moves = append(p.orders, r), append(p.moves, transition{r, have.status})
			p.shift(r.Items, have.status, -1)
			p.shift(r.Items, r.State, 1)
		case have.later(r):
			continue
		default:
			s.instead = string(have.status) + " " + strconv.FormatInt(have.placed, 10)
		}
		p.done = append(p.done, s)
	}
	return p
}

// shift adds items in a state to the shifts; with sign -1 it removes them.
func (p *planned) shift(items []Item, state State, sign int64) {
	for _, item := range items {
		s := p.shifts[item.SKU]
		switch state {
		case Reserved:
			s.reserved += sign * item.Quantity
		case Paid:
			s.sold += sign * item.Quantity
		}
		p.shifts[item.SKU] = s
	}
}

func (tx *transaction) writePlan(ctx context.Context, p planned) error {
	if err := tx.writeOrders(ctx, p.orders); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	if err := tx.writeItems(ctx, p.items); err != nil {
		return fmt.Errorf("items: %w", err)
	}
	if err := tx.writePayments(ctx, p.orders); err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	if err := tx.writeShifts(ctx, p.shifts); err != nil {
		return fmt.Errorf("products: %w", err)
	}
	if err := tx.writeEvents(ctx, p.moves); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}

func (tx *transaction) writeOrders(ctx context.Context, orders []Record) error {
	t := sqltext.Table{Name: "orders", Clock: "settled_at", Columns: []string{"id", "receiver", "buyer", "amount", "currency", "status", "placed_at", "due_at", "changed_at", "payments"}}
	for _, r := range orders {
		t.Add(r.ID, r.Receiver, r.Buyer, r.Amount, r.Currency, string(r.State), r.Placed.UnixMilli(), r.Due.UnixMilli(), r.Changed.UnixMilli(), int64(len(r.Payments)))
	}
	return tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "sale, id",
		[]string{"receiver", "buyer", "amount", "currency", "status", "placed_at", "due_at", "changed_at", "payments", "settled_at"}))
}

func (tx *transaction) writeItems(ctx context.Context, orders []Record) error {
	t := sqltext.Table{Name: "order_item", Columns: []string{"order_id", "sku", "quantity", "price", "amount"}}
	for _, r := range orders {
		for _, item := range r.Items {
			t.Add(r.ID, item.SKU, item.Quantity, item.Price, item.Amount())
		}
	}
	return tx.write(ctx, &t, "")
}

// writePayments writes all payments of orders, and replaces existing rows.
func (tx *transaction) writePayments(ctx context.Context, orders []Record) error {
	t := sqltext.Table{Name: "payment", Columns: []string{"order_id", "reference", "kind", "amount", "currency", "refunds", "at"}}
	for _, r := range orders {
		for _, p := range r.Payments {
			t.Add(r.ID, p.Reference, p.Kind, p.Amount, p.Currency, p.Refunds, p.At.UnixMilli())
		}
	}
	return tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "sale, order_id, reference", []string{"kind", "amount", "currency", "refunds", "at"}))
}

func productTable() sqltext.Table {
	return sqltext.Table{Name: "product", Columns: []string{"sku", "put_in", "reserved", "sold"}}
}
