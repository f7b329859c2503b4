package stock_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

func execute(t testing.TB, p place, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := p.db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// The database refuses what breaks the books, whatever writes it.
func TestDatabaseRefuses(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		some(t, client, p) // of ten tea 2 are reserved and 1 is sold
		for set, allowed := range map[string]bool{
			"sold = 8": true, "sold = 9": false, "sold = -1": false, "reserved = -1": false, "put_in = 9": false, "put_in = 10": true,
		} {
			if _, err := p.db.ExecContext(t.Context(), "UPDATE product SET sold = 8 WHERE sku = 'tea'"); err != nil {
				t.Fatal(err)
			}
			if _, err := p.db.ExecContext(t.Context(), "UPDATE product SET "+set+" WHERE sku = 'tea'"); (err == nil) != allowed {
				t.Errorf("%s: %v, want it allowed: %v", set, err, allowed)
			}
		}
	})
}

// The store sells more than there is, since it was tampered with: the book takes none
// of it, and the product is closed, which the reconciliation reports, until there is
// enough.
func TestOversoldInTheStore(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 3)
		put(t, s, "cup", 3)
		fill(t, s, 3)
		settle(t, s, p, 1, 3)
		if err := client.HIncrBy(t.Context(), "cronce:v1:stock:{cronce:shop}:stock", "tea", 2).Err(); err != nil {
			t.Fatal(err)
		}
		reserve(t, s, order("too-much"))
		if n, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), pass); err == nil || n != 0 || !strings.Contains(err.Error(), "the books of \"tea\" would not balance: 4 reserved and 0 sold of 3") {
			t.Errorf("settled %d, %v", n, err)
		}
		p.wantLines(t, productRows, "cup 3 0 0", "tea 3 3 0")
		if _, _, err := s.Reserve(t.Context(), order("next")); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("reserve: %v, want ErrStockUnknown", err)
		}
		if _, _, err := s.Reserve(t.Context(), order("both", stock.Item{SKU: "cup", Quantity: 1}, stock.Item{SKU: "tea", Quantity: 1})); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("reserve with another product: %v, want ErrStockUnknown", err)
		}
		reserve(t, s, order("other", stock.Item{SKU: "cup", Quantity: 1})) // the others are sold
		if reported, err := reconcile(t, s, p, 2); err == nil || !strings.Contains(reported, "product \"tea\": the store has it closed, the book counts that do not balance") {
			t.Errorf("%v: %s", err, reported)
		}
		if got := s.Halted(); !slices.Equal(got, []string{"tea"}) {
			t.Errorf("Halted = %q", got)
		}
		if f, err := s.Figures(t.Context()); err != nil || f.Closed != 1 || !maps.Equal(f.Stock, map[string]int64{"cup": 2}) {
			t.Errorf("%+v, %v, want one product closed, which has no stock", f, err)
		}
		put(t, s, "tea", 5)
		settle(t, s, p, 3, 2)
		reserve(t, s, order("next"))
		p.wantLines(t, productRows, "cup 3 1 0", "tea 5 4 0")
		p.wantSums(t)
	})
}

// Less is put in while the orders that make room for that are still on their way:
// the database has the new total when it has them, and the books balance all the time.
func TestLoweredTotal(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 5)
		reserve(t, s, order("a"))
		reserve(t, s, order("b", stock.Item{SKU: "tea", Quantity: 3}))
		settle(t, s, p, 1, 2)
		if _, err := pay(t.Context(), s, "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Cancel(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		put(t, s, "tea", 2)
		batches := 0
		if n, err := stock.Settle(t.Context(), s, p.Database, 1, fence(2), func(step string) error {
			if step == "take" {
				if batches++; batches == 2 {
					p.wantLines(t, productRows, "tea 5 3 1")
				}
			}
			return nil
		}); err != nil || n != 2 {
			t.Fatalf("settled %d, %v", n, err)
		}
		p.wantLines(t, productRows, "tea 2 0 1")
		if n, err := client.HLen(t.Context(), "cronce:v1:stock:{cronce:shop}:restocked").Result(); err != nil || n != 0 {
			t.Errorf("%d totals are left, %v", n, err)
		}
	})
}

// Tables of the first version, some of whose rows never balanced, are brought up to date, also by two
// nodes one after the other. Items that were oversold before count as put in.
func TestUpgrade(t *testing.T) {
	onEmptyDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		tables, err := stock.FirstTables(p.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for table := range strings.SplitSeq(tables, ";\n") {
			if strings.TrimSpace(table) != "" {
				execute(t, p, table)
			}
		}
		row := "INSERT INTO product (sale, sku, put_in, reserved, sold) VALUES ('cronce:shop', "
		execute(t, p, row+"'cup', 5, 1, 2)", row+"'pot', 5, 2, 7)", row+"'tea', 5, -1, 2)",
			"INSERT INTO orders VALUES ('cronce:shop', 'o', 'A', 1, 'EUR', 'reserved', 1, 2, 1, 1)",
			"INSERT INTO order_item VALUES ('cronce:shop', 'o', 'tea', 3)")
		for range 2 {
			fresh, err := stock.NewDatabase(p.db, p.dialect)
			if err != nil {
				t.Fatal(err)
			}
			if err := fresh.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.wantLines(t, "SELECT sku, put_in, reserved, sold FROM product ORDER BY sku", "cup 5 1 2", "pot 9 2 7", "tea 5 3 0")
			if p.dialect != stock.SQLite { // whose migrations are transactions: each is applied once
				execute(t, p, "DELETE FROM stock_schema WHERE version_id >= 3")
			}
		}
	})
}
