package stock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// disputedSale has sold o-00, one tea, and forgotten its id, under which a buyer has an
// order of two cups now.
func disputedSale(t *testing.T, client redis.UniversalClient, p place, o stock.Options, paid bool) *stock.Sale {
	t.Helper()
	s := keptSale(t, client, p, o)
	put(t, s, "tea", 10)
	put(t, s, "cup", 10)
	reserve(t, s, order("o-00"))
	if _, err := pay(t.Context(), s, "o-00"); err != nil {
		t.Fatal(err)
	}
	settle(t, s, p, 1, 1)
	if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:order:o-00").Err(); err != nil { // as after Retention
		t.Fatal(err)
	}
	reserve(t, s, order("o-00", stock.Item{SKU: "cup", Quantity: 2}))
	if paid {
		if _, err := pay(t.Context(), s, "o-00"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), pass); err == nil {
		t.Fatal("the dispute is not told")
	}
	return s
}

func wantDisputes(t *testing.T, s *stock.Sale, want ...string) {
	t.Helper()
	all, err := s.Disputes(t.Context())
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprintf("%s %s %d %s", d.ID, d.State, d.Items[0].Quantity, d.BookHas[:4]))
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("disputes %q, %v, want %q", got, err, want)
	}
}

// wantDisputed checks how many disputed orders are counted, and that reconcile reports them and nothing else.
func wantDisputed(t *testing.T, s *stock.Sale, p place, want int64) {
	t.Helper()
	if n, err := s.CountDisputes(t.Context()); err != nil || n != want {
		t.Errorf("%d disputed, %v, want %d", n, err, want)
	}
	_, told, err := reconcile(t, s, p, nextFence())
	if told != "" || want == 0 && err != nil || want != 0 && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf(" 0 products and %d orders", want))) {
		t.Errorf("reconcile: %v, %q, want %d disputed orders", err, told, want)
	}
}

func decide(a stock.Action, newID string) stock.Decision {
	return stock.Decision{Action: a, Order: "o-00", NewID: newID, By: "ada", Reason: "asked the buyer"}
}

// A paid order under an id that was used before is kept until an operator decides, in
// store and book, also when the store loses everything meanwhile; then it goes on under
// another id, or its items are back in stock, and it is recorded.
func TestDisputeIsResolved(t *testing.T) {
	for _, c := range []struct {
		decision stock.Decision
		pay      bool
		products []string
		orders   []string
	}{
		{decide(stock.Accept, "n-1"), true, []string{"cup 10 0 2", "tea 10 0 1"}, []string{"n-1 paid", "o-00 paid"}},
		{decide(stock.Accept, "n-1"), false, []string{"cup 10 2 0", "tea 10 0 1"}, []string{"n-1 reserved", "o-00 paid"}},
		{decide(stock.Refund, ""), true, []string{"cup 10 0 0", "tea 10 0 1"}, []string{"o-00 paid"}},
		{decide(stock.Drop, ""), false, []string{"cup 10 0 0", "tea 10 0 1"}, []string{"o-00 paid"}},
	} {
		t.Run(fmt.Sprintf("%s, paid %t", c.decision.Action, c.pay), func(t *testing.T) {
			onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
				s := disputedSale(t, client, p, stock.Options{}, c.pay)
				state := "reserved"
				if c.pay {
					state = "paid"
				}
				wantDisputes(t, s, "o-00 "+state+" 2 paid")
				wantTTL(t, client, "o-00", false)
				if _, told, err := reconcile(t, s, p, 1); err == nil || told != "" {
					t.Errorf("reconcile: %v, %q, want the dispute and nothing else", err, told)
				}
				if err := client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				if r, err := s.RestoreNow(t.Context()); err != nil || r.Disputed != 1 {
					t.Fatalf("%+v, %v", r, err)
				}
				wantTTL(t, client, "o-00", false)
				if c.pay {
					wantProduct(t, s, "cup", 10, 8, 0, 2)
				} else {
					wantProduct(t, s, "cup", 10, 8, 2, 0)
				}
				if err := s.Resolve(t.Context(), c.decision); err != nil {
					t.Fatal(err)
				}
				wantDisputes(t, s)
				if err := s.Resolve(t.Context(), c.decision); !errors.Is(err, stock.ErrNoDispute) {
					t.Errorf("again: %v, want ErrNoDispute", err)
				}
				settle(t, s, p, 3, map[bool]int{true: 1, false: 0}[c.decision.Action == stock.Accept])
				p.wantLines(t, productRows, c.products...)
				p.wantLines(t, "SELECT id, status FROM orders ORDER BY id", c.orders...)
				p.wantSums(t)
				if _, told, err := reconcile(t, s, p, 2); err != nil {
					t.Errorf("%v: %s", err, told)
				}
				made, err := s.Decisions(t.Context(), 10)
				if err != nil || len(made) != 1 || made[0].Made.IsZero() {
					t.Fatalf("%+v, %v, want one decision", made, err)
				}
				made[0].Made = time.Time{}
				if made[0] != c.decision {
					t.Errorf("recorded %+v, want %+v", made[0], c.decision)
				}
			})
		})
	}
}

