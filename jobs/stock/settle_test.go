package stock_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/stock"
)

func settle(t testing.TB, s *stock.Sale, p place, f int64, want int) {
	t.Helper()
	if n, err := stock.Settle(t.Context(), s, p.Database, 10, fence(f), pass); err != nil || n != want {
		t.Fatalf("settled %d, %v, want %d", n, err, want)
	}
}

// Orders and what becomes of them reach the database, whatever a receiver is
// called, each once.
func TestSettle(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 100)
		put(t, s, "cup", 10)
		o := order("a", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "cup", Quantity: 1})
		o.Receiver = `Zoë "Z" O'Neil {\N} 🍵 ` + "می\u200cخواهم 👨\u200d👩\u200d👧"
		reserve(t, s, o)
		reserve(t, s, order("b"))
		reserve(t, s, order("c"))
		settle(t, s, p, 1, 3)
		line := " reserved " + o.Receiver + " 1875 EUR"
		p.wantLines(t, orderRows, "a"+line, "b reserved Ada Lovelace, London 625 EUR", "c reserved Ada Lovelace, London 625 EUR")
		p.wantLines(t, itemRows, "a cup 1", "a tea 2", "b tea 1", "c tea 1")
		p.wantLines(t, productRows, "cup 10 1 0", "tea 100 4 0")
		settle(t, s, p, 2, 0)

		if _, err := pay(t.Context(), s, "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Cancel(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		put(t, s, "cup", 12)
		settle(t, s, p, 3, 2)
		p.wantLines(t, "SELECT id, status FROM orders ORDER BY id", "a paid", "b cancelled", "c reserved")
		p.wantLines(t, itemRows, "a cup 1", "a tea 2", "b tea 1", "c tea 1")
		p.wantLines(t, productRows, "cup 12 0 1", "tea 100 1 2")
		p.wantSums(t)
		// Changed before a run has written it down.
		reserve(t, s, order("d"))
		if _, err := pay(t.Context(), s, "d"); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 4, 1)
		p.wantLines(t, "SELECT id, status FROM orders WHERE id = 'd'", "d paid")
		p.wantSums(t)
		got := wantState(t, s, "d", stock.Paid)
		p.wantLines(t, "SELECT placed_at, due_at, changed_at FROM orders WHERE id = 'd'",
			fmt.Sprint(got.Placed.UnixMilli(), got.Due.UnixMilli(), got.Changed.UnixMilli()))
	})
}

// More than one batch, and statements of more rows than one may have.
func TestSettleInBatches(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := newSale(t, client, stock.Options{})
		var items []stock.Item
		for i := range 30 {
			items = append(items, stock.Item{SKU: fmt.Sprintf("sku-%02d", i), Quantity: 1})
			put(t, s, items[i].SKU, 1000)
		}
		for i := range 45 {
			reserve(t, s, order(fmt.Sprintf("o-%02d", i), items...))
		}
		for i := range 40 { // changed orders fill the first batch, new ones wait for the next
			if _, err := s.Cancel(t.Context(), fmt.Sprintf("o-%02d", i)); err != nil {
				t.Fatal(err)
			}
		}
		batches := 0
		if n, err := stock.Settle(t.Context(), s, p.Database, 40, fence(1), func(step string) error {
			if step == "take" {
				if batches++; batches == 2 {
					p.wantLines(t, "SELECT COUNT(*) FROM orders", "40")
				}
			}
			return nil
		}); err != nil || n != 45 || batches != 2 {
			t.Fatalf("settled %d in %d batches, %v", n, batches, err)
		}
		p.wantLines(t, "SELECT COUNT(*), SUM(quantity) FROM order_item", fmt.Sprint(45*30, 45*30))
		p.wantSums(t)
	})
}

