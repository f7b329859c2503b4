package stock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
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

// Where the database refuses every order, a run does not try each of them alone.
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
	err := stock.SettleTelling(t.Context(), s, p.Database, 2, fence(1), zap.New(core))
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
