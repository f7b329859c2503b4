package stock_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/stock"
)

// What makes a database refuse the receiver 🍵, and what makes it take it again.
var narrow = map[stock.Dialect][2]string{
	stock.SQLite: {
		"CREATE TRIGGER narrow BEFORE INSERT ON orders WHEN NEW.receiver = '🍵' BEGIN SELECT RAISE(ABORT, 'too narrow'); END",
		"DROP TRIGGER narrow",
	},
	stock.MySQL: {
		"ALTER TABLE orders MODIFY receiver VARCHAR(200) CHARACTER SET latin1 NOT NULL",
		"ALTER TABLE orders MODIFY receiver VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL",
	},
	stock.PostgreSQL: {
		"ALTER TABLE orders ADD CONSTRAINT narrow CHECK (receiver <> '🍵')",
		"ALTER TABLE orders DROP CONSTRAINT narrow",
	},
}

func (p place) do(t testing.TB, statement string) {
	t.Helper()
	if _, err := p.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// unwanted reserves an order that a narrow database refuses.
func unwanted(t testing.TB, s *stock.Sale, id string) {
	t.Helper()
	o := order(id)
	o.Receiver = "🍵"
	reserve(t, s, o)
}

// The database refuses some orders, the oldest among them, for what they are: all
// others are settled, each once, and those too when it takes them.
func TestRefusedOrdersAreKeptBack(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		if err := p.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.do(t, narrow[p.dialect][0])
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 100)
		for _, id := range []string{"a", "b", "c"} {
			unwanted(t, s, id)
		}
		fill(t, s, 5)
		unwanted(t, s, "z")
		n, err := stock.Settle(t.Context(), s, p.Database, 3, fence(1), pass)
		if err == nil || n != 5 || !strings.Contains(err.Error(), "4 orders are kept back") {
			t.Errorf("settled %d, %v, want 5, and 4 kept back", n, err)
		}
		p.wantLines(t, "SELECT id FROM orders ORDER BY id", "o-00", "o-01", "o-02", "o-03", "o-04")
		p.wantLines(t, productRows, "tea 100 5 0")

		p.do(t, narrow[p.dialect][1])
		settle(t, s, p, 2, 4)
		p.wantLines(t, productRows, "tea 100 9 0")
		p.wantSums(t)
	})
}

// Where the database refuses every order, a run does not try each of them alone, nor write the totals with each part of them.
func TestRefusingDatabaseEndsTheRun(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	if err := p.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.do(t, narrow[p.dialect][0])
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 1000)
	for i := range 400 {
		unwanted(t, s, fmt.Sprint(i))
	}
	writes := 0
	n, err := stock.Settle(t.Context(), s, p.Database, 1000, fence(1), func(step string) error {
		if step == "write" {
			writes++
		}
		return nil
	})
	if err == nil || n != 0 || writes > 500 { // 4 for each order that stands alone
		t.Errorf("settled %d with %d transactions, %v", n, writes, err)
	}
	if numbers := client.HGet(t.Context(), saleTag+"shelf", "mark").Val(); numbers != "2" { // with the orders, and without
		t.Errorf("%s transactions had a number, and so brought the totals, want 2", numbers)
	}
}

// More records than a batch cannot be read: one run settles all that are behind
// them, and names them.
func TestUnreadableOrdersAreKeptBack(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 100)
	for _, id := range []string{"a", "b", "c"} {
		reserve(t, s, order(id))
		if err := client.Set(t.Context(), "cronce:v1:stock:{cronce:shop}:order:"+id, "reserved 1 2 3 tea=1 {", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, 7)
	core, logs := observer.New(zap.ErrorLevel)
	err := stock.SettleLogging(t.Context(), s, p.Database, 2, fence(1), slog.New(zapslog.NewHandler(core)))
	if err == nil || !strings.Contains(err.Error(), "3 orders are kept back") {
		t.Errorf("%v, want 3 kept back", err)
	}
	p.wantLines(t, "SELECT COUNT(*) FROM orders", "7")
	var named []string
	for _, l := range logs.FilterMessage("order kept back").All() {
		named = append(named, fmt.Sprint(l.ContextMap()["order"]))
	}
	if fmt.Sprint(named) != "[a b c]" {
		t.Errorf("kept back %v, want a, b, c", named)
	}
}

// Damaged records, of orders that the book has, and of one that it does not have, close nothing while they wait for
// their settlement. A rebuild makes the orders again as the book has them, and drops the other one.
func TestRestoreReplacesUnreadableOrders(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{Hold: time.Second})
		put(t, s, "tea", 100)
		fill(t, s, 3)
		settle(t, s, p, 1, 3)
		reserve(t, s, order("new"))
		for _, id := range []string{"o-00", "new"} {
			if err := client.Set(t.Context(), saleTag+"order:"+id, "reserved 1 2 3 tea=1 {", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Set(t.Context(), saleTag+"order:o-01", "shipped", 0).Err(); err != nil { // releaseExpired lets it be settled
			t.Fatal(err)
		}
		await(t, "their time is over", func() bool {
			_ = stock.Release(t.Context(), s, 1, pass)
			last := client.Get(t.Context(), saleTag+"order:o-02").Val() // it was ordered last, so its time is over last
			return client.ZScore(t.Context(), saleTag+"unsettled", "o-01").Err() == nil && strings.HasPrefix(last, "expired")
		})
		if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), pass); err == nil || !strings.Contains(err.Error(), "kept back") {
			t.Errorf("settle: %v, want orders kept back", err)
		}
		p.wantLines(t, "SELECT status FROM orders WHERE id = 'o-02'", "expired")
		if reported, err := reconcile(t, s, p, 3); err != nil {
			t.Errorf("reconcile: %v: %s", err, reported)
		}
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("reconcile closes the sale: %v", err)
		}
		if err := client.Del(t.Context(), saleTag+"shelf").Err(); err != nil { // as docs/stock.md says
			t.Fatal(err)
		}
		r, err := s.Restore(t.Context())
		slices.Sort(r.Dropped)
		if err != nil || fmt.Sprint(r.Dropped) != "[new o-00 o-01]" {
			t.Errorf("%+v, %v, want 3 orders dropped", r, err)
		}
		if err := stock.Release(t.Context(), s, 4, pass); err != nil {
			t.Error(err)
		}
		settle(t, s, p, 5, 2)
		wantState(t, s, "o-00", stock.Expired)
		wantProduct(t, s, "tea", 100, 100, 0, 0)
		wantReconciled(t, s, p, 6)
	})
}

// More records than one batch holds, and than the database may refuse, cannot be read: the orders behind them
// are settled all the same.
func TestManyUnreadableOrdersStopNoOther(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 500)
	for i := range 130 {
		id := fmt.Sprintf("bad-%03d", i)
		reserve(t, s, order(id))
		if err := client.Set(t.Context(), "cronce:v1:stock:{cronce:shop}:order:"+id, "shipped", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, 3)
	if n, err := stock.Settle(t.Context(), s, p.Database, 20, fence(1), pass); err == nil || n != 3 {
		t.Errorf("settled %d, %v, want 3, and the others kept back", n, err)
	}
}
