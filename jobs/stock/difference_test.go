package stock_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/stock"
)

// Damage of store or book is found order by order and product by product, while other orders are
// on their way, and nothing is changed by that.
func TestDifferences(t *testing.T) {
	const tag = "cronce:v1:stock:{cronce:shop}:"
	set := func(client redis.UniversalClient, id, from, to string) error {
		line, err := client.Get(t.Context(), tag+"order:"+id).Result()
		if err == nil {
			err = client.Set(t.Context(), tag+"order:"+id, to+line[len(from):], 0).Err()
		}
		return err
	}
	for _, c := range []struct {
		name   string
		damage func(client redis.UniversalClient, p place) error
		found  []string
	}{
		{"nothing", func(redis.UniversalClient, place) error { return nil }, nil},
		{"the store lost a reserved order", func(client redis.UniversalClient, _ place) error {
			return client.Del(t.Context(), tag+"order:o-02").Err()
		}, []string{"o-02: nothing, reserved"}},
		{"an order is on no list", func(client redis.UniversalClient, _ place) error {
			return client.ZRem(t.Context(), tag+"due", "o-02").Err()
		}, []string{"o-02: reserved and on no list: it would never expire, reserved"}},
		{"the store lost a payment", func(client redis.UniversalClient, _ place) error {
			return set(client, "o-00", "paid", "reserved")
		}, []string{"o-00: reserved, paid"}},
		{"a record cannot be read", func(client redis.UniversalClient, _ place) error {
			return client.Set(t.Context(), tag+"order:o-02", "shipped", 0).Err()
		}, []string{"o-02: a record that cannot be read, reserved"}},
		{"the book lost an order", func(_ redis.UniversalClient, p place) error {
			p.do(t, "DELETE FROM order_item WHERE order_id = 'o-02'")
			p.do(t, "DELETE FROM orders WHERE id = 'o-02'")
			p.do(t, "UPDATE product SET reserved = reserved - 1 WHERE sku = 'tea'")
			return nil
		}, []string{"o-02: reserved, nothing"}},
		{"the book lost a payment", func(_ redis.UniversalClient, p place) error {
			p.do(t, "UPDATE orders SET status = 'reserved' WHERE id = 'o-00'")
			p.do(t, "UPDATE product SET reserved = reserved + 1, sold = sold - 1 WHERE sku = 'tea'")
			return nil
		}, []string{"o-00: paid, reserved"}},
		{"the book counts wrongly", func(_ redis.UniversalClient, p place) error {
			p.do(t, "UPDATE product SET sold = 3 WHERE sku = 'cup'")
			return nil
		}, []string{"cup: nothing to do with it, 0 reserved, 3 sold, and orders of 0, 0"}},
		{"the store counts wrongly", func(client redis.UniversalClient, _ place) error {
			return client.HIncrBy(t.Context(), tag+"stock", "cup", -1).Err()
		}, []string{"cup: 5 put in, 1 reserved, 0 sold, 3 left (their sum is not the total), 5 put in, 0 reserved, 0 sold"}},
		{"totals differ", func(_ redis.UniversalClient, p place) error {
			p.do(t, "UPDATE product SET put_in = 8 WHERE sku = 'cup'")
			return nil
		}, []string{"cup: 5 put in, 1 reserved, 0 sold, 4 left (it differs from the book), 8 put in, 0 reserved, 0 sold"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			some(t, client, p)
			s := keptSale(t, client, p, stock.Options{})
			settle(t, s, p, 2, 0)
			reserve(t, s, order("on-its-way", stock.Item{SKU: "cup", Quantity: 1}))
			if _, err := pay(t.Context(), s, "o-03"); err != nil { // the book has it as reserved
				t.Fatal(err)
			}
			if err := c.damage(client, p); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				all, err := s.Differences(t.Context())
				var found []string
				for _, d := range all {
					found = append(found, fmt.Sprintf("%s%s: %s, %s", d.Order, d.SKU, d.Store, d.Book))
				}
				if err != nil || !slices.Equal(found, c.found) {
					t.Errorf("found %q, %v, want %q", found, err, c.found)
				}
			}
		})
	}
}

