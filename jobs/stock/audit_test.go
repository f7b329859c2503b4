package stock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

var operator = stock.Decision{By: "ada", Reason: "after the outage"}

// Damage of store or book is found order by order and product by product, while other
// orders are on their way, and repaired: then nothing differs, and no run of reconcile has
// anything to say.
func TestRepair(t *testing.T) {
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
		found  []string // what, and how it is mended
	}{
		{"nothing", func(redis.UniversalClient, place) error { return nil }, nil},
		{"the store lost a reserved order", func(client redis.UniversalClient, _ place) error {
			return client.Del(t.Context(), tag+"order:o-02").Err()
		}, []string{"o-02 rebuild"}},
		{"an order is on no list", func(client redis.UniversalClient, _ place) error {
			return client.ZRem(t.Context(), tag+"due", "o-02").Err()
		}, []string{"o-02 rebuild"}},
		{"the store lost a payment", func(client redis.UniversalClient, _ place) error {
			return set(client, "o-00", "paid", "reserved")
		}, []string{"o-00 rebuild"}},
		{"the book lost an order", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "DELETE FROM order_item WHERE order_id = 'o-02'")
			_, err2 := p.db.ExecContext(t.Context(), "DELETE FROM orders WHERE id = 'o-02'")
			_, err3 := p.db.ExecContext(t.Context(), "UPDATE product SET reserved = reserved - 1 WHERE sku = 'tea'")
			return errors.Join(err, err2, err3)
		}, []string{"o-02 settle again"}},
		{"the book lost a payment", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE orders SET status = 'reserved' WHERE id = 'o-00'")
			_, err2 := p.db.ExecContext(t.Context(), "UPDATE product SET reserved = reserved + 1, sold = sold - 1 WHERE sku = 'tea'")
			return errors.Join(err, err2)
		}, []string{"o-00 settle again", "tea rebuild"}},
		{"the book counts wrongly", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET sold = 3 WHERE sku = 'cup'")
			return err
		}, []string{"cup recount", "cup rebuild"}},
		{"the store counts wrongly", func(client redis.UniversalClient, _ place) error {
			return client.HIncrBy(t.Context(), tag+"stock", "cup", -1).Err()
		}, []string{"cup rebuild"}},
		{"totals differ", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET put_in = 8 WHERE sku = 'cup'")
			return err
		}, []string{"cup rebuild"}},
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
			r, err := s.Repair(t.Context(), operator)
			var found []string
			for _, d := range r.Found {
				found = append(found, fmt.Sprint(d.Order, d.SKU, " ", d.Mend))
			}
			slices.Sort(found)
			slices.Sort(c.found)
			// What only a quiet moment shows of products was not to be seen.
			for _, f := range found {
				if !slices.Contains(c.found, f) {
					t.Errorf("found %q, want %q", found, c.found)
				}
			}
			if err != nil || (len(found) == 0) != (len(c.found) == 0) {
				t.Fatalf("found %q, %v, want %q", found, err, c.found)
			}
			if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(3), pass); err != nil {
				t.Fatal(err)
			}
			if left, err := s.Audit(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if _, reported, err := reconcile(t, s, p, 3); err != nil {
				t.Errorf("reconcile: %v: %s", err, reported)
			}
			p.wantSums(t)
			if made, err := s.Decisions(t.Context(), 100); err != nil || len(made) != len(found) || len(made) > 0 && (made[0].By != "ada" || made[0].Action != stock.Repair) {
				t.Errorf("recorded %+v, %v, want %d", made, err, len(found))
			}
		})
	}
}

// A run of reconcile finds what the store has lost order by order, closes the sale, and
// settleOrders rebuilds the shelf: the alarm ends by itself.
func TestReconcileHeals(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		some(t, client, p)
		s := keptSale(t, client, p, stock.Options{Restore: true})
		settle(t, s, p, 2, 0)
		if err := client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:order:o-02").Err(); err != nil {
			t.Fatal(err)
		}
		if _, reported, err := reconcile(t, s, p, 1); err == nil {
			t.Errorf("%s, want an error", reported)
		}
		if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("look: %v, want ErrStockUnknown", err)
		}
		settle(t, s, p, 3, 0)
		wantState(t, s, "o-02", stock.Reserved)
		if _, reported, err := reconcile(t, s, p, 2); err != nil {
			t.Errorf("%v: %s", err, reported)
		}
	})
}

// An operator ends a reservation before its time, and it is recorded; an order that is
// over is refused.
func TestFree(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		fill(t, s, 2)
		settle(t, s, p, 1, 2)
		d := operator
		d.Order = "o-00"
		if r, err := s.Free(t.Context(), d); err != nil || r.State != stock.Cancelled {
			t.Errorf("%v, %v", r, err)
		}
		wantProduct(t, s, "tea", 5, 4, 1, 0)
		if _, err := s.Free(t.Context(), d); !errors.Is(err, stock.ErrClosed) {
			t.Errorf("again: %v, want ErrClosed", err)
		}
		d.Order = "never"
		if _, err := s.Free(t.Context(), d); !errors.Is(err, stock.ErrUnknownOrder) {
			t.Errorf("%v, want ErrUnknownOrder", err)
		}
		if _, err := s.Free(t.Context(), stock.Decision{Order: "o-01", By: "ada"}); err == nil {
			t.Error("without a reason, and no error")
		}
		p.wantLines(t, "SELECT action, order_id, made_by, reason FROM stock_decision", "free o-00 ada after the outage")
		settle(t, s, p, 2, 1)
		p.wantLines(t, productRows, "tea 5 1 0")
	})
}
