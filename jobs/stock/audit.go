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
)

// An audit repeats its read of the counts until no change is on its way to the book, at most
// maxReads times and with readAgain between two reads.
const (
	maxReads  = 10
	readAgain = 100 * time.Millisecond
)

// maxAudited bounds how many reserved orders and buyers one run of reconcile compares, of the store
// and of the book each. The next run continues behind them.
const maxAudited = 20_000

// A Mend is the repair of a difference: see Sale.Repair.
type Mend string

// The repairs.
const (
	SettleAgain Mend = "settle again" // the book has lost the order: the store's record is written again
	Restock     Mend = "put in again" // a line that waits for the book is written again from the store's counts
	Recount     Mend = "recount"      // the book's counts are computed from its orders
	Rebuild     Mend = "rebuild"      // the shelf is rebuilt from the book
)

// A Difference is an order or a product on which store and book disagree, although no change of it
// is on its way to the book.
type Difference struct {
	Order string // order id; empty: the difference is about a product
	SKU   string // product; empty: the difference is about an order
	Buyer string // buyer whose quantity of the product differs, or empty
	Store string // content of the store
	Book  string // content of the book
	Mend  Mend

	unread bool        // the record cannot be read, and may contain a change that the book lacks
	line   *unreadLine // the unreadable line of a product, or nil
}

// String is for people and logs.
func (d Difference) String() string {
	what := "order " + quote(d.Order)
	if d.Order == "" {
		what = "product " + quote(d.SKU)
	}
	if d.Buyer != "" {
		what = "buyer " + quote(d.Buyer) + " of " + what
	}
	return fmt.Sprintf("%s: the store has %s, the book %s", what, d.Store, d.Book)
}

// Audit compares the store with the book and returns the differences. It compares orders, products,
// and the quantities of buyers, and may run while orders are placed. It changes nothing. It skips
// closed orders that the store has forgotten after Options.Retention. It reads all other orders,
// which takes some seconds per 100,000. It needs Options.Book.
func (s *Sale) Audit(ctx context.Context) ([]Difference, error) {
	if s.options.Book == nil {
		return nil, fmt.Errorf("stock: audit: %w", errNoBook)
	}
	if err := s.Probe(ctx); err != nil {
		return nil, fmt.Errorf("stock: audit: %w", err)
	}
	epoch := s.epoch()
	found, err := s.auditOrders(ctx, s.options.Book, s.options.Retention, &walk{})
	if err != nil {
		return nil, fmt.Errorf("stock: audit: %w", err)
	}
	products, err := s.auditProducts(ctx)
	if err != nil {
		return nil, fmt.Errorf("stock: audit: %w", err)
	}
	lines, err := s.auditLines(ctx, s.options.Book)
	if err != nil {
		return nil, fmt.Errorf("stock: audit: %w", err)
	}
	buyers, err := s.auditBuyers(ctx, s.options.Book, &walk{})
	if err != nil {
		return nil, fmt.Errorf("stock: audit: %w", err)
	}
	if err := s.Probe(ctx); err != nil {
		return nil, fmt.Errorf("stock: audit: %w", err)
	}
	if s.epoch() != epoch {
		return nil, fmt.Errorf("stock: audit: the shelf was rebuilt meanwhile: %w", ErrStockUnknown)
	}
	return slices.Concat(found, lines, products, buyers), nil
}

// auditOrders compares three kinds of orders, as far as the walk goes: orders that are reserved in
// the book or were settled there less than retention ago, orders that wait in the store for their
// payment, and orders that wait there for their settlement and cannot be read.
func (s *Sale) auditOrders(ctx context.Context, b *Database, retention time.Duration, w *walk) ([]Difference, error) {
	disputes, err := b.disputes(ctx, s.ID(), "")
	if err != nil {
		return nil, err
	}
	a := audit{sale: s, book: b, disputed: map[string]bool{}, seen: map[string]bool{}}
	for _, d := range disputes {
		a.disputed[d.ID+" "+strconv.FormatInt(d.Placed.UnixMilli(), 10)] = true
	}
	compare := func(ids []string) error { return a.compare(ctx, ids) }
	err = w.bookOrders(func(after string, n int) ([]string, error) { return b.ids(ctx, s.ID(), after, retention, n) }, compare)
	if err == nil {
		err = w.dueOrders(ctx, s, compare)
	}
	if err == nil {
		err = w.waiting(ctx, s, func(ids []string) error { return a.unread(ctx, ids) })
	}
	return a.found, err
}

