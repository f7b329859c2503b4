package stock

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// A Difference is an order or a product on which store and book disagree, although no change of it
// is on its way to the book.
type Difference struct {
	Order string // order id; empty: the difference is about a product
	SKU   string // product; empty: the difference is about an order
	Store string // content of the store
	Book  string // content of the book

	lost bool // the store has lost the order, or a step of it
}

// String is for people and logs.
func (d Difference) String() string {
	what := "order " + format.Quote(d.Order)
	if d.Order == "" {
		what = "product " + format.Quote(d.SKU)
	}
	return fmt.Sprintf("%s: the store has %s, the book %s", what, d.Store, d.Book)
}

// Differences compares the orders and products of store and book, and the book's counts with its
// orders. It may run while orders are placed. It changes nothing, except that it closes a shelf that
// has lost data; without a shelf it returns an ErrStockUnknown. It skips closed orders that the store
// has forgotten after Options.Retention. It reads all other orders, which takes some seconds per
// 100,000. It needs Options.Book.
func (s *Sale) Differences(ctx context.Context) ([]Difference, error) {
	if s.options.Book == nil {
		return nil, fmt.Errorf("stock: compare: %w", errNoBook)
	}
	found, _, err := s.differences(ctx, s.options.Retention, false)
	if err != nil {
		return nil, fmt.Errorf("stock: compare: %w", err)
	}
	wrong, err := s.options.Book.miscounted(ctx, s.ID())
	if err != nil {
		return nil, fmt.Errorf("stock: compare: %w", err)
	}
	return append(found, wrong...), nil
}

// differences compares orders and products. It fails if the shelf has lost data or was rebuilt
// meanwhile: a difference may be due to that. It opens a new shelf only if the caller may.
func (s *Sale) differences(ctx context.Context, retention time.Duration, opens bool) ([]Difference, view, error) {
	if err := s.probe(ctx, opens); err != nil {
		return nil, view{}, err
	}
	epoch := s.epoch()
	orders, err := s.orderDifferences(ctx, retention)
	if err != nil {
		return nil, view{}, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return nil, view{}, err
	}
	if err = s.probe(ctx, opens); err == nil && s.epoch() != epoch {
		err = fmt.Errorf("the shelf was rebuilt meanwhile: %w", ErrStockUnknown)
	}
	return append(orders, v.differences()...), v, err
}

// orderDifferences compares two kinds of orders: orders that are reserved in the book or were settled
// there less than retention ago, and orders that wait in the store for their payment.
func (s *Sale) orderDifferences(ctx context.Context, retention time.Duration) (found []Difference, err error) {
	seen := map[string]bool{}
	compare := func(ids []string) error {
		some, err := s.compareOrders(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return seen[id] }))
		for _, id := range ids {
			seen[id] = true
		}
		found = append(found, some...)
		return err
	}
	for after := ""; ; {
		ids, err := s.options.Book.ids(ctx, s.ID(), after, retention, maxBatch)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			err = s.members(ctx, keyDue, compare)
			return found, err
		}
		if err := compare(ids); err != nil {
			return nil, err
		}
		after = ids[len(ids)-1]
	}
}

// ids reads up to n order ids behind the given one: of reserved orders and, if retention is not 0,
// of orders that were settled less than retention ago.
func (b *Database) ids(ctx context.Context, sale, after string, retention time.Duration, n int) ([]string, error) {
	query, args := "SELECT id FROM orders WHERE sale = ? AND status = 'reserved' AND id > ?", []any{sale, after}
	if retention > 0 {
		query = "SELECT id FROM orders WHERE sale = ? AND id > ? AND (status = 'reserved' OR settled_at > " + b.dialect.Now() + " - ?)"
		args = append(args, retention.Milliseconds())
	}
	ids, err := b.textRows(ctx, query+" ORDER BY id LIMIT "+strconv.Itoa(n), args...)
	if err != nil {
		return nil, fmt.Errorf("read the book's orders: %w", err)
	}
	return ids, nil
}

