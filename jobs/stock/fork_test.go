package stock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// The store goes back to an older state, and a process that knows nothing of it sells
// until the store has counted as many changes as before. The process whose changes were
// lost notices all the same, since no other shop makes its changes; where the book was waited for,
// so does one that has just started, as long as there are fewer changes than the book has.
func TestLossIsMadeUpFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		settled bool
		sold    int // after the loss, by the other process
		find    func(t *testing.T, s, fresh *stock.Sale) error
	}{
		{"by its next request", false, 3, func(t *testing.T, s, _ *stock.Sale) error {
			_, _, err := s.Reserve(t.Context(), order("next"))
			return err
		}},
		{"when it looks", false, 3, func(t *testing.T, s, _ *stock.Sale) error { return s.Probe(t.Context()) }},
		{"in the book", true, 0, func(t *testing.T, _, fresh *stock.Sale) error { return fresh.Probe(t.Context()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			client, p := connect(t, server.Addr()), sqlite(t)
			other := keptSale(t, client, p, stock.Options{})
			put(t, other, "tea", 50)
			settle(t, other, p, 1, 0)
			s := keptSale(t, client, p, stock.Options{Settled: c.settled})
			reserve(t, s, order("before"))
			older(t, server, client, func() {
				reserve(t, s, order("a"))
				reserve(t, s, order("b"))
			})
			for i := range c.sold {
				reserve(t, other, order(fmt.Sprintf("other-%d", i)))
			}
			fresh := newSale(t, client, stock.Options{Book: p.Database})
			if err := c.find(t, s, fresh); !errors.Is(err, stock.ErrStockUnknown) {
				t.Errorf("%v, want ErrStockUnknown", err)
			}
			if err := fresh.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) { // it is closed for all
				t.Errorf("look: %v, want ErrStockUnknown", err)
			}
		})
	}
}

// The store goes back to before an order was paid, and a process that has not seen the payment
// is asked to take its items back. Where the book is waited for, the order is paid there: the
// process gives no refusal, and the sale is closed.
func TestRefusalOfAnOlderStore(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client, p := connect(t, server.Addr()), sqlite(t)
	s := keptSale(t, client, p, stock.Options{Settled: true})
	put(t, s, "tea", 50)
	settle(t, s, p, 1, 0)
	other := keptSale(t, client, p, stock.Options{Settled: true})
	reserve(t, s, order("a"))
	if _, err := other.Return(t.Context(), "a", "return-1"); !errors.Is(err, stock.ErrUnpaid) {
		t.Errorf("before it is paid: %v, want ErrUnpaid", err)
	}
	older(t, server, client, func() {
		if _, err := pay(t.Context(), s, "a"); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := other.Return(t.Context(), "a", "return-1"); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("%v, want ErrStockUnknown", err)
	}
}

// The store lacks an order. That the book has it as reserved proves a loss, since such
// orders are never forgotten: no caller gets a no, and the sale is closed. One in its last state may
// have been forgotten: the book answers for it.
func TestBookAnswers(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 50)
	fill(t, s, 3)
	paid, err := pay(t.Context(), s, "o-00")
	if err != nil {
		t.Fatal(err)
	}
	settle(t, s, p, 1, 3)
	drop := func(id string) {
		t.Helper()
		if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:order:"+id).Err(); err != nil {
			t.Fatal(err)
		}
	}
	drop("o-00")
	for name, call := range map[string]func() (stock.Record, error){
		"read": func() (stock.Record, error) { return s.Order(t.Context(), "o-00") },
		"pay":  func() (stock.Record, error) { return pay(t.Context(), s, "o-00") },
	} {
		if r, err := call(); err != nil || fmt.Sprintf("%#v", r) != fmt.Sprintf("%#v", paid) || r.Changed != paid.Changed {
			t.Errorf("%s: %v, %v, want %v", name, r, err, paid)
		}
	}
	if _, err := s.Cancel(t.Context(), "o-00"); !errors.Is(err, stock.ErrClosed) {
		t.Errorf("cancel: %v, want ErrClosed", err)
	}
	if _, err := pay(t.Context(), s, "never"); !errors.Is(err, stock.ErrUnknownOrder) {
		t.Errorf("pay what no buyer has reserved: %v, want ErrUnknownOrder", err)
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Fatalf("nothing was lost, as far as one can know: %v", err)
	}
	drop("o-01")
	for range 2 {
		if _, err := pay(t.Context(), s, "o-01"); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("pay what was lost: %v, want ErrStockUnknown", err)
		}
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(t.Context(), s, "o-01"); err != nil {
		t.Error(err)
	}
	wantProduct(t, s, "tea", 50, 47, 1, 2)
}

