package stock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// wantLost checks the list of lost orders, without when they were found.
func wantLost(t *testing.T, s *stock.Sale, count int64, want ...string) {
	t.Helper()
	all, err := s.LostOrders(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range all {
		if l.Found.IsZero() {
			t.Errorf("%s was found at no time", l.ID)
		}
		got = append(got, strings.TrimSuffix(fmt.Sprint(l.ID, " ", l.State, " ", l.Acknowledged, " ", l.BookHas, " ", l.Reason), " "))
	}
	wantSameLines(t, got, want)
	if n, err := s.CountLost(t.Context()); err != nil || n != count {
		t.Errorf("%d are counted, %v, want %d", n, err, count)
	}
}

// One list has the orders that shops have acknowledged and did not find any more, and those that a rebuild could not take over, until the
// book has them, an operator decides about a dispute, or drops them.
func TestLostOrdersAreListed(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		const gone, full = "neither the store nor the database has it as it was acknowledged", "there is not enough left for it"
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		settle(t, s, p, 1, 0)
		wantLost(t, s, 0)
		for _, id := range []string{"a", "b", "c"} {
			reserve(t, s, order(id))
		}
		for _, id := range []string{"b", "c"} {
			if _, err := pay(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
		failBack := snapshot(t, client)
		other := newSale(t, client, stock.Options{Book: p.Database})
		emptyAndRebuild(t, client, other)
		if ids, err := listLost(t, s); err != nil || fmt.Sprint(ids) != "[a b c]" {
			t.Errorf("listed %v, %v", ids, err)
		}
		wantLost(t, s, 3, "a reserved true  "+gone, "b paid true  "+gone, "c paid true  "+gone)

		reserve(t, other, order("since", stock.Item{SKU: "tea", Quantity: 4}))
		settle(t, other, p, 2, 1)
		failBack()
		if _, err := other.Restore(t.Context()); err != nil { // it has room for one of them
			t.Fatal(err)
		}
		wantLost(t, s, 2, "a reserved true  "+gone, "a reserved false  "+full, "c paid true  "+gone, "c paid false  "+full)
		if err := s.Resolve(t.Context(), stock.Decision{Action: stock.Drop, Order: "c", By: "ada", Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		wantLost(t, s, 1, "a reserved true  "+gone, "a reserved false  "+full)
		d := stock.Decision{By: "ada", Reason: "the buyer was notified"}
		if _, err := s.DropLost(t.Context(), "c", d); !errors.Is(err, stock.ErrNotLost) {
			t.Errorf("drop c: %v, want ErrNotLost", err)
		}
		if _, err := s.DropLost(t.Context(), "a b", stock.Decision{}); strings.Join(fields(err), " ") != "by reason id" {
			t.Errorf("drop: %v", err)
		}
		if n, err := s.DropLost(t.Context(), "a", d); err != nil || n != 1 {
			t.Errorf("drop a: %d, %v", n, err)
		}
		wantLost(t, s, 0)
		if n, err := s.DropLost(t.Context(), "", d); err != nil || n != 1 { // b, which the book has by now
			t.Errorf("drop all: %d, %v", n, err)
		}
		p.wantLines(t, "SELECT action, order_id, made_by FROM stock_decision WHERE action = 'drop lost' ORDER BY order_id", "drop lost  ada", "drop lost a ada")
	})
}