// compareOrders compares orders by their ids. It reads the store before and after the book. The
// book must have each order that the store has unchanged in both reads and that is not on its way
// to the book.
func (s *Sale) compareOrders(ctx context.Context, ids []string) (found []Difference, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	before, err := s.held(ctx, ids)
	if err != nil {
		return nil, err
	}
	var rows map[string]row
	err = s.options.Book.transact(ctx, s.ID(), func(tx *transaction) (err error) { // PostgreSQL finds by the index only in a transaction: see sqltext.Bound
		rows, err = tx.find(ctx, ids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up orders: %w", err)
	}
	after, err := s.held(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		have, known := rows[id]
		if before[i] != after[i] {
			continue
		}
		if d, differs := before[i].against(have, known); differs {
			d.Order = id
			found = append(found, d)
		}
	}
	return found, nil
}

// A held is the state of an order in the store.
type held struct {
	stamp string // state and placed; empty: the store has no record, or an unreadable one
	list  string // fresh, due, unsettled, or empty

	unread bool // the record cannot be read
}

func heldAs(id, record, list string) held {
	if record == "" {
		return held{list: list}
	}
	r, err := parseRecord(id, record)
	if err != nil {
		return held{list: list, unread: true}
	}
	return held{stamp: string(r.State) + " " + strconv.FormatInt(r.Placed.UnixMilli(), 10), list: list}
}

// held reads the state of orders in the store.
func (s *Sale) held(ctx context.Context, ids []string) ([]held, error) {
	answer, err := s.runScript(ctx, compareOrdersScript, s.orderKeys(ids, keyFresh, keyDue, keyUnsettled), argsOf(ids)...)
	if err == nil && len(answer) != 2*len(ids) {
		err = unknownAnswer(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("read the store's orders: %w", err)
	}
	all := make([]held, len(ids))
	for i := range all {
		all[i] = heldAs(ids[i], answer[2*i], answer[2*i+1])
	}
	return all, nil
}

// against compares an order of the store with the book's row.
func (h held) against(have row, known bool) (d Difference, differs bool) {
	d.Book = "nothing"
	if known {
		d.Book = string(have.status)
	}
	state, placed, _ := strings.Cut(h.stamp, " ")
	same := known && placed == strconv.FormatInt(have.placed, 10)
	d.Store, d.lost = state, true
	switch {
	case h.list == "fresh" || h.list == "unsettled":
		return d, false // on its way, or kept back by the settlement
	case h.unread:
		d.Store = "a record that cannot be read"
		return d, h.list != "" || known && have.status.open()
	case h.stamp == "":
		d.Store = "nothing"
		return d, known && have.status.open() // the store may have forgotten a closed order
	case same && have.status == State(state):
		d.Store = state + " and on no list: it would never expire"
		return d, have.status.open() && h.list != "due"
	case same && !State(state).follows(have.status):
		return d, true
	}
	d.lost = false // the book has lost the order, or has another one under its id
	return d, same || State(state) != Cancelled && State(state) != Expired && State(state) != Refunded
}

// miscounted returns the products whose counts in the book are not the sums of its orders.
func (b *Database) miscounted(ctx context.Context, sale string) ([]Difference, error) {
	query := "SELECT p.sku, p.reserved, p.sold, COALESCE(s.reserved, 0), COALESCE(s.sold, 0) FROM product p LEFT JOIN" +
		" (SELECT i.sku, SUM(CASE WHEN o.status <> 'paid' THEN i.quantity ELSE 0 END) AS reserved, SUM(CASE o.status WHEN 'paid' THEN i.quantity ELSE 0 END) AS sold" +
		" FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = ? AND o.status IN ('reserved', 'paid') GROUP BY i.sku) s" +
		" ON s.sku = p.sku WHERE p.sale = ? AND (p.reserved <> COALESCE(s.reserved, 0) OR p.sold <> COALESCE(s.sold, 0))"
	wrong := map[string]Difference{}
	err := eachRow(ctx, b.db, b.dialect, query, []any{sale, sale}, func(row *sql.Rows) error {
		var sku string
		var has, sums shift
		err := row.Scan(&sku, &has.reserved, &has.sold, &sums.reserved, &sums.sold)
		wrong[sku] = Difference{SKU: sku, Store: "nothing to do with it",
			Book: fmt.Sprintf("%d reserved, %d sold, and orders of %d, %d", has.reserved, has.sold, sums.reserved, sums.sold)}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the book's orders: %w", err)
	}
	return slices.SortedFunc(maps.Values(wrong), func(a, b Difference) int { return strings.Compare(a.SKU, b.SKU) }), nil
}
