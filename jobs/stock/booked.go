package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// bookedOrder returns the book's record of an order that the store of an epoch does not have, or
// ErrUnknownOrder.
//
// The store forgets a closed order after Options.Retention, or has lost it; the book's record is
// the answer for both. The store never forgets an open order: if it lacks one, the shelf has lost
// data and is closed.
//
// If the database does not answer, that is an error: the order may be in the book.
func (s *Sale) bookedOrder(ctx context.Context, epoch, id string) (Record, error) {
	if err := s.forgotten(nil); err != nil {
		return Record{}, err
	}
	if s.options.Book == nil {
		return Record{}, ErrUnknownOrder
	}
	bounded, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	found, err := s.options.Book.read(bounded, s.ID(), "SELECT "+orderColumns+", 0 FROM orders WHERE sale = ? AND id = ?", s.ID(), id)
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("read the book: %w", err)
	case len(found) == 0:
		return Record{}, ErrUnknownOrder
	case !found[0].State.open():
		return found[0].Record, nil
	}
	missing, err := s.missing(ctx, epoch, found[0].Record) // the order may have been placed, or the shelf closed, since the read
	if err == nil && missing {
		err = closedShelf("behind")
	}
	if err == nil {
		err = ErrUnknownOrder
	}
	return Record{}, err
}

// contradicted returns the result for an order that the book refuses, because it has another order
// with the same id. That order is the one of the caller if a store that has lost data, or came back
// without the newest, accepted it a second time. Then the book's record counts: a closed one is
// returned, and an open one is missing in the store.
func (s *Sale) contradicted(ctx context.Context, epoch string, r Record) (Record, error) {
	have, err := s.bookedOrder(ctx, epoch, r.ID)
	switch {
	case errors.Is(err, ErrUnknownOrder): // it was closed since
		return Record{}, fmt.Errorf("%w: the book has another order with its id", ErrUnsettled)
	case err != nil:
		return Record{}, err
	}
	want, rest, err1 := r.Order.content()
	has, other, err2 := have.Order.content()
	if err := errors.Join(err1, err2); err != nil {
		return Record{}, err
	}
	if want != has || rest != other {
		return Record{}, errConflict
	}
	return have, nil
}

// missing reports whether the store lacks an open order of the book. Then the shelf has lost data,
// and missing closes it.
func (s *Sale) missing(ctx context.Context, epoch string, r Record) (bool, error) {
	answer, err := s.runScript(ctx, missingScript, s.keys(keyShelf, keyFresh, keyDue, keyOrder+r.ID), epoch, r.ID, r.Placed.UnixMilli())
	if err != nil {
		return false, fmt.Errorf("stock: find an order: %w", err)
	}
	return len(answer) > 0, nil
}

// A booked order is the book's record of an order.
type booked struct {
	Record
	keep int64 // ms for which the store still has to keep it
}

// line returns the record in the store's format.
func (r Record) line() (string, error) {
	items := append(append(appendItems(nil, r.sorted(), true), ';'), r.Currency...)
	for _, p := range r.Payments {
		items = append(append(items, ';'), p.line()...)
	}
	rest, err := restOf(body{Buyer: r.Buyer, Receiver: r.Receiver})
	ms := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) + " " }
	return string(r.State) + " " + ms(r.Placed) + ms(r.Due) + ms(r.Changed) + string(items) + " " + rest, err
}

// page reads up to n orders of a sale behind an id: open orders, and orders that were settled less
// than retention (ms) ago.
func (b *Database) page(ctx context.Context, sale, after string, retention int64, n int) ([]booked, error) {
	query := "SELECT " + orderColumns + ", settled_at + ? - " + b.dialect.Now() +
		" FROM orders WHERE sale = ? AND id > ? AND (status = 'reserved' OR settled_at > " + b.dialect.Now() + " - ?) ORDER BY id LIMIT " + strconv.Itoa(n)
	return b.read(ctx, sale, query, retention, sale, after, retention)
}

// orderColumns are the columns that read scans; the column behind them is booked.keep.
const orderColumns = "id, receiver, buyer, amount, currency, status, placed_at, due_at, changed_at"

// read returns the orders of a query, which must sort them by id.
func (b *Database) read(ctx context.Context, sale, query string, args ...any) ([]booked, error) {
	var orders []booked
	at := map[string]int{}
	err := eachRow(ctx, b.db, b.dialect, query, args, func(row *sql.Rows) error {
		var o booked
		var placed, due, changed int64
		err := row.Scan(&o.ID, &o.Receiver, &o.Buyer, &o.Amount, &o.Currency, &o.State, &placed, &due, &changed, &o.keep)
		o.Placed, o.Due, o.Changed = time.UnixMilli(placed).UTC(), time.UnixMilli(due).UTC(), time.UnixMilli(changed).UTC()
		at[o.ID] = len(orders)
		orders = append(orders, o)
		return err
	})
	if err != nil || len(orders) == 0 {
		return nil, err
	}
	if err := b.items(ctx, sale, orders, at); err != nil {
		return nil, err
	}
	return orders, b.payments(ctx, sale, orders, at)
}

// these returns the condition for the orders of a page.
func these(orders []booked) (condition string, args []any) {
	for i := range orders {
		args = append(args, orders[i].ID)
	}
	return "order_id IN (" + sqltext.Marks(len(orders)) + ")", args
}

// items reads the items of a page of orders.
func (b *Database) items(ctx context.Context, sale string, orders []booked, at map[string]int) error {
	condition, args := these(orders)
	query := "SELECT order_id, sku, quantity, price FROM order_item WHERE sale = ? AND " + condition + " ORDER BY order_id, sku"
	err := eachRow(ctx, b.db, b.dialect, query, append([]any{sale}, args...), func(row *sql.Rows) error {
		var id string
		var item Item
		err := row.Scan(&id, &item.SKU, &item.Quantity, &item.Price)
		if i, ok := at[id]; ok {
			orders[i].Items = append(orders[i].Items, item)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("items: %w", err)
	}
	return nil
}

// payments reads the payments of a page of orders.
func (b *Database) payments(ctx context.Context, sale string, orders []booked, at map[string]int) error {
	condition, args := these(orders)
	query := "SELECT order_id, kind, reference, amount, currency, refunds, at FROM payment" +
		" WHERE sale = ? AND " + condition + " ORDER BY order_id, at, CASE kind WHEN 'paid' THEN 0 WHEN 'surplus' THEN 1 ELSE 2 END, reference"
	err := eachRow(ctx, b.db, b.dialect, query, append([]any{sale}, args...), func(row *sql.Rows) error {
		var id string
		var p Payment
		var ms int64
		err := row.Scan(&id, &p.Kind, &p.Reference, &p.Amount, &p.Currency, &p.Refunds, &ms)
		p.At = time.UnixMilli(ms).UTC()
		if i, ok := at[id]; ok {
			orders[i].Payments = append(orders[i].Payments, p)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	return nil
}