// The store has lost everything. A comparison with the wrong database, which is empty, takes no shelf away
// from the sale.
func TestDifferencesOpenNoShelf(t *testing.T) {
	t.Parallel()
	client, p, wrong := connect(t, redisServer(t)), sqlite(t), sqlite(t)
	some(t, client, p)
	s := keptSale(t, client, p, stock.Options{Restore: true})
	settle(t, s, p, 2, 0)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	other := newSale(t, client, stock.Options{Book: wrong.Database})
	if found, err := other.Differences(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("found %v, %v, want ErrStockUnknown", found, err)
	}
	settle(t, s, p, 3, 0)
	wantState(t, s, "o-02", stock.Reserved)
}

// A run of reconcile finds what the store has lost order by order and closes the sale, and
// settleOrders rebuilds the shelf: the alarm ends by itself.
func TestReconcileHeals(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		some(t, client, p)
		s := keptSale(t, client, p, stock.Options{Restore: true})
		settle(t, s, p, 2, 0)
		if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:order:o-02").Err(); err != nil {
			t.Fatal(err)
		}
		if reported, err := reconcile(t, s, p, 1); err == nil {
			t.Errorf("%s, want an error", reported)
		}
		if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("look: %v, want ErrStockUnknown", err)
		}
		settle(t, s, p, 3, 0)
		wantState(t, s, "o-02", stock.Reserved)
		wantReconciled(t, s, p, 2)
	})
}

// The id of a paid order comes again after the store has forgotten the order. The book keeps the first
// order and refuses the second one, in whatever state that is: the store forgets it, its items are back in
// stock, and its payment is to be refunded.
func TestBookRefusesAnOrder(t *testing.T) {
	for _, last := range []stock.State{stock.Reserved, stock.Paid, stock.Cancelled} {
		t.Run(string(last), func(t *testing.T) {
			onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
				s := keptSale(t, client, p, stock.Options{})
				put(t, s, "tea", 10)
				put(t, s, "cup", 10)
				reserve(t, s, order("o"))
				if _, err := pay(t.Context(), s, "o"); err != nil {
					t.Fatal(err)
				}
				settle(t, s, p, 1, 1)
				if err := client.Del(t.Context(), saleTag+"order:o").Err(); err != nil { // as after its retention
					t.Fatal(err)
				}
				again := order("o", stock.Item{SKU: "cup", Quantity: 3})
				again.Buyer = "ada"
				reserve(t, s, again)
				var err error
				switch last {
				case stock.Paid:
					_, err = s.Pay(t.Context(), "o", stock.Payment{Reference: "p-2", Amount: 3 * priceOf.Price, Currency: priceOf.Currency})
				case stock.Cancelled:
					_, err = s.Cancel(t.Context(), "o")
				}
				if err != nil {
					t.Fatal(err)
				}
				core, logs := observer.New(zap.WarnLevel)
				if err := stock.SettleLogging(t.Context(), s, p.Database, 10, fence(2), slog.New(zapslog.NewHandler(core))); err == nil || !strings.Contains(err.Error(), "the book refuses 1 orders") {
					t.Errorf("settle: %v, want the refusal", err)
				}
				if n := logs.FilterMessage("order refused").Len(); n != 1 {
					t.Errorf("%d refusals are logged, want 1", n)
				}
				if n := logs.FilterMessage("payment to refund").Len(); (n == 1) != (last == stock.Paid) || n > 1 {
					t.Errorf("%d payments are logged as to refund", n)
				}
				wantProduct(t, s, "cup", 10, 10, 0, 0)
				wantProduct(t, s, "tea", 10, 9, 0, 1)
				if n := client.HLen(t.Context(), saleTag+"bought").Val(); n != 0 {
					t.Errorf("%d buyers have something", n)
				}
				if r := wantState(t, s, "o", stock.Paid); len(r.Items) != 1 || r.Items[0].SKU != "tea" {
					t.Errorf("%+v, want the order of the book", r.Items)
				}
				p.wantLines(t, itemRows, "o tea 1")
				settle(t, s, p, 3, 0)
				wantReconciled(t, s, p, 1)
			})
		})
	}
}