// A decision that was carried out and not recorded is recorded when it is made again, and
// no other is possible meanwhile.
func TestDecisionIsMadeOnce(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := disputedSale(t, client, p, stock.Options{}, true)
	execute(t, p, "ALTER TABLE stock_decision RENAME TO hidden")
	if err := s.Resolve(t.Context(), decide(stock.Accept, "n-1")); err == nil {
		t.Error("it is not recorded, and no error")
	}
	execute(t, p, "ALTER TABLE hidden RENAME TO stock_decision")
	for _, other := range []stock.Decision{decide(stock.Refund, ""), decide(stock.Accept, "n-2")} {
		if err := s.Resolve(t.Context(), other); !errors.Is(err, stock.ErrDecided) {
			t.Errorf("%s: %v, want ErrDecided", other.Action, err)
		}
	}
	settle(t, s, p, 3, 1)
	if err := s.Resolve(t.Context(), decide(stock.Accept, "n-1")); err != nil {
		t.Error(err)
	}
	wantDisputes(t, s)
	wantProduct(t, s, "cup", 10, 8, 0, 2)
	p.wantLines(t, "SELECT action, order_id, new_id, made_by, reason FROM stock_decision", "accept o-00 n-1 ada asked the buyer")
}

// A rebuild keeps a decision that was carried out and is not recorded yet: the order does not come back to the
// shelf, and no other decision is possible.
func TestRebuildKeepsDecision(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := disputedSale(t, client, p, stock.Options{}, true)
	execute(t, p, "ALTER TABLE stock_decision RENAME TO hidden")
	if err := s.Resolve(t.Context(), decide(stock.Refund, "")); err == nil {
		t.Error("it is not recorded, and no error")
	}
	execute(t, p, "ALTER TABLE hidden RENAME TO stock_decision")
	rebuildKept(t, client, s)
	wantProduct(t, s, "cup", 10, 10, 0, 0)
	if err := s.Resolve(t.Context(), decide(stock.Drop, "")); !errors.Is(err, stock.ErrDecided) {
		t.Errorf("drop: %v, want ErrDecided", err)
	}
	if err := s.Resolve(t.Context(), decide(stock.Refund, "")); err != nil {
		t.Error(err)
	}
	wantDisputes(t, s)
	if _, told, err := reconcile(t, s, p, 3); err != nil {
		t.Errorf("%v: %s", err, told)
	}
}

func TestResolveRefuses(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := disputedSale(t, client, p, stock.Options{}, true)
	reserve(t, s, order("taken"))
	for name, c := range map[string]struct {
		decision stock.Decision
		want     error
	}{
		"no dispute":     {stock.Decision{Action: stock.Drop, Order: "taken", By: "ada", Reason: "r"}, stock.ErrNoDispute},
		"taken":          {decide(stock.Accept, "taken"), stock.ErrConflict},
		"known to book":  {decide(stock.Accept, "o-00"), stock.ErrConflict},
		"no reason":      {stock.Decision{Action: stock.Drop, Order: "o-00", By: "ada", Reason: " "}, nil},
		"no name":        {stock.Decision{Action: stock.Drop, Order: "o-00", Reason: "r"}, nil},
		"no new id":      {decide(stock.Accept, ""), nil},
		"another action": {decide(stock.Free, ""), nil},
	} {
		err := s.Resolve(t.Context(), c.decision)
		_, field := errors.AsType[*stock.FieldError](err)
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !field {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	wantDisputes(t, s, "o-00 paid 2 paid")
}

// A disputed order that was not paid in time, or cancelled, holds nothing: its dispute is over.
func TestDisputeEnds(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := disputedSale(t, client, p, stock.Options{}, false)
		wantDisputes(t, s, "o-00 reserved 2 paid")
		if _, err := s.Cancel(t.Context(), "o-00"); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 3, 1)
		wantDisputes(t, s)
		wantTTL(t, client, "o-00", true)
		p.wantLines(t, productRows, "cup 10 0 0", "tea 10 0 1")
		if _, told, err := reconcile(t, s, p, 1); err != nil {
			t.Errorf("%v: %s", err, told)
		}
	})
}

