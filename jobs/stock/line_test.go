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
// settled.
func TestUnreadableTotalsAreKeptBack(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		const tag = "cronce:v1:stock:{cronce:shop}:"
		s := keptSale(t, client, p, stock.Options{})
		for _, sku := range []string{"cup", "mug", "pot", "tea"} {
			put(t, s, sku, 200)
		}
		// Changes of sellers are in the database at once: here it loses three of these products.
		p.do(t, "DELETE FROM product WHERE sku <> 'tea'")
		hset := func(list string, fields ...any) {
			t.Helper()
			if err := client.HSet(t.Context(), tag+list, fields...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		hset("restocked", "ghost", "garbage", "cup", "2e2", "mug", "ten 350 EUR", "pot", "-1")
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
	})
}
