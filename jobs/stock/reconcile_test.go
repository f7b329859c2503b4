package stock_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/stock"
)

// reconcile runs once, and returns what it reported as broken.
func reconcile(t testing.TB, s *stock.Sale, p place, f int64) (stock.Reconciled, string, error) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r, err := stock.Reconciliation(t.Context(), s, p.Database, fence(f), pass, slog.New(zapslog.NewHandler(core)))
	var reported []string
	for _, l := range logs.FilterMessage("stock broken").All() {
		m := l.ContextMap()
		reported = append(reported, fmt.Sprint(m["sku"], ": ", m["text"]))
	}
	return r, strings.Join(reported, "\n"), err
}

func wantReconciled(t testing.TB, s *stock.Sale, p place, f int64, want stock.Reconciled) {
	t.Helper()
	if got, reported, err := reconcile(t, s, p, f); err != nil || got != want {
		t.Errorf("reconcile = %+v, %v, want %+v; it reported\n%s", got, err, want, reported)
	}
}

// some is a sale with a bit of everything, settled.
func some(t *testing.T, client redis.UniversalClient, p place) *stock.Sale {
	t.Helper()
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 10)
	put(t, s, "cup", 5)
	fill(t, s, 4)
	for id, call := range map[string]func() error{
		"o-00": func() error { _, err := pay(t.Context(), s, "o-00"); return err },
		"o-01": func() error { _, err := s.Cancel(t.Context(), "o-01"); return err },
	} {
		if err := call(); err != nil {
			t.Fatal(id, err)
		}
	}
	settle(t, s, p, 1, 4)
	return s
}

func TestReconcile(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := some(t, client, p)
		wantReconciled(t, s, p, 1, stock.Reconciled{LookedUp: 4})
		wantReconciled(t, s, p, 2, stock.Reconciled{}) // each order once
		if _, err := pay(t.Context(), s, "o-02"); err != nil {
			t.Fatal(err)
		}
		wantReconciled(t, s, p, 3, stock.Reconciled{}) // on its way is not broken
		settle(t, s, p, 2, 1)
		wantReconciled(t, s, p, 4, stock.Reconciled{LookedUp: 1})
	})
}

// The database loses what it had committed: all of it, or the last change. The
// next runs bring it back.
func TestDatabaseLosesOrders(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := some(t, client, p)
		lose := func(statements ...string) {
			t.Helper()
			for _, statement := range statements {
				if _, err := p.db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		products, orders, items := p.lines(t, productRows), p.lines(t, orderRows), p.lines(t, itemRows)
		same := func() {
			t.Helper()
			p.wantLines(t, productRows, products...)
			p.wantLines(t, orderRows, orders...)
			p.wantLines(t, itemRows, items...)
			if _, reported, err := reconcile(t, s, p, 9); err != nil {
				t.Errorf("in the end: %v\n%s", err, reported)
			}
		}
		lose("DELETE FROM payment", "DELETE FROM order_item", "DELETE FROM orders", "DELETE FROM product")
		if got, reported, err := reconcile(t, s, p, 2); err != nil || got.Again != 4 {
			t.Errorf("%+v, %v\n%s", got, err, reported)
		}
		settle(t, s, p, 2, 4)
		same()
		lose("UPDATE orders SET status = 'reserved' WHERE id = 'o-00'", "UPDATE product SET sold = 0, reserved = 3 WHERE sku = 'tea'")
		if _, err := s.Cancel(t.Context(), "o-00"); !errors.Is(err, stock.ErrClosed) {
			t.Error(err)
		}
		// It was looked up before: the comparison of reserved orders finds it.
		if got, _, err := reconcile(t, s, p, 9); got.Again != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		settle(t, s, p, 9, 1)
		same()
	})
}