// A rebuild finds no stock for a disputed order, since less was put in meanwhile: it stays in
// the book, cannot go on, and can be refunded; the stock of others is not touched.
func TestDisputeWithoutRoom(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := disputedSale(t, client, p, stock.Options{}, true)
	execute(t, p, "UPDATE product SET put_in = 1 WHERE sku = 'cup'")
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantProduct(t, s, "cup", 1, 1, 0, 0)
	wantDisputes(t, s, "o-00 paid 2 paid")
	if n, err := s.CountDisputes(t.Context()); err != nil || n != 1 {
		t.Errorf("%d disputes are counted, %v, want the one that is listed", n, err)
	}
	if _, _, err := reconcile(t, s, p, 1); err == nil || !strings.Contains(err.Error(), "1 orders are not as they must be") {
		t.Errorf("reconcile: %v, want the dispute", err)
	}
	if err := s.Resolve(t.Context(), decide(stock.Accept, "n-1")); !errors.Is(err, stock.ErrNotOnShelf) {
		t.Errorf("accept: %v, want ErrNotOnShelf", err)
	}
	if err := s.Resolve(t.Context(), decide(stock.Refund, "")); err != nil {
		t.Error(err)
	}
	wantDisputes(t, s)
	if n, err := s.CountDisputes(t.Context()); err != nil || n != 0 {
		t.Errorf("%d disputes are counted, %v, want none", n, err)
	}
	wantProduct(t, s, "cup", 1, 1, 0, 0)
}

// withoutRoom is a sale in which x, one cup that was paid, is disputed and not on the shelf: the book has
// nothing of it, and the rebuild finds no cup, since less was put in meanwhile.
func withoutRoom(t *testing.T, client redis.UniversalClient, p place) *stock.Sale {
	t.Helper()
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "cup", 1)
	settle(t, s, p, 1, 0)
	reserve(t, s, order("x", stock.Item{SKU: "cup", Quantity: 1}))
	if _, err := pay(t.Context(), s, "x"); err != nil {
		t.Fatal(err)
	}
	execute(t, p, "UPDATE product SET put_in = 0")
	if r := rebuildKept(t, client, s); len(r.Taken) != 0 || len(r.Lost) != 1 {
		t.Fatalf("%+v", r)
	}
	wantProduct(t, s, "cup", 0, 0, 0, 0)
	return s
}

// rebuilt empties the store, and rebuilds its shelf.
func rebuilt(t *testing.T, client redis.UniversalClient, s *stock.Sale) {
	t.Helper()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// rebuildKept rebuilds the shelf of a store that has kept all.
func rebuildKept(t *testing.T, client redis.UniversalClient, s *stock.Sale) stock.Restored {
	t.Helper()
	if err := client.HSet(t.Context(), "cronce:v1:stock:{cronce:shop}:shelf", "closed", "repair").Err(); err != nil {
		t.Fatal(err)
	}
	r, err := s.RestoreNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A rebuild finds room for a paid order, of which the book has nothing, only in what another order gives
// back that the store has cancelled: the book takes both, and nothing is disputed.
func TestRestoreFitsWhatCameBack(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		reserve(t, s, order("back", stock.Item{SKU: "tea", Quantity: 4}))
		settle(t, s, p, 1, 1)
		if _, err := s.Cancel(t.Context(), "back"); err != nil {
			t.Fatal(err)
		}
		reserve(t, s, order("paid", stock.Item{SKU: "tea", Quantity: 3}))
		if _, err := pay(t.Context(), s, "paid"); err != nil {
			t.Fatal(err)
		}
		reserve(t, s, order("open", stock.Item{SKU: "tea", Quantity: 2}))
		r := rebuildKept(t, client, s)
		if want := []string{"back", "paid", "open"}; fmt.Sprint(r.Taken) != fmt.Sprint(want) || len(r.Lost) != 0 || r.Disputed != 0 {
			t.Errorf("%+v, want %v taken", r, want)
		}
		wantProduct(t, s, "tea", 5, 0, 2, 3)
		p.wantLines(t, productRows, "tea 5 2 3")
		p.wantSums(t)
		if _, told, err := reconcile(t, s, p, 1); err != nil {
			t.Errorf("%v: %s", err, told)
		}
	})
}