// ids reads up to n order ids behind the given one: those of reserved orders and, if retention is
// not 0, of orders that were settled less than retention ago.
func (b *Database) ids(ctx context.Context, sale, after string, retention time.Duration, n int) ([]string, error) {
	query, args := "SELECT id FROM orders WHERE sale = ? AND status IN ('reserved', 'paying') AND id > ?", []any{sale, after}
	if retention > 0 {
		query = "SELECT id FROM orders WHERE sale = ? AND id > ? AND (status IN ('reserved', 'paying') OR settled_at > " + b.dialect.Now() + " - ?)"
		args = append(args, retention.Milliseconds())
	}
	ids, err := b.textRows(ctx, query+" ORDER BY id LIMIT "+strconv.Itoa(n), args...)
	if err != nil {
		return nil, fmt.Errorf("read the book's orders: %w", err)
	}
	return ids, nil
}

// An audit compares the orders of a store and a book.
type audit struct {
	sale     *Sale
	book     *Database
	disputed map[string]bool // by id and placed
	seen     map[string]bool // by order id: it was compared
	found    []Difference
}

// unread compares those of the given orders whose records cannot be read.
func (a *audit) unread(ctx context.Context, ids []string) error {
	var got batch
	if err := a.sale.readRecords(ctx, ids, &got); err != nil {
		return err
	}
	ids = nil
	for _, u := range got.unread {
		ids = append(ids, u.id)
	}
	return a.compare(ctx, ids)
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

// compare compares orders by their ids. It reads the store before and after the book. The book must
// have each order that the store has unchanged in both reads and that is not on its way to the
// book.
func (a *audit) compare(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return a.seen[id] })
	if len(ids) == 0 {
		return nil
	}
	before, err := a.sale.held(ctx, ids)
	if err != nil {
		return err
	}
	rows, err := a.book.find(ctx, a.sale.ID(), ids)
	if err != nil {
		return fmt.Errorf("look up orders: %w", err)
	}
	after, err := a.sale.held(ctx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		a.seen[id] = true
		have, known := rows[id]
		if before[i] != after[i] || a.disputed[id+strings.TrimLeft(before[i].stamp, "abcdefghijklmnopqrstuvwxyz")] {
			continue
		}
		if d, differs := before[i].against(have, known); differs {
			d.Order = id
			a.found = append(a.found, d)
		}
	}
	return nil
}

// held reads the state of orders in the store.
func (s *Sale) held(ctx context.Context, ids []string) ([]held, error) {
	answer, err := s.ask(ctx, auditScript, s.orderKeys(ids, keyFresh, keyDue, keyUnsettled), argsOf(ids)...)
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
	book := "nothing"
	if known {
		book = string(have.status)
	}
	state, placed, _ := strings.Cut(h.stamp, " ")
	same := known && placed == strconv.FormatInt(have.placed, 10)
	d = Difference{Store: state, Book: book}
	switch {
	case h.unread: // an unreadable record is never settled, whatever list it is on
		d.Store, d.Mend, d.unread = "a record that cannot be read", Rebuild, h.list == "fresh" || h.list == "unsettled"
		return d, h.list != "" || known && have.status.open()
	case h.list == "fresh" || h.list == "unsettled":
		return d, false // on its way
	case h.stamp == "":
		d.Store, d.Mend = "nothing", Rebuild
		return d, known && have.status.open() // the store may have forgotten a closed order
	case same && have.status == State(state):
		d.Store, d.Mend = state+" and on no list: it would never expire", Rebuild
		return d, have.status.open() && h.list != "due"
	case same && !State(state).follows(have.status):
		d.Mend = Rebuild
		return d, true
	case !same && (State(state) == Cancelled || State(state) == Expired || State(state) == Refunded):
		return d, false // it holds neither items nor money
	}
	d.Mend = SettleAgain
	return d, true
}