// The sale is deleted, but for the record of an order, as by a deletion key by key in the
// middle of a sale. Once the shelf was rebuilt the record counts for nothing: the order
// cannot be paid, and may be placed again.
func TestLeftOverRecord(t *testing.T) {
	for _, settledBefore := range []bool{false, true} {
		t.Run(fmt.Sprintf("settled before %t", settledBefore), func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s := keptSale(t, client, p, stock.Options{})
			put(t, s, "tea", 5)
			settle(t, s, p, 1, 0)
			if settledBefore {
				reserve(t, s, order("o"))
				settle(t, s, p, 2, 1)
			} else {
				reserve(t, s, order("o"))
			}
			const tag = "cronce:v1:stock:{cronce:shop}:"
			if !settledBefore {
				if err := client.Del(t.Context(), tag+"shelf", tag+"put", tag+"stock", tag+"reserved", tag+"sold", tag+"fresh").Err(); err != nil {
					t.Fatal(err)
				}
				if _, err := s.RestoreNow(t.Context()); err != nil {
					t.Fatal(err)
				}
				for name, call := range map[string]func() (stock.Record, error){
					"pay":    func() (stock.Record, error) { return pay(t.Context(), s, "o") },
					"cancel": func() (stock.Record, error) { return s.Cancel(t.Context(), "o") },
				} {
					if _, err := call(); !errors.Is(err, stock.ErrUnknownOrder) {
						t.Errorf("%s: %v, want ErrUnknownOrder", name, err)
					}
				}
				wantProduct(t, s, "tea", 5, 5, 0, 0)
			} else {
				if err := client.Del(t.Context(), tag+"due").Err(); err != nil { // nothing would let it expire
					t.Fatal(err)
				}
				if _, err := pay(t.Context(), s, "o"); !errors.Is(err, stock.ErrStockUnknown) {
					t.Errorf("pay: %v, want ErrStockUnknown", err)
				}
				if _, err := s.RestoreNow(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantProduct(t, s, "tea", 5, 4, 1, 0)
			}
			_, fresh, err := s.Reserve(t.Context(), order("o"))
			if err != nil || fresh == settledBefore {
				t.Errorf("placed again: new %t, %v", fresh, err)
			}
			wantProduct(t, s, "tea", 5, 4, 1, 0)
			if _, err := pay(t.Context(), s, "o"); err != nil {
				t.Error(err)
			}
			wantProduct(t, s, "tea", 5, 4, 0, 1)
		})
	}
}

// Of orders that were paid and cancelled the records alone are left, and on no list: they never come into the
// book, give no stock back and take no payment. One that was settled, and one that was placed since, count.
func TestLeftOverClosedRecord(t *testing.T) {
	t.Parallel()
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 9)
	reserve(t, s, order("settled"))
	settle(t, s, p, 1, 1)
	for _, id := range []string{"cancelled", "paid", "placed-again"} {
		reserve(t, s, order(id))
	}
	if _, err := s.Cancel(t.Context(), "cancelled"); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(t.Context(), s, "paid"); err != nil {
		t.Fatal(err)
	}
	const tag = "cronce:v1:stock:{cronce:shop}:"
	if err := client.Del(t.Context(), tag+"shelf", tag+"put", tag+"stock", tag+"reserved", tag+"sold", tag+"fresh", tag+"unsettled", tag+"order:placed-again").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	reserve(t, s, order("placed-again"))
	for _, id := range []string{"cancelled", "paid"} {
		if r, err := s.Order(t.Context(), id); !errors.Is(err, stock.ErrUnknownOrder) {
			t.Errorf("order %s: %v, %v, want ErrUnknownOrder", id, r, err)
		}
	}
	_, err := s.Refund(t.Context(), "paid", "back", "pay-paid")
	_, err2 := s.Return(t.Context(), "paid", "return")
	_, err3 := s.Pay(t.Context(), "cancelled", stock.Payment{Reference: "late", Amount: 625, Currency: "EUR"})
	for i, err := range []error{err, err2, err3} {
		if !errors.Is(err, stock.ErrUnknownOrder) {
			t.Errorf("call %d: %v, want ErrUnknownOrder", i, err)
		}
	}
	wantProduct(t, s, "tea", 9, 7, 2, 0)
	if r, fresh, err := s.Reserve(t.Context(), order("cancelled", stock.Item{SKU: "tea", Quantity: 2})); err != nil || !fresh { // with other items
		t.Errorf("placed again: %v, %v, %v, want a new order", r, fresh, err)
	}
	wantProduct(t, s, "tea", 9, 5, 4, 0)
}

// before calls a function before each command, with its arguments.
type before func(args []any)

func (f before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f(cmd.Args())
		return next(ctx, cmd)
	}
}

// A closed sale still reads an order that the store has, unless its record is broken.
func TestOrderWhileClosed(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	reserve(t, s, order("a"))
	reserve(t, s, order("b"))
	if err := client.HSet(t.Context(), saleTag+"shelf", "closed", "behind").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(t.Context(), saleTag+"order:b", "reserved", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Reserve(t.Context(), order("c")); !errors.Is(err, stock.ErrStockUnknown) { // the process does not know yet that it is closed
		t.Errorf("Reserve: %v, want ErrStockUnknown", err)
	}
	wantProduct(t, s, "tea", 5, 3, 2, 0)
	if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
		t.Fatal(err)
	}
	if _, err := s.Order(t.Context(), "a"); err != nil {
		t.Errorf("Order: %v", err)
	}
	if _, err := s.Order(t.Context(), "b"); err == nil {
		t.Error("an order whose record is broken is read")
	}
}
