package stock_test

import (
	"errors"
	"testing"

	"github.com/cronce/cronce/jobs/stock"
)

// What was put in of products waits for the book like orders do, and is counted by itself: it is no order,
// and has no age.
func TestFiguresOfTotals(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := newSale(t, client, stock.Options{Book: p.Database})
	if f, err := s.Figures(t.Context()); err != nil || f.Stock != nil || !errors.Is(s.Known(), stock.ErrStockUnknown) {
		t.Errorf("before the store was compared with the book: %+v, %v, %v, want that the stock is not known", f, err, s.Known())
	}
	if err := s.Probe(t.Context()); err != nil || s.Known() != nil {
		t.Errorf("afterwards: %v, %v", err, s.Known())
	}
	want := func(totals, unsettled int64) {
		t.Helper()
		f, err := s.Figures(t.Context())
		if err != nil || f.Totals != totals || f.Unsettled != unsettled || totals > 0 && f.Lag != 0 {
			t.Errorf("%+v, %v, want %d totals and %d orders that are unsettled", f, err, totals, unsettled)
		}
	}
	put(t, s, "tea", 5)
	put(t, s, "cup", 5)
	want(2, 0)
	settleAll(t, s, p)
	want(0, 0)
	reserve(t, s, order("a"))
	want(0, 1)
	put(t, s, "cup", 10)
	settleAll(t, s, p)
	want(0, 0)
}
