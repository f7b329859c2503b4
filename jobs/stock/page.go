package stock

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// A booked order is one as the book has it.
type booked struct {
	Record
	keep int64 // how long it is kept yet, in ms
}

// line is the record as the store has it.
func (r booked) line() (string, error) {
	b, currency := body{Buyer: r.Buyer, Receiver: r.Receiver, Phone: r.Phone}, r.Currency
	if r.itemsAmount() != r.Amount { // placed before products had prices
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

// page reads up to n orders of a sale that come after an id: those that are
// open, and the others that were settled less than retention ago, in ms.
func (b *Database) page(ctx context.Context, sale, after string, retention int64, n int) ([]booked, error) {
	query := "SELECT " + orderColumns + ", settled_at + ? - " + b.dialect.Now() +
		" FROM orders WHERE sale = ? AND id > ? AND (status IN ('reserved', 'paying') OR settled_at > " + b.dialect.Now() + " - ?) ORDER BY id LIMIT " + strconv.Itoa(n)
	return b.read(ctx, sale, query, retention, sale, after, retention)
}

// order reads an order, in whatever state. There is none if that is empty.
func (b *Database) order(ctx context.Context, sale, id string) (booked, error) {
	orders, err := b.readThese(ctx, sale, "", []string{id})
	if err != nil || len(orders) == 0 {
		return booked{}, err
	}
	return orders[0], nil
}

// orderColumns are what read wants of an order, and behind them how long it is kept yet.
const orderColumns = "id, receiver, buyer, phone, amount, currency, status, placed_at, due_at, changed_at"

// read reads the orders that a query finds, sorted by their ids.
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

// these narrows a query to the orders of a page: by their ids, or, of many, to those between
// the first and the last, which a page of all orders has without gaps.
func these(orders []booked) (condition string, args []any) {
	if len(orders) > MaxPage {
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
