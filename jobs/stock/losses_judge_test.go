package stock_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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

// rows are the orders of the book, with their states.
func (l *losing) rows() map[string]stock.State {
	l.t.Helper()
	rows := map[string]stock.State{}
	for _, line := range l.book.lines(l.t, "SELECT id, status FROM orders") {
		id, state, _ := strings.Cut(line, " ")
		rows[id] = stock.State(state)
	}
	return rows
}

// watchBook keeps the states in which the book is seen to have orders, until stop is closed.
func (l *losing) watchBook(stop <-chan struct{}) {
	for {
		maps.Copy(l.had, l.rows())
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// judge holds store and book against the answers of buyers, while no buyer orders.
func (l *losing) judge() {
	l.t.Helper()
	for _, text := range l.wrong() {
		l.t.Errorf("%s: %s", l.where, text)
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.judgeProducts()
	for _, p := range l.m.all {
		p.mu.Lock()
		for _, line := range p.broken {
			l.t.Errorf("%s: %s logged: %s", l.where, p.name, line)
		}
		p.mu.Unlock()
	}
}

// wrong are the orders that the book does not have as their buyers were answered, although it was waited for, or
// had them before, or could settle them all before the round; and those that no buyer has.
func (l *losing) wrong() (wrong []string) {
	l.t.Helper()
	rows := l.rows()
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	for id := range l.m.accepted {
		answered, asked := l.m.ended[id]
		if !asked {
			answered = stock.Reserved
		}
		has := rows[id]
		switch {
		case l.missing[id], fulfils(has, answered):
		case l.revived && has != "" && has == l.m.tried[id]: // a store came back that had done it, and whose answer was lost
		case l.m.setup.Settled, l.earlier[id], l.had[id] != "" && fulfils(l.had[id], answered):
			wrong = append(wrong, fmt.Sprintf("order %s is %q in the book, which had it %q, and its buyer was answered %s", id, has, l.had[id], answered))
		default:
			l.missing[id] = true
		}
	}
	for id, state := range rows {
		if _, known := l.m.accepted[id]; !known && !l.revived {
			wrong = append(wrong, fmt.Sprintf("order %s is %s in the book, and no buyer has it", id, state))
		}
	}
	for id, had := range l.had {
		if has := rows[id]; has != had && !slices.Contains(since[had], has) {
			wrong = append(wrong, fmt.Sprintf("order %s is %q in the book, which had it %s", id, has, had))
		}
	}
	return wrong
}

// since are the states in which the book may have an order that it had in one before.
var since = map[stock.State][]stock.State{
	stock.Reserved: {stock.Paid, stock.Cancelled, stock.Expired, stock.Returned, stock.Refunded},
	stock.Paid:     {stock.Returned, stock.Refunded},
	stock.Returned: {stock.Refunded},
}

// fulfils reports whether an order in a state is as its buyer was answered: it may have expired since.
func fulfils(has, answered stock.State) bool {
	return has == answered || answered == stock.Reserved && has == stock.Expired
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
	l.t.Errorf("%s: %s", l.where, differ)
}

// differ returns how store and book differ.
func (l *losing) differ() string {
	s := newSale(l.t, l.client(), stock.Options{})
	if differ := l.sellerDiffers(s); differ != "" {
		return differ
	}
	var rows []string
	for _, sku := range lossSKUs {
		p, err := s.Product(l.t.Context(), sku)
		if err != nil || p.Put != l.m.totals[sku] || p.Stock < 0 || p.Reserved < 0 || p.Stock+p.Reserved+p.Sold != p.Put {
			return fmt.Sprintf("the store has %+v, %v, of %d that were put in", p, err, l.m.totals[sku])
		}
		rows = append(rows, fmt.Sprint(sku, " ", p.Put, " ", p.Reserved, " ", p.Sold))
	}
	book := slices.DeleteFunc(l.book.lines(l.t, productRows), func(row string) bool { return strings.HasPrefix(row, sellerSKU+" ") })
	if fmt.Sprint(book) != fmt.Sprint(rows) {
		return fmt.Sprintf("the book has %q, the store %q", book, rows)
	}
	bought, err := l.client().HGetAll(l.t.Context(), saleTag+"bought").Result()
	var shelf []string
	for field, text := range bought {
		shelf = append(shelf, strings.Replace(field, ":", " ", 1)+" "+text)
	}
	book = l.book.lines(l.t, "SELECT o.buyer, i.sku, SUM(i.quantity) FROM orders o JOIN order_item i ON i.sale = o.sale AND i.order_id = o.id"+
		" WHERE o.status IN ('reserved', 'paid') GROUP BY o.buyer, i.sku")
	slices.Sort(shelf)
	slices.Sort(book)
	if err != nil || fmt.Sprint(shelf) != fmt.Sprint(book) {
		return fmt.Sprintf("buyers have %q in the book, the store counts %q, %v", book, shelf, err)
	}
	if wrong := l.book.lines(l.t, unequal); len(wrong) > 0 {
		return fmt.Sprintf("of %q the book does not count what its orders are", wrong)
	}
	return ""
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
		" WHERE o.status IN ('reserved', 'paid') AND o.buyer LIKE 'u-%x-%%' GROUP BY o.buyer, i.sku HAVING SUM(i.quantity) > %d", p.seed>>32, marketLimit))
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