// A run logs how many orders it has settled, and no receiver.
func TestSettleLogs(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 100)
	fill(t, s, 45)
	core, logs := observer.New(zap.DebugLevel)
	if err := stock.SettleLogging(t.Context(), s, p.Database, 10, fence(1), slog.New(zapslog.NewHandler(core))); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range logs.All() {
		m := l.ContextMap()
		lines = append(lines, fmt.Sprint(l.Message, " ", m["orders"]))
		if strings.Contains(fmt.Sprint(m), "Ada") {
			t.Errorf("%v names the receiver", m)
		}
	}
	if want := "[orders settled 45]"; fmt.Sprint(lines) != want {
		t.Errorf("lines %q, want %s", lines, want)
	}
}

var steps = []string{"migrate", "take", "write", "mark"}

// A run ends between any two steps, as with a crash: the next one goes on, and
// nothing is lost or doubled.
func TestSettleStoppedAtEachStep(t *testing.T) {
	crash := errors.New("crash")
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		for i, at := range steps {
			s := newSale(t, client, stock.Options{Name: at})
			put(t, s, "tea", 10)
			fill(t, s, 3)
			_, err := stock.Settle(t.Context(), s, p.Database, 2, fence(1), func(step string) error {
				if step == at {
					return crash
				}
				return nil
			})
			if !errors.Is(err, crash) {
				t.Fatalf("%s: %v, want the crash", at, err)
			}
			if _, err := pay(t.Context(), s, "o-00"); err != nil { // life goes on in between
				t.Fatal(err)
			}
			if _, err := stock.Settle(t.Context(), s, p.Database, 2, fence(2), pass); err != nil {
				t.Fatal(err)
			}
			settle(t, s, p, 3, 0)
			p.wantLines(t, "SELECT status FROM orders WHERE sale = '"+s.ID()+"' ORDER BY id", "paid", "reserved", "reserved")
			p.wantLines(t, "SELECT put_in, reserved, sold FROM product WHERE sale = '"+s.ID()+"'", "10 2 1")
			p.wantLines(t, "SELECT COUNT(*) FROM order_item", fmt.Sprint(3*(i+1)))
		}
	})
}

// A run is paused past its lease, between any two steps; a later one settles what
// there is. What the paused one writes when it wakes up is refused, by the database
// before its commit and by the store after it.
func TestPausedSettleIsFenced(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		for _, at := range steps[1:] {
			s := newSale(t, client, stock.Options{Name: at})
			put(t, s, "tea", 10)
			fill(t, s, 3)
			_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), func(step string) error {
				if step != at {
					return nil
				}
				if _, err := pay(t.Context(), s, "o-00"); err != nil {
					t.Error(err)
				}
				if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), pass); err != nil {
					t.Error(err)
				}
				return nil
			})
			if !errors.Is(err, stock.ErrFenced) {
				t.Errorf("paused before %s: %v, want ErrFenced", at, err)
			}
			p.wantLines(t, "SELECT status FROM orders WHERE sale = '"+s.ID()+"' ORDER BY id", "paid", "reserved", "reserved")
			p.wantLines(t, "SELECT put_in, reserved, sold FROM product WHERE sale = '"+s.ID()+"'", "10 2 1")
			settle(t, s, p, 3, 0)
		}
	})
}

// The same, but the later run has only begun: at the store, or at the database too.
func TestPausedSettleIsFencedFromTheBeginning(t *testing.T) {
	crash := errors.New("crash")
	for _, c := range []struct{ paused, later, by string }{
		{"take", "write", "the sale has seen"},
		{"mark", "write", "the sale has seen"},
		{"write", "mark", "the database has seen"},
	} {
		t.Run(c.paused, func(t *testing.T) {
			onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
				s := newSale(t, client, stock.Options{})
				put(t, s, "tea", 10)
				fill(t, s, 3)
				n, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), func(step string) error {
					if step != c.paused {
						return nil
					}
					_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), func(step string) error {
						if step == c.later {
							return crash
						}
						return nil
					})
					if !errors.Is(err, crash) {
						t.Error(err)
					}
					return nil
				})
				if !errors.Is(err, stock.ErrFenced) || !strings.Contains(err.Error(), c.by) || n != 0 {
					t.Errorf("settled %d, %v, want it refused: %s", n, err, c.by)
				}
				settle(t, s, p, 3, 3)
				p.wantSums(t)
			})
		})
	}
}