// Each finding is reported, and left as it is.
func TestBroken(t *testing.T) {
	const tag = "cronce:v1:stock:{cronce:shop}:"
	for _, c := range []struct {
		name     string
		damage   func(client redis.UniversalClient, p place) error
		reported string
	}{
		{"stock lost", func(client redis.UniversalClient, _ place) error {
			return client.HIncrBy(t.Context(), tag+"stock", "cup", -1).Err()
		}, "cup: stock 4 + reserved 0 + sold 0 is not 5, which was put in"},
		{"negative", func(client redis.UniversalClient, _ place) error {
			return client.HSet(t.Context(), tag+"stock", "cup", -1).Err()
		}, "cup: negative: stock -1, reserved 0, sold 0"},
		{"sold elsewhere", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET sold = sold + 1 WHERE sku = 'cup'")
			return err
		}, "cup: the database has 1 sold, the store 0"},
		{"sale lost", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET sold = 0 WHERE sku = 'tea'")
			return err
		}, "tea: the database has 0 sold, and had 1"},
		{"reservation lost", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET reserved = 0 WHERE sku = 'tea'")
			return err
		}, "tea: the database has 0 reserved, the store 2"},
		{"total lost, by the one or the other", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET put_in = 8 WHERE sku = 'cup'")
			return err
		}, "cup: the database has 8 put in, the store 5"},
		{"product lost", func(client redis.UniversalClient, _ place) error {
			for _, key := range []string{"put", "stock", "reserved", "sold"} {
				if err := client.HDel(t.Context(), tag+key, "cup").Err(); err != nil {
					return err
				}
			}
			return nil
		}, "cup: the store does not know the product, the database does"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s := some(t, client, p)
			if err := c.damage(client, p); err != nil {
				t.Fatal(err)
			}
			for f := range int64(2) {
				if _, reported, err := reconcile(t, s, p, f+1); err == nil || reported != c.reported {
					t.Errorf("%v, reported %q, want %q", err, reported, c.reported)
				}
			}
		})
	}
}

// An order that is kept back hides nothing that is wrong with other products: while nothing of them is on its
// way, they are compared as if nothing was.
func TestKeptBackOrderHidesItsProductsOnly(t *testing.T) {
	for _, kept := range []string{"refused", "unreadable"} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s := some(t, client, p)
			reserve(t, s, order("cups", stock.Item{SKU: "cup", Quantity: 2}))
			settle(t, s, p, 2, 1)
			p.do(t, narrow[p.dialect][0])
			if kept == "refused" {
				unwanted(t, s, "z")
			} else { // the book has its items
				if _, err := pay(t.Context(), s, "o-02"); err != nil {
					t.Fatal(err)
				}
				if err := client.Set(t.Context(), "cronce:v1:stock:{cronce:shop}:order:o-02", "paid", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(3), pass); err == nil || !strings.Contains(err.Error(), "1 orders are kept back") {
				t.Fatalf("%v, want an order kept back", err)
			}
			const broken = `<nil>: order "o-02": the store has a record that cannot be read, the book reserved`
			if _, reported, err := reconcile(t, s, p, 1); (err != nil) != (kept == "unreadable") || err != nil && reported != broken {
				t.Errorf("%v: %s, want no more than the order that cannot be read", err, reported)
			}
			p.do(t, "UPDATE product SET reserved = 0")
			const cups = "cup: the database has 0 reserved, the store 2"
			if _, reported, err := reconcile(t, s, p, 2); err == nil || strings.TrimPrefix(reported, broken+"\n") != cups {
				t.Errorf("%v, reported %q, want what is wrong with cups", err, reported)
			}
		})
	}
}

// The store is emptied, or emptied and rebuilt, in the middle of a run: the run says so, and reports no order, buyer
// or product as broken.
func TestReconcileWhileEmptied(t *testing.T) {
	for _, at := range []string{"orders", "buyers", "view"} {
		for _, rebuilt := range []bool{false, true} {
			t.Run(fmt.Sprintf("before %s, rebuilt %t", at, rebuilt), func(t *testing.T) {
				t.Parallel()
				client, p := connect(t, redisServer(t)), sqlite(t)
				s := keptSale(t, client, p, stock.Options{})
				put(t, s, "tea", 9)
				o := order("a")
				o.Buyer = "bob"
				reserve(t, s, o)
				settleAll(t, s, p)
				core, logs := observer.New(zap.InfoLevel)
				_, err := stock.Reconciliation(t.Context(), s, p.Database, nextFence(), func(step string) error {
					if step != at {
						return nil
					}
					err := client.FlushAll(t.Context()).Err()
					if err == nil && rebuilt {
						_, err = s.RestoreNow(t.Context())
					}
					return err
				}, slog.New(zapslog.NewHandler(core)))
				if n := logs.FilterMessage("stock broken").Len(); !errors.Is(err, stock.ErrStockUnknown) || n > 0 {
					t.Errorf("%v, want ErrStockUnknown; %d are reported as broken", err, n)
				}
				if _, err := s.RestoreNow(t.Context()); !rebuilt && err != nil {
					t.Fatal(err)
				}
				if _, err := stock.Reconciliation(t.Context(), s, p.Database, nextFence(), pass, nil); err != nil {
					t.Errorf("the next run: %v", err)
				}
			})
		}
	}
}

// The database has lost what was put in of a product: it is settled again, once.
func TestDatabaseLosesTotals(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := some(t, client, p)
		products := p.lines(t, productRows)
		for _, statement := range []string{"DELETE FROM product WHERE sku = 'cup'"} {
			if _, err := p.db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		for f := range int64(2) {
			if _, reported, err := reconcile(t, s, p, f+2); err != nil {
				t.Errorf("%v: %s", err, reported)
			}
			settle(t, s, p, f+2, 0)
			p.wantLines(t, productRows, products...)
		}
	})
}

