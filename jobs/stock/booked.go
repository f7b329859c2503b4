package stock

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// bookedOrder returns the book's record of an order that the store does not have, or
// ErrUnknownOrder: see booked.
func (s *Sale) bookedOrder(ctx context.Context, epoch, id string) (Record, error) {
	found, err := s.booked(ctx, epoch, []string{id})
	if err != nil {
		return Record{}, err
	}
	r, known := found[id]
	if !known {
		return Record{}, ErrUnknownOrder
	}
	return r, nil
}

// booked returns the book's records of up to 500 orders that the store of an epoch does not
// have; unknown orders are left out.
//
// The store forgets a closed order after Options.Retention, or has lost it; the book's record is
// the answer for both. The store never forgets an open order: if it lacks one, the shelf has lost
// data and is closed.
//
// If the database does not answer, the order counts as unknown, unless Options.Settled is set: then
// it is an error.
func (s *Sale) booked(ctx context.Context, epoch string, ids []string) (map[string]Record, error) {
	if len(ids) == 0 {
		return nil, nil // the store has all of them: its records can be read even while the shelf is closed
	}
	if err := s.forgotten(nil); err != nil || s.options.Book == nil {
		return nil, err
	}
	bounded, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	orders, err := s.options.Book.readThese(bounded, s.ID(), "", ids)
	if err != nil && s.options.Settled {
		return nil, fmt.Errorf("read the book: %w", err)
	}
	found, open := map[string]Record{}, []string(nil)
	for _, o := range orders {
		if o.State.open() {
			open = append(open, o.ID)
		} else {
			found[o.ID] = o.Record
		}
	}
	if len(open) > 0 { // the order may have been placed, or the shelf closed, since the read: missing compares again
		missing, err := s.missing(ctx, epoch, open)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return nil, closedShelf("behind")
		}
	}
	return found, nil
}

// missing returns which open orders of the book the store lacks. If it lacks any, the shelf has
// lost data and missing closes it.
func (s *Sale) missing(ctx context.Context, epoch string, ids []string) ([]string, error) {
	missing, err := s.ask(ctx, missingScript, s.orderKeys(ids, keyShelf, keyFresh, keyDue), argsOf(ids, epoch)...)
	if err != nil {
		return nil, fmt.Errorf("stock: find orders: %w", err)
	}
	return missing, nil
}

// A booked order is the book's record of an order.
type booked struct {
	Record
	keep int64 // ms for which the store still has to keep it
}

// line returns the record in the store's format.
func (r booked) line() (string, error) {
	b, currency := body{Buyer: r.Buyer, Receiver: r.Receiver, Phone: r.Phone}, r.Currency
	if r.itemsAmount() != r.Amount { // the order was placed before products had prices
		b.Amount, b.Currency, currency = r.Amount, r.Currency, ""
	}
	items := appendItems(nil, r.sorted(), currency != "")
	if currency != "" || len(r.Payments) > 0 {
		items = append(append(items, ';'), currency...)
	}
	for _, p := range r.Payments {
		items = append(append(items, ';'), p.line()...)
	}
	rest, err := restOf(b)
	ms := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) + " " }
	return string(r.State) + " " + ms(r.Placed) + ms(r.Due) + ms(r.Changed) + string(items) + " " + rest, err
}

func (r Record) itemsAmount() (sum int64) {
	for _, item := range r.Items {
		sum += item.Amount()
	}
	return sum
}

// page reads up to n orders of a sale behind an id: open orders, and orders that were settled less
// than retention (ms) ago.
func (b *Database) page(ctx context.Context, sale, after string, retention int64, n int) ([]booked, error) {
	query := "SELECT " + orderColumns + ", settled_at + ? - " + b.dialect.Now() +
		" FROM orders WHERE sale = ? AND id > ? AND (status IN ('reserved', 'paying') OR settled_at > " + b.dialect.Now() + " - ?) ORDER BY id LIMIT " + strconv.Itoa(n)
	return b.read(ctx, sale, query, retention, sale, after, retention)
}

// orderColumns are the columns that read scans; the column behind them is booked.keep.
const orderColumns = "id, receiver, buyer, phone, amount, currency, status, placed_at, due_at, changed_at"

// read returns the orders of a query, which must sort them by id.
func (b *Database) read(ctx context.Context, sale, query string, args ...any) ([]booked, error) {
	var orders []booked
	at := map[string]int{}
	err := eachRow(ctx, b.db, b.dialect, query, args, func(row *sql.Rows) error {
		var o booked
		var placed, due, changed int64
		err := row.Scan(&o.ID, &o.Receiver, &o.Buyer, &o.Phone, &o.Amount, &o.Currency, &o.State, &placed, &due, &changed, &o.keep)
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

// these returns a condition for the orders of a page: a list of ids or, for a large page, the range
// between the first and the last id. A large page has all orders of its range.
func these(orders []booked) (condition string, args []any) {
	if len(orders) > maxPage {
		return "order_id >= ? AND order_id <= ?", []any{orders[0].ID, orders[len(orders)-1].ID}
	}
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
