package stock

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// A ProductPage is a page of products.
type ProductPage struct {
	Products []Product
	Next     string // the cursor of the next page; empty: there is none
}

// Products returns up to limit products (1 to 500) with their current counts, in the order of
// their SKUs. Cursor is the Next of the previous page; empty for the first page. A product that is
// added or deleted meanwhile may be missing; every other product is on exactly one page. It refuses
// with a *FieldError.
func (s *Sale) Products(ctx context.Context, cursor string, limit int) (ProductPage, error) {
	page, err := s.products(ctx, cursor, limit)
	if err != nil {
		return ProductPage{}, fmt.Errorf("stock: products: %w", err)
	}
	return page, nil
}

func (s *Sale) products(ctx context.Context, cursor string, limit int) (page ProductPage, err error) {
	after, err := parseCursor("products", cursor)
	if err := errors.Join(checkLimit(limit), err); err != nil {
		return page, err
	}
	answer, err := s.ask(ctx, pageScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyOffer, keyNames), after, limit)
	if err != nil {
		return page, err
	}
	if len(answer) == 0 {
		return page, s.forgotten(nil)
	}
	const each = 6
	if len(answer)%each != 1 {
		return page, unknownAnswer(answer)
	}
	if answer[0] != "" {
		page.Next = cursorOf("products", answer[0])
	}
	for one := range slices.Chunk(answer[1:], each) {
		p, err := parseProduct(one[0], one[1:])
		if err != nil {
			return page, fmt.Errorf("product %s: %w", format.Quote(one[0]), err)
		}
		page.Products = append(page.Products, p)
	}
	return page, nil
}

// maxPage bounds the products or orders of a page.
const maxPage = 500

// cursorOf returns the cursor behind a name in the list of a query.
func cursorOf(query, after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(query + "\n" + after))
}

// parseCursor returns the name that a cursor of the query is behind; empty for the first page.
func parseCursor(query, cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	of, after, found := strings.Cut(string(text), "\n")
	if err != nil || !found || of != query || !format.IsName(after) {
		return "", &FieldError{"cursor", format.Quote(cursor), "the next of the previous page of the same list"}
	}
	return after, nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxPage {
		return &FieldError{"limit", strconv.Itoa(limit), fmt.Sprintf("1 to %d", maxPage)}
	}
	return nil
}

// An OrderQuery selects a page of orders.
type OrderQuery struct {
	State  State  // empty: in any
	SKU    string // a product among the items of the order; empty: any
	Cursor string // the Next of the previous page of the same query; empty: the first page
	Limit  int    // 1 to 500
}

// An OrderPage is a page of orders.
type OrderPage struct {
	Orders []Record
	Next   string // OrderQuery.Cursor of the next page; empty: there is none
}

// ErrNoBook is returned by a sale without Options.Book: the store forgets orders and has no list of
// them.
var ErrNoBook = errors.New("the sale keeps no book")

// Orders returns a page of the book's orders, in the order of their ids. The book is about a second
// behind the store; [Sale.Order] is not. With both a state and a product, a page may have fewer
// orders than Limit, or none, and still a Next, because one call reads at most 10,000 orders. It
// refuses with a *FieldError or with ErrNoBook.
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
			n = maxPage // few of these orders may match both
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

// maxSteps bounds how often a page reads further orders because few of them match.
const maxSteps = 20

// text identifies the query in a cursor.
func (q *OrderQuery) text() string { return "orders " + string(q.State) + " " + q.SKU }

func (q *OrderQuery) validate() (after string, err error) {
	errs := []error{checkLimit(q.Limit)}
	if q.State != "" {
		if _, err := parseState(string(q.State)); err != nil {
			errs = append(errs, &FieldError{"state", format.Quote(string(q.State)), "reserved, paying, paid, cancelled, expired, returned or refunded"})
		}
	}
	if q.SKU != "" {
		errs = append(errs, checkSKU("sku", q.SKU))
	}
	after, err = parseCursor(q.text(), q.Cursor)
	return after, errors.Join(append(errs, err)...)
}

// candidates reads up to n order ids behind the given one: those with the product, or else those in
// the state. Each query has an index in this order.
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

// readThese reads up to 500 orders by their ids. With a state it returns only the orders in
// that state.
func (b *Database) readThese(ctx context.Context, sale string, state State, ids []string) ([]booked, error) {
	query := "SELECT " + orderColumns + ", 0 FROM orders WHERE sale = ? AND id IN (" + sqltext.Marks(len(ids)) + ")"
	args := argsOf(ids, sale)
	if state != "" {
		query, args = query+" AND status = ?", append(args, string(state))
	}
	return b.read(ctx, sale, query+" ORDER BY id", args...)
}