// A disputed order of which the book has nothing comes to the shelf with a rebuild that finds room for it.
// Once it is refunded, the book has it so: the dispute is over, and no later rebuild sells it again.
func TestDisputeEndsWithRefund(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := withoutRoom(t, client, p)
		put(t, s, "cup", 5)
		settle(t, s, p, 2, 0)
		rebuilt(t, client, s)
		wantProduct(t, s, "cup", 5, 4, 0, 1)
		if _, err := s.Refund(t.Context(), "x", "back-x", "pay-x"); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 3, 1)
		if all, err := s.Disputes(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("disputes %v, %v, want none", all, err)
		}
		rebuilt(t, client, s)
		wantProduct(t, s, "cup", 5, 5, 0, 0)
		wantState(t, s, "x", stock.Refunded)
		if _, told, err := reconcile(t, s, p, 2); err != nil {
			t.Errorf("%v: %s", err, told)
		}
	})
}

// A store that is older than the book names a dispute that was resolved since, or one whose order
// finds no stock any more: a rebuild forgets both, so that nothing stays to be decided in the store alone.
func TestOlderStoreForgetsDisputes(t *testing.T) {
	for _, resolved := range []bool{true, false} {
		t.Run(fmt.Sprintf("resolved %t", resolved), func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			client, p := connect(t, server.Addr()), sqlite(t)
			s := disputedSale(t, client, p, stock.Options{}, true)
			older(t, server, client, func() {
				if !resolved {
					execute(t, p, "UPDATE product SET put_in = 1 WHERE sku = 'cup'")
					return
				}
				if err := s.Resolve(t.Context(), decide(stock.Refund, "")); err != nil {
					t.Fatal(err)
				}
			})
			rebuildKept(t, client, s)
			if resolved {
				wantProduct(t, s, "cup", 10, 10, 0, 0)
			} else {
				wantProduct(t, s, "cup", 1, 1, 0, 0)
				wantDisputes(t, s, "o-00 paid 2 paid")
				if err := s.Resolve(t.Context(), decide(stock.Drop, "")); err != nil {
					t.Fatal(err)
				}
			}
			wantDisputes(t, s)
			wantDisputed(t, s, p, 0)
		})
	}
}

// A disputed order that was returned holds nothing, and its payment is to go back: after a rebuild, too, it is
// reported until an operator has decided.
func TestDisputeReturned(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := disputedSale(t, client, p, stock.Options{}, true)
	if _, err := s.Return(t.Context(), "o-00", "return-o-00"); err != nil {
		t.Fatal(err)
	}
	_, _ = stock.Settle(t.Context(), s, p.Database, 10, fence(3), pass) // it reports the dispute
	wantDisputes(t, s, "o-00 returned 2 paid")
	for range 2 {
		wantDisputed(t, s, p, 1)
		rebuilt(t, client, s)
		wantProduct(t, s, "cup", 10, 10, 0, 0)
	}
	if err := s.Resolve(t.Context(), decide(stock.Refund, "")); err != nil {
		t.Fatal(err)
	}
	wantDisputed(t, s, p, 0)
	wantProduct(t, s, "cup", 10, 10, 0, 0)
}

// A disputed order whose payment has begun is on the shelf after a rebuild, too: the buyer can
// pay it. Of two disputed orders with one id the shelf has one, and counts one.
func TestDisputeBeingPaid(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := disputedSale(t, client, p, stock.Options{}, false)
	if _, err := s.BeginPayment(t.Context(), "o-00"); err != nil {
		t.Fatal(err)
	}
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(3), pass); err == nil {
		t.Fatal("the dispute is not reported")
	}
	wantDisputes(t, s, "o-00 paying 2 paid")
	execute(t, p, "INSERT INTO stock_dispute (sale, order_id, placed_at, state, record, book_has, found_at)"+
		" SELECT sale, order_id, placed_at + 1, state, replace(record, placed_at, placed_at + 1), book_has, found_at FROM stock_dispute")
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if r, err := s.RestoreNow(t.Context()); err != nil || r.Disputed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	wantProduct(t, s, "cup", 10, 8, 2, 0)
	if found, err := s.Audit(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := pay(t.Context(), s, "o-00"); err != nil {
		t.Error(err)
	}
	wantProduct(t, s, "cup", 10, 8, 0, 2)
}
