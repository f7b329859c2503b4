package stock_test

import (
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

// Lines of what was put in are damaged: of a product that does not exist, and of products that the book does not
// have, one of them with more orders than the database may refuse. Each is named once; all other products are
// settled. Reconcile reports them, and a repair keeps the products: then all is settled.
func TestUnreadableTotalsAreKeptBack(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		const tag = "cronce:v1:stock:{cronce:shop}:"
		s := keptSale(t, client, p, stock.Options{})
		for _, sku := range []string{"cup", "mug", "pot", "tea"} {
			put(t, s, sku, 200)
		}
		if _, err := s.Supply(t.Context(), "mug", "note-1", 10); err != nil {
			t.Fatal(err)
		}
		// Changes of sellers are in the database at once: here it loses three of these products.
		p.do(t, "DELETE FROM stock_supply")
		p.do(t, "DELETE FROM product WHERE sku <> 'tea'")
		hset := func(list string, fields ...any) {
			t.Helper()
			if err := client.HSet(t.Context(), tag+list, fields...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		hset("restocked", "ghost", "garbage", "cup", "2e2", "mug", "210", "pot", "-1")
		hset("supplied", "mug note-1", "ten")
		for i := range 130 {
			reserve(t, s, order(fmt.Sprintf("a-%03d", i), stock.Item{SKU: "cup", Quantity: 1}))
		}
		fill(t, s, 5)
		core, logs := observer.New(zap.ErrorLevel)
		err := stock.SettleLogging(t.Context(), s, p.Database, 20, fence(1), slog.New(zapslog.NewHandler(core)))
		if err == nil || !strings.Contains(err.Error(), "4 products") {
			t.Errorf("settle: %v, want 4 products that cannot be read", err)
		}
		p.wantLines(t, "SELECT COUNT(*) FROM orders", "5")
		p.wantLines(t, productRows, "tea 200 5 0")
		var named []string
		for _, l := range logs.FilterMessage("product kept back").All() {
			named = append(named, fmt.Sprint(l.ContextMap()["sku"]))
		}
		slices.Sort(named)
		if fmt.Sprint(named) != "[cup ghost mug pot]" {
			t.Errorf("kept back %v, want cup, ghost, mug, pot, each once", named)
		}
		if _, reported, err := reconcile(t, s, p, 2); err == nil || !strings.Contains(reported, "ghost: product") || !strings.Contains(reported, "note-1") {
			t.Errorf("reconcile: %v: %s", err, reported)
		}
		if r, err := s.Repair(t.Context(), operator); err != nil || r.Restocked != 4 {
			t.Errorf("put in again %d, %v, want 4", r.Restocked, err)
		}
		settle(t, s, p, 3, 130)
		p.wantLines(t, productRows, "cup 200 130 0", "mug 210 0 0", "pot 200 0 0", "tea 200 5 0")
		p.wantLines(t, "SELECT sku, reference, quantity FROM stock_supply", "mug note-1 10")
		if left, err := s.Audit(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if _, reported, err := reconcile(t, s, p, 4); err != nil {
			t.Errorf("reconcile: %v: %s", err, reported)
		}
	})
}

// A count that cannot be read is a difference of its product alone, and is made again from the book. Where the book
// does not have the product, and the line of its total is damaged as well, the other counts say what was put in.
func TestUnreadableCountIsRepaired(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		const tag = "cronce:v1:stock:{cronce:shop}:"
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "cup", 20)
		put(t, s, "pot", 30)
		put(t, s, "tea", 10)
		fill(t, s, 3)
		settle(t, s, p, 1, 3)
		p.do(t, "DELETE FROM product WHERE sku = 'pot'")
		for _, damage := range [][2]string{{"put", "cup"}, {"put", "pot"}, {"restocked", "pot"}} {
			if err := client.HSet(t.Context(), tag+damage[0], damage[1], "many").Err(); err != nil {
				t.Fatal(err)
			}
		}
		_, reported, err := reconcile(t, s, p, 2)
		if err == nil || !strings.Contains(reported, "cup: a count cannot be read") || strings.Contains(reported, "tea") {
			t.Errorf("reconcile: %v: %s", err, reported)
		}
		if _, err := s.Repair(t.Context(), operator); err != nil {
			t.Error(err)
		}
		settle(t, s, p, 3, 0)
		wantProduct(t, s, "cup", 20, 20, 0, 0)
		wantProduct(t, s, "pot", 30, 30, 0, 0)
		wantProduct(t, s, "tea", 10, 7, 3, 0)
		if _, reported, err := reconcile(t, s, p, 4); err != nil {
			t.Errorf("reconcile: %v: %s", err, reported)
		}
	})
}
