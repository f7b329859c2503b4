package stock_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

const saleTag = "cronce:v1:stock:{cronce:shop}:"

// settled waits until the shelf is that of the book, is open, and has nothing left to
// settle.
func (l *losing) settled() {
	l.t.Helper()
	ctx, state := l.t.Context(), ""
	for give := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		var epoch string
		err := l.book.db.QueryRowContext(ctx, "SELECT epoch FROM stock_book").Scan(&epoch)
		shelf, err1 := l.client().HGetAll(ctx, saleTag+"shelf").Result()
		fresh, err2 := l.client().ZCard(ctx, saleTag+"fresh").Result()
		unsettled, err3 := l.client().ZCard(ctx, saleTag+"unsettled").Result()
		restocked, err4 := l.client().HLen(ctx, saleTag+"restocked").Result()
		if err = errors.Join(err, err1, err2, err3, err4); err == nil && shelf["closed"] == "" && shelf["epoch"] == epoch && fresh+unsettled+restocked == 0 {
			return
		}
		state = fmt.Sprintf("shelf %v, the book's epoch %s, %d fresh, %d unsettled, %d restocked, %v", shelf, epoch, fresh, unsettled, restocked, err)
		if time.Now().After(give) {
			l.t.Fatalf("%s: the shelf is not rebuilt and settled: %s", l.where, state)
		}
	}
}

// listTime is for how long a member may not have listed what was lost: it does so within a second
// of seeing the shelf that was rebuilt, and as long as a busy machine takes.
const listTime = 20 * time.Second