// A disputed order is reported by each run until an operator has settled the dispute.
func TestDisputeIsTold(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := some(t, client, p)
	if _, err := p.db.ExecContext(t.Context(), "UPDATE orders SET status = 'expired' WHERE id = 'o-02'"); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(t.Context(), s, "o-02"); err != nil {
		t.Fatal(err)
	}
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), pass); err == nil {
		t.Error("the dispute is not reported")
	}
	for f := range int64(2) {
		if _, _, err := reconcile(t, s, p, f+1); err == nil || !strings.Contains(err.Error(), "1 orders") {
			t.Errorf("%v", err)
		}
	}
}

// A run is paused past its lease, and a later one has begun.
func TestPausedReconcileIsFenced(t *testing.T) {
	crash := errors.New("crash")
	for _, at := range []string{"look up", "keep"} {
		client, p := connect(t, redisServer(t)), sqlite(t)
		s := some(t, client, p)
		_, err := stock.Reconciliation(t.Context(), s, p.Database, fence(1), func(step string) error {
			if step != at {
				return nil
			}
			_, err := stock.Reconciliation(t.Context(), s, p.Database, fence(2), func(step string) error {
				if step == "keep" {
					return crash
				}
				return nil
			}, nil)
			if !errors.Is(err, crash) {
				t.Error(err)
			}
			return nil
		}, nil)
		if !errors.Is(err, stock.ErrFenced) {
			t.Errorf("paused before %s: %v, want ErrFenced", at, err)
		}
		wantReconciled(t, s, p, 3, stock.Reconciled{LookedUp: 4})
	}
}

// An order is paid, and settled while it is being looked up: what was read before
// must not look as if the database had lost it.
func TestSettledWhileLookedUp(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := some(t, client, p)
		if _, err := pay(t.Context(), s, "o-02"); err != nil {
			t.Fatal(err)
		}
		once := false
		got, err := stock.Reconciliation(t.Context(), s, p.Database, fence(1), func(step string) error {
			if step == "keep" && !once {
				once = true
				settle(t, s, p, 2, 1)
			}
			return nil
		}, nil)
		if err != nil || got.Again != 0 {
			t.Errorf("reconciled %+v, %v, want nothing settled again", got, err)
		}
	})
}

// While buyers buy, pay and cancel, and another run settles, nothing looks broken.
func TestReconcileUnderLoad(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := newSale(t, client, stock.Options{Hold: 30 * time.Millisecond})
		put(t, s, "tea", 300)
		stop := make(chan struct{})
		var runs, buyers sync.WaitGroup
		loop := func(f func(n int64) error) {
			runs.Go(func() {
				for n := int64(1); ; n++ {
					if err := f(n); err != nil {
						t.Error(err)
						return
					}
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		loop(func(n int64) error {
			_, err := stock.Settle(t.Context(), s, p.Database, 50, fence(n), pass)
			return err
		})
		loop(func(n int64) error { return stock.Release(t.Context(), s, fence(n), pass) })
		loop(func(n int64) error {
			_, reported, err := reconcile(t, s, p, n)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, reported)
			}
			return err
		})
		for b := range 4 {
			buyers.Go(func() {
				for i := range 150 {
					id := fmt.Sprintf("b%d-%d", b, i)
					if _, _, err := s.Reserve(t.Context(), order(id)); errors.Is(err, stock.ErrSoldOut) {
						continue
					} else if err != nil {
						t.Error(err)
					}
					var err error
					switch i % 3 {
					case 0:
						_, err = pay(t.Context(), s, id)
					case 1:
						_, err = s.Cancel(t.Context(), id)
					}
					if err != nil && !errors.Is(err, stock.ErrClosed) {
						t.Error(err)
					}
				}
			})
		}
		buyers.Wait()
		await(t, "all is settled", func() bool {
			const tag = "cronce:v1:stock:{cronce:shop}:"
			fresh, err := client.ZCard(t.Context(), tag+"fresh").Result() // in the order in which orders go from one to the next
			due, err2 := client.ZCard(t.Context(), tag+"due").Result()
			left, err3 := client.ZCard(t.Context(), tag+"unsettled").Result()
			return errors.Join(err, err2, err3) == nil && left+due+fresh == 0
		})
		close(stop)
		runs.Wait()
		p.wantSums(t)
		if _, reported, err := reconcile(t, s, p, 1_000_000); err != nil {
			t.Errorf("%v: %s", err, reported)
		}
	})
}