// A run is paused in the middle of its transaction, in which it holds the row of
// the fence: the next one gets past it, and the paused one cannot commit. SQLite has
// nothing that ends the transaction of a stopped process.
func TestPausedInsideTransaction(t *testing.T) {
	onServers(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 10)
		fill(t, s, 3)
		if err := p.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := stock.Enter(t.Context(), p.Database, s, fence(1), func() { settle(t, s, p, 2, 3) })
		if err == nil {
			t.Error("the paused run has committed")
		}
		p.wantSums(t)
	})
}

// An order changes after it was read and before it is marked: it is settled again.
func TestChangedWhileSettling(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		for _, at := range []string{"write", "mark"} {
			s := newSale(t, client, stock.Options{Name: at})
			put(t, s, "tea", 10)
			fill(t, s, 3)
			n, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), func(step string) error {
				if step == at {
					put(t, s, "tea", 12)
					if _, err := pay(t.Context(), s, "o-01"); err != nil {
						t.Error(err)
					}
				}
				return nil
			})
			if err != nil || n != 2 {
				t.Errorf("settled %d, %v, want the two that did not change", n, err)
			}
			settle(t, s, p, 2, 1)
			p.wantLines(t, "SELECT status FROM orders WHERE sale = '"+s.ID()+"' ORDER BY id", "reserved", "paid", "reserved")
			p.wantLines(t, "SELECT put_in, reserved, sold FROM product WHERE sale = '"+s.ID()+"'", "12 2 1")
		}
	})
}

// The store has lost the records of two orders that the book lacks. A run says so, and forgets them. One of them is placed again
// before the run has ended: it is a new order, which the next run settles.
func TestLostRecordIsPlacedAgain(t *testing.T) {
	client, p := connect(t, miniredis.RunT(t).Addr()), sqlite(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 10)
	for _, id := range []string{"again", "lost"} {
		reserve(t, s, order(id))
		if err := client.Del(t.Context(), saleTag+"order:"+id).Err(); err != nil {
			t.Fatal(err)
		}
	}
	n, err := stock.Settle(t.Context(), s, p.Database, 10, fence(1), func(step string) error {
		if step == "mark" {
			reserve(t, s, order("again"))
		}
		return nil
	})
	if n != 1 || err == nil || !strings.Contains(err.Error(), "the store has lost 2") {
		t.Errorf("settled %d, %v, want one to be forgotten, and that two are lost", n, err)
	}
	settle(t, s, p, 2, 1)
	p.wantLines(t, "SELECT id FROM orders", "again")
	settle(t, s, p, 3, 0)
}

// Closed orders leave the store when they are settled and their time is over, and
// no order before.
func TestRetention(t *testing.T) {
	client := connect(t, redisServer(t))
	p := sqlite(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 10)
	fill(t, s, 2)
	if _, err := pay(t.Context(), s, "o-00"); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"o-00": false, "o-01": false} {
		wantTTL(t, client, id, want)
	}
	settle(t, s, p, 1, 2)
	for id, want := range map[string]bool{"o-00": true, "o-01": false} {
		wantTTL(t, client, id, want)
	}
}

func wantTTL(t *testing.T, client redis.UniversalClient, id string, want bool) {
	t.Helper()
	ttl, err := client.PTTL(t.Context(), "cronce:v1:stock:{cronce:shop}:order:"+id).Result()
	if err != nil || (ttl > 0) != want || ttl > stock.DefaultRetention {
		t.Errorf("the TTL of %s is %v, %v, want one: %v", id, ttl, err, want)
	}
}