// judge holds store and book against the answers of buyers, while no buyer orders.
func (l *losing) judge() {
	l.t.Helper()
	wrong := l.wrong()
	for give := time.Now().Add(listTime); len(wrong) > 0 && !l.m.setup.Settled && time.Now().Before(give); wrong = l.wrong() {
		<-time.After(50 * time.Millisecond)
	}
	for _, text := range wrong {
		l.t.Errorf("%s: %s", l.where, text)
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.judgeProducts()
	for _, p := range l.m.all {
		p.mu.Lock()
		for _, line := range p.broken {
			if !strings.Contains(line, `"acknowledged"`) || l.m.setup.Settled {
				l.t.Errorf("%s: %s logged: %s", l.where, p.name, line)
			}
		}
		p.mu.Unlock()
	}
}

// wrong are the orders that the book does not have as their buyers were told, and that are not
// listed as lost, or that no buyer has.
func (l *losing) wrong() (wrong []string) {
	l.t.Helper()
	rows := map[string]stock.State{}
	for _, line := range l.book.lines(l.t, "SELECT id, status FROM orders") {
		id, state, _ := strings.Cut(line, " ")
		rows[id] = stock.State(state)
	}
	listed := map[string]bool{}
	for _, id := range l.book.lines(l.t, "SELECT order_id FROM stock_lost WHERE source = 'shop'") {
		listed[id] = true
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.listed, l.unwitnessed = 0, 0
	for id := range l.m.accepted {
		told, asked := l.m.ended[id]
		if !asked {
			told = stock.Reserved
		}
		has := rows[id]
		switch {
		case has == told || (told == stock.Reserved || told == stock.Paying) && has == stock.Expired:
		case l.revived && has != "" && has == l.m.tried[id]: // a store came back that had done it, and whose answer was lost
		case l.m.setup.Settled:
			wrong = append(wrong, fmt.Sprintf("order %s is %q in the book, its buyer was told %s", id, has, told))
		case listed[id]:
			l.listed++
		case l.killed[l.m.witness[id]]:
			l.unwitnessed++
		default:
			line, err := l.client().Get(l.t.Context(), saleTag+"order:"+id).Result()
			wrong = append(wrong, fmt.Sprintf("order %s is %q in the book, its buyer was told %s, and it is not listed as lost; the store has %q, %v", id, has, told, line, err))
		}
	}
	for id, state := range rows {
		if _, known := l.m.accepted[id]; !known && !l.revived {
			wrong = append(wrong, fmt.Sprintf("order %s is %s in the book, and no buyer has it", id, state))
		}
	}
	return wrong
}

// judgeProducts compares the counts of store and book with each other, and with their
// orders. Orders may still expire meanwhile: then they are on their way for a second.
func (l *losing) judgeProducts() {
	l.t.Helper()
	differ := ""
	for give := time.Now().Add(10 * time.Second); time.Now().Before(give); <-time.After(100 * time.Millisecond) {
		if differ = l.differ(); differ == "" {
			return
		}
	}
	l.t.Errorf("%s: %s; disputed: %q", l.where, differ, l.book.lines(l.t, "SELECT order_id, record, book_has FROM stock_dispute"))
}

// differ returns how store and book differ. The store counts what the book counts, and
// disputed orders that it has: see disputed.
func (l *losing) differ() string {
	s := newSale(l.t, l.client(), stock.Options{})
	on, err := l.disputed()
	if err != nil {
		return err.Error()
	}
	if differ := l.sellerDiffers(s); differ != "" {
		return differ
	}
	var rows []string
	for _, sku := range lossSKUs {
		p, err := s.Product(l.t.Context(), sku)
		if err != nil || p.Put != l.m.totals[sku] || p.Stock < 0 || p.Reserved < 0 || p.Stock+p.Reserved+p.Sold != p.Put {
			return fmt.Sprintf("the store has %+v, %v, of %d that were put in", p, err, l.m.totals[sku])
		}
		rows = append(rows, fmt.Sprint(sku, " ", p.Put, " ", p.Reserved, " ", p.Sold-on.sold[sku]))
	}
	book := slices.DeleteFunc(l.book.lines(l.t, productRows), func(row string) bool { return strings.HasPrefix(row, sellerSKU+" ") })
	if fmt.Sprint(book) != fmt.Sprint(rows) {
		return fmt.Sprintf("the book has %q, the store, without disputed orders, %q", book, rows)
	}
	bought, err := l.client().HGetAll(l.t.Context(), saleTag+"bought").Result()
	var shelf []string
	for field, text := range bought {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n != on.bought[field] { // else all of it is disputed
			shelf = append(shelf, fmt.Sprint(strings.Replace(field, ":", " ", 1), " ", n-on.bought[field]))
		}
	}
	book = l.book.lines(l.t, "SELECT o.buyer, i.sku, SUM(i.quantity) FROM orders o JOIN order_item i ON i.sale = o.sale AND i.order_id = o.id"+
		" WHERE o.status IN ('reserved', 'paying', 'paid') GROUP BY o.buyer, i.sku")
	slices.Sort(shelf)
	slices.Sort(book)
	if err != nil || fmt.Sprint(shelf) != fmt.Sprint(book) {
		return fmt.Sprintf("buyers have %q in the book, the store counts, without disputed orders, %q, %v", book, shelf, err)
	}
	if wrong := l.book.lines(l.t, unequal); len(wrong) > 0 {
		return fmt.Sprintf("of %q the book does not count what its orders are", wrong)
	}
	return ""
}

// What disputed orders have on the shelf.
type onShelf struct {
	sold   map[string]int64 // by product
	bought map[string]int64 // by buyer:product
}

// disputed reads what disputed orders have on the shelf. Two stores that have sold side by side
// have given the same stock away twice: the paid orders for which the book has no room are
// disputed, and wait for an operator, of which these rounds have none. A later rebuild, in a
// round in which there is stock again, puts them on the shelf (see docs/stock.md), where they hold
// their items until the operator has decided: the store counts them, and the book does not, as
// reconcile has it. Each order that the store has as disputed is paid, as it is in the book's list of
// disputes; and no order is disputed that the book has, too.
func (l *losing) disputed() (on onShelf, err error) {
	on = onShelf{map[string]int64{}, map[string]int64{}}
	if both := l.book.lines(l.t, "SELECT d.order_id, o.status FROM stock_dispute d JOIN orders o ON o.sale = d.sale AND o.id = d.order_id AND o.placed_at = d.placed_at"+
		" WHERE d.book_has = '' OR d.state = o.status"); len(both) > 0 {
		return on, fmt.Errorf("the book has %q, and as disputed", both)
	}
	inBook := l.book.lines(l.t, "SELECT order_id, placed_at, state FROM stock_dispute")
	names, err := l.client().HGetAll(l.t.Context(), saleTag+"disputed").Result()
	if err != nil {
		return on, err
	}
	for id, instead := range names {
		line, err := l.client().Get(l.t.Context(), saleTag+"order:"+id).Result()
		if err != nil {
			return on, fmt.Errorf("disputed order %s (%q): %w", id, instead, err)
		}
		r, err := stock.ParseRecord(id, line)
		if err != nil {
			return on, err
		}
		if r.State != stock.Paid || !slices.Contains(inBook, fmt.Sprint(id, " ", r.Placed.UnixMilli(), " ", r.State)) {
			return on, fmt.Errorf("the store has %s %s as disputed (%q), the book %q", id, line, instead, inBook)
		}
		for _, item := range r.Items {
			on.sold[item.SKU] += item.Quantity
			on.bought[r.Buyer+":"+item.SKU] += item.Quantity
		}
	}
	return on, nil
}

// judgeBuyers checks that no buyer of a round has more than may be. Where two stores have sold
// side by side, before the second was closed, each has counted for itself.
func (l *losing) judgeBuyers(p plan) {
	switch p.loss {
	case wentBack, lagged, stragglers, failedBack:
		return
	}
	l.t.Helper()
	l.book.wantLines(l.t, fmt.Sprintf("SELECT o.buyer, i.sku, SUM(i.quantity) FROM orders o JOIN order_item i ON i.sale = o.sale AND i.order_id = o.id"+
		" WHERE o.status IN ('reserved', 'paying', 'paid') AND o.buyer LIKE 'u-%x-%%' GROUP BY o.buyer, i.sku HAVING SUM(i.quantity) > %d", p.seed>>32, marketLimit))
}

// end lets the members end, once all events were delivered, and judges these.
func (l *losing) end() {
	l.delivered(l.client())
	defer l.judgeEvents()
	for _, p := range l.m.members {
		if err := p.end(); err != nil {
			l.t.Errorf("%s: %v", p.name, err)
		}
	}
}