// auditProducts compares the counts of products.
func (s *Sale) auditProducts(ctx context.Context) ([]Difference, error) {
	v, err := s.view(ctx, s.options.Book)
	if err != nil {
		return nil, err
	}
	found, _ := v.findings()
	var all []Difference
	for _, f := range found {
		p := v.after.products[f.sku]
		d := v.database[f.sku]
		all = append(all, Difference{SKU: f.sku, Mend: Rebuild,
			Store: fmt.Sprintf("%d put in, %d reserved, %d sold, %d left (%s)", p.Put, p.Reserved, p.Sold, p.Stock, f.text),
			Book:  fmt.Sprintf("%d put in, %d reserved, %d sold", d.Put, d.Reserved, d.Sold)})
	}
	wrong, err := s.options.Book.miscounted(ctx, s.ID())
	if err != nil {
		return nil, err
	}
	for _, sku := range slices.Sorted(maps.Keys(wrong)) {
		w := wrong[sku]
		all = append(all, Difference{SKU: sku, Mend: Recount, Store: "not to be asked",
			Book: fmt.Sprintf("%d reserved, %d sold, and orders of %d, %d", w[0].reserved, w[0].sold, w[1].reserved, w[1].sold)})
	}
	return all, nil
}

// view reads the counts of store and book until no change is on its way to the book, at most
// maxReads times: only then each count can be compared exactly. If changes are on their way in all
// reads, it returns the last read, together with the products that those changes concern.
func (s *Sale) view(ctx context.Context, b *Database) (v view, err error) {
	for read := 1; ; read++ {
		if v.before, err = s.counts(ctx); err != nil {
			return view{}, err
		}
		if v.database, err = b.products(ctx, s.ID()); err != nil {
			return view{}, err
		}
		if v.disputed, err = s.disputedShifts(ctx, b); err != nil {
			return view{}, err
		}
		if read == maxReads && v.before.unsettled > 0 {
			if v.pending, err = s.pending(ctx, b, v.began); err != nil {
				return view{}, err
			}
		}
		if v.after, err = s.counts(ctx); err != nil {
			return view{}, err
		}
		v.constant(read == 1)
		if v.still() || read == maxReads {
			return v, nil
		}
		select {
		case <-time.After(readAgain):
		case <-ctx.Done():
			return view{}, context.Cause(ctx)
		}
	}
}

// miscounted returns, by product, the book's counts and the sums of its orders where the two
// differ.
func (b *Database) miscounted(ctx context.Context, sale string) (map[string][2]shift, error) {
	return miscounted(ctx, b.db, b.dialect, sale)
}

func miscounted(ctx context.Context, q querier, d Dialect, sale string) (map[string][2]shift, error) {
	query := "SELECT p.sku, p.reserved, p.sold, COALESCE(s.reserved, 0), COALESCE(s.sold, 0) FROM product p LEFT JOIN" +
		" (SELECT i.sku, SUM(CASE WHEN o.status <> 'paid' THEN i.quantity ELSE 0 END) AS reserved, SUM(CASE o.status WHEN 'paid' THEN i.quantity ELSE 0 END) AS sold" +
		" FROM order_item i JOIN orders o ON o.sale = i.sale AND o.id = i.order_id WHERE i.sale = ? AND o.status IN ('reserved', 'paying', 'paid') GROUP BY i.sku) s" +
		" ON s.sku = p.sku WHERE p.sale = ? AND (p.reserved <> COALESCE(s.reserved, 0) OR p.sold <> COALESCE(s.sold, 0))"
	wrong := map[string][2]shift{}
	err := eachRow(ctx, q, d, query, []any{sale, sale}, func(row *sql.Rows) error {
		var sku string
		var has, sums shift
		err := row.Scan(&sku, &has.reserved, &has.sold, &sums.reserved, &sums.sold)
		wrong[sku] = [2]shift{has, sums}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the book's orders: %w", err)
	}
	return wrong, nil
}
