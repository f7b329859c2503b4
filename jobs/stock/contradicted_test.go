package stock_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// A store goes down before it answers a buyer, another one accepts the same order, and the first
// comes back in the same epoch: it has the order with a time that the book does not have. The buyer
// who repeats the order, pays or cancels it is not refused as if the id were of another order. The
// shelf closes, since it lacks the open order of the book, and the buyer has the order after it was
// rebuilt.
func TestOrderThatAnotherStoreAcceptedToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ask  func(s *stock.Sale, o stock.Order) error
	}{
		{"reserve", func(s *stock.Sale, o stock.Order) error { _, _, err := s.Reserve(t.Context(), o); return err }},
		{"pay", func(s *stock.Sale, o stock.Order) error { _, err := pay(t.Context(), s, o.ID); return err }},
		{"cancel", func(s *stock.Sale, o stock.Order) error { _, err := s.Cancel(t.Context(), o.ID); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, client, o := ordered(t)
			placedEarlier(t, client, o.ID)
			if err := c.ask(s, o); !errors.Is(err, stock.ErrStockUnknown) {
				t.Errorf("%v, want ErrStockUnknown", err)
			}
			if _, err := s.RestoreNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.ask(s, o); err != nil {
				t.Errorf("on the rebuilt shelf: %v", err)
			}
		})
	}
}

// If the order of the other store has ended, the buyer is answered with its record, which the book has.
func TestEndedOrderThatAnotherStoreAcceptedToo(t *testing.T) {
	t.Parallel()
	s, client, o := ordered(t)
	if _, err := s.Cancel(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	placedEarlier(t, client, o.ID)
	if r, fresh, err := s.Reserve(t.Context(), o); err != nil || fresh || r.State != stock.Cancelled {
		t.Errorf("the same order: %v, new %v, %v; want the cancelled one", r, fresh, err)
	}
	if r, err := s.Cancel(t.Context(), o.ID); err != nil || r.State != stock.Cancelled {
		t.Errorf("cancelled again: %v, %v; want the cancelled one", r, err)
	}
	if _, err := pay(t.Context(), s, o.ID); !errors.Is(err, stock.ErrClosed) {
		t.Errorf("paid: %v, want closed", err)
	}
	o.Items[0].Quantity++
	if _, _, err := s.Reserve(t.Context(), o); !errors.Is(err, &stock.RefusalError{Code: "id-taken"}) {
		t.Errorf("another order with its id: %v, want id-taken", err)
	}
}

// ordered returns a sale with an order that the book has.
func ordered(t *testing.T) (*stock.Sale, redis.UniversalClient, stock.Order) {
	t.Helper()
	client := connect(t, redisServer(t))
	s := keptSale(t, client, sqlite(t), stock.Options{Settled: true})
	put(t, s, "tea", 3)
	o := order("twice", stock.Item{SKU: "tea", Quantity: 1})
	reserve(t, s, o)
	return s, client, o
}

// placedEarlier gives the store's record of an order another time.
func placedEarlier(t *testing.T, client redis.UniversalClient, id string) {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*order:"+id).Result()
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	record, err := client.Get(t.Context(), keys[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	earlier := regexp.MustCompile(`^(\w+) \d\d`).ReplaceAllString(record, "${1} 16") // in 2023
	if err := client.SetArgs(t.Context(), keys[0], earlier, redis.SetArgs{KeepTTL: true}).Err(); err != nil {
		t.Fatal(err)
	}
}

// The store has forgotten a closed order, and the database does not answer. Then the order may exist, so no call returns
// ErrUnknownOrder. A shop with reserved sells on.
func TestForgottenOrderWithoutItsDatabase(t *testing.T) {
	for _, settled := range []bool{false, true} {
		client, p := connect(t, redisServer(t)), sqlite(t)
		s := keptSale(t, client, p, stock.Options{Settled: settled})
		put(t, s, "tea", 3)
		reserve(t, s, order("a"))
		if _, err := pay(t.Context(), s, "a"); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 1, 1)
		if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:order:a").Err(); err != nil {
			t.Fatal(err)
		}
		wantState(t, s, "a", stock.Paid)
		if _, err := p.db.ExecContext(t.Context(), "ALTER TABLE orders RENAME TO away"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "never"} {
			if r, err := s.Order(t.Context(), id); err == nil || errors.Is(err, stock.ErrUnknownOrder) {
				t.Errorf("settled %v, order %s: %v, %v, want another error than ErrUnknownOrder", settled, id, r, err)
			}
			if _, err := pay(t.Context(), s, id); err == nil || errors.Is(err, stock.ErrUnknownOrder) {
				t.Errorf("settled %v, pay %s: %v, want another error than ErrUnknownOrder", settled, id, err)
			}
		}
		if _, fresh, err := s.Reserve(t.Context(), order("b")); !settled && (err != nil || !fresh) {
			t.Errorf("the next order: new %v, %v", fresh, err)
		}
	}
}
