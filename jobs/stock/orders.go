package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An OrderQuery says which orders to list, and how many.
type OrderQuery struct {
	State  State  // empty: in any
	SKU    string // of a product that they have among their items; empty: any
	Cursor string // the Next of the page before, of the same query; empty: the first page
	Limit  int    // 1 to MaxPage
}

// An OrderPage is some orders, and where the next page begins.
type OrderPage struct {
	Orders []Record
	Next   string // OrderQuery.Cursor of the next page; empty: there is none
}

// ErrNoBook says that a sale without Options.Book cannot do what was asked: the store
// forgets orders, and has no list of them.
var ErrNoBook = errors.New("the sale keeps no book")

// Orders returns a page of the orders that the book has, in the order of their ids. The book
// is behind the store by about a second; [Sale.Order] is not. With a state and a product a
// page may have fewer orders than Limit, also none, and a Next: it reads no more than
// 10,000 orders. It is refused with a *FieldError, or with ErrNoBook.
func (s *Sale) Orders(ctx context.Context, q OrderQuery) (OrderPage, error) {
	page, err := s.orders(ctx, q)
	if err != nil {
		return OrderPage{}, fmt.Errorf("stock: orders: %w", err)
	}
	return page, nil
}

func (s *Sale) orders(ctx context.Context, q OrderQuery) (page OrderPage, err error) {
	after, err := q.validate()
	if err != nil {
		return page, err
	}
	b := s.options.Book
	if b == nil {
		return page, ErrNoBook
	}
	if err := b.Migrate(ctx); err != nil {
		return page, err
	}
	for step := 0; len(page.Orders) < q.Limit && step < maxSteps; step++ {
		n := q.Limit - len(page.Orders)
		if q.State != "" && q.SKU != "" {
			n = MaxPage // of which few may fit
		}
		ids, err := b.candidates(ctx, s.ID(), q, after, n)
		if err != nil || len(ids) == 0 {
			return page, err
		}
		found, err := b.readThese(ctx, s.ID(), q.State, ids)
		if err != nil {
			return page, err
		}
		after = ids[len(ids)-1]
		full := len(ids) == n
		for _, o := range found {
			page.Orders = append(page.Orders, o.Record)
			if len(page.Orders) == q.Limit {
				full, after = full || o.ID != after, o.ID
				break
			}
		}
		if !full {
			return page, nil
		}
	}
	page.Next = cursorOf(q.text(), after)
	return page, nil
}

// maxSteps is how often a page reads more orders, where few of those it finds fit.
const maxSteps = 20

// text distinguishes queries.
func (q *OrderQuery) text() string { return "orders " + string(q.State) + " " + q.SKU }

func (q *OrderQuery) validate() (after string, err error) {
	errs := []error{checkLimit(q.Limit)}
	if q.State != "" {
		if _, err := parseState(string(q.State)); err != nil {
			errs = append(errs, &FieldError{"state", quote(string(q.State)), "reserved, paying, paid, cancelled, expired, returned or refunded"})
		}
	}
	if q.SKU != "" {
		errs = append(errs, checkSKU("sku", q.SKU))
	}
	after, err = parseCursor(q.text(), q.Cursor)
	return after, errors.Join(append(errs, err)...)
}

// candidates reads the ids of up to n orders behind one: those with the product, or, without
// one, in the state. Each way an index has them in this order.
func (b *Database) candidates(ctx context.Context, sale string, q OrderQuery, after string, n int) ([]string, error) {
	query, args := "SELECT id FROM orders WHERE sale = ? AND id > ? ORDER BY id", []any{sale, after}
	switch {
	case q.SKU != "":
		query, args = "SELECT order_id FROM order_item WHERE sale = ? AND sku = ? AND order_id > ? ORDER BY order_id", []any{sale, q.SKU, after}
	case q.State != "":
		query, args = "SELECT id FROM orders WHERE sale = ? AND status = ? AND id > ? ORDER BY id", []any{sale, string(q.State), after}
	}
	return b.textRows(ctx, query+" LIMIT "+strconv.Itoa(n), args...)
}

// readThese reads up to MaxPage orders, those that are in the state, if one is given.
func (b *Database) readThese(ctx context.Context, sale string, state State, ids []string) ([]booked, error) {
	query := "SELECT " + orderColumns + ", 0 FROM orders WHERE sale = ? AND id IN (" + sqltext.Marks(len(ids)) + ")"
	args := argsOf(ids, sale)
	if state != "" {
		query, args = query+" AND status = ?", append(args, string(state))
	}
	return b.read(ctx, sale, query+" ORDER BY id", args...)
}
