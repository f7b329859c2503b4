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
func reconcile(t testing.TB, s *stock.Sale, p place, f int64) (reported string, err error) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	err = stock.Reconciliation(t.Context(), s, p.Database, fence(f), pass, slog.New(zapslog.NewHandler(core)))
	var texts []string
	for _, l := range logs.FilterMessage("stock broken").All() {
		texts = append(texts, fmt.Sprint(l.ContextMap()["text"]))
	}
	return strings.Join(texts, "\n"), err
}

func wantReconciled(t testing.TB, s *stock.Sale, p place, f int64) {
	t.Helper()
	if reported, err := reconcile(t, s, p, f); err != nil {
		t.Errorf("reconcile: %v; it reported\n%s", err, reported)
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
		wantReconciled(t, s, p, 1)
		reserve(t, s, order("new"))
		wantReconciled(t, s, p, 2) // on its way is not broken
		if _, err := pay(t.Context(), s, "o-02"); err != nil {
			t.Fatal(err)
		}
		wantReconciled(t, s, p, 3)
		if n, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), func(step string) error {
			if step == "mark" {
				wantReconciled(t, s, p, 4) // nor is what the book has before the store knows it
			}
			return nil
		}); err != nil || n != 2 {
			t.Fatalf("settled %d, %v", n, err)
		}
		wantReconciled(t, s, p, 5)
	})
}

// The database loses what it had committed: all of it, or the last change. Each run reports it, and
// changes nothing.
func TestDatabaseLosesOrders(t *testing.T) {
	for _, c := range []struct {
		name     string
		lose     []string
		reported []string
	}{
		{"change", []string{"UPDATE orders SET status = 'reserved' WHERE id = 'o-00'", "UPDATE product SET sold = 0, reserved = 3 WHERE sku = 'tea'"},
			[]string{`order "o-00": the store has paid, the book reserved`, `product "tea"`}},
		{"all", []string{"DELETE FROM payment", "DELETE FROM order_item", "DELETE FROM orders", "DELETE FROM product"},
			[]string{`order "o-02": the store has reserved, the book nothing`, `product "cup"`, `product "tea"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
				s := some(t, client, p)
				for _, statement := range c.lose {
					p.do(t, statement)
				}
				for f := range int64(2) {
					reported, err := reconcile(t, s, p, 1+f)
					for _, want := range c.reported {
						if err == nil || !strings.Contains(reported, want) {
							t.Errorf("%v, reported %q, want %s", err, reported, want)
						}
					}
				}
			})
		})
	}
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
		}, `product "cup": the store has 5 put in, 0 reserved, 0 sold, 4 left (their sum is not the total), the book 5 put in, 0 reserved, 0 sold`},
		{"negative", func(client redis.UniversalClient, _ place) error {
			return client.HSet(t.Context(), tag+"stock", "cup", -1).Err()
		}, `product "cup": the store has 5 put in, 0 reserved, 0 sold, -1 left (negative), the book 5 put in, 0 reserved, 0 sold`},
		{"sold elsewhere", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET sold = sold + 1 WHERE sku = 'cup'")
			return err
		}, `product "cup": the store has 5 put in, 0 reserved, 0 sold, 5 left (it differs from the book), the book 5 put in, 0 reserved, 1 sold`},
		{"sale lost", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET sold = 0 WHERE sku = 'tea'")
			return err
		}, `product "tea": the store has 10 put in, 2 reserved, 1 sold, 7 left (it differs from the book), the book 10 put in, 2 reserved, 0 sold`},
		{"reservation lost", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET reserved = 0 WHERE sku = 'tea'")
			return err
		}, `product "tea": the store has 10 put in, 2 reserved, 1 sold, 7 left (it differs from the book), the book 10 put in, 0 reserved, 1 sold`},
		{"total lost, by the one or the other", func(_ redis.UniversalClient, p place) error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE product SET put_in = 8 WHERE sku = 'cup'")
			return err
		}, `product "cup": the store has 5 put in, 0 reserved, 0 sold, 5 left (it differs from the book), the book 8 put in, 0 reserved, 0 sold`},
		{"product lost", func(client redis.UniversalClient, _ place) error {
			for _, key := range []string{"put", "stock", "reserved", "sold"} {
				if err := client.HDel(t.Context(), tag+key, "cup").Err(); err != nil {
					return err
				}
			}
			return nil
		}, `product "cup": the store has 0 put in, 0 reserved, 0 sold, 0 left (the store does not know the product), the book 5 put in, 0 reserved, 0 sold`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s := some(t, client, p)
			if err := c.damage(client, p); err != nil {
				t.Fatal(err)
			}
			for f := range int64(2) {
				if reported, err := reconcile(t, s, p, f+1); err == nil || reported != c.reported {
					t.Errorf("%v, reported %q, want %q", err, reported, c.reported)
				}
			}
		})
	}
}

// The store is emptied, or emptied and rebuilt, while a run compares: the run says so, and reports no order
// or product as broken.
func TestReconcileWhileEmptied(t *testing.T) {
	for _, rebuilt := range []bool{false, true} {
		t.Run(fmt.Sprintf("rebuilt %t", rebuilt), func(t *testing.T) {
			t.Parallel()
			server, p := redisServer(t), sqlite(t)
			client, compares := connect(t, server), connect(t, server)
			s := keptSale(t, client, p, stock.Options{})
			put(t, s, "tea", 9)
			reserve(t, s, order("a"))
			settleAll(t, s, p)
			var once sync.Once
			compares.AddHook(before(func(args []any) {
				if fmt.Sprint(args[0]) != "zscan" { // the orders of the book are compared, products are not
					return
				}
				once.Do(func() {
					err := client.FlushAll(t.Context()).Err()
					if err == nil && rebuilt {
						_, err = s.RestoreNow(t.Context())
					}
					if err != nil {
						t.Error(err)
					}
				})
			}))
			core, logs := observer.New(zap.InfoLevel)
			err := stock.Reconciliation(t.Context(), keptSale(t, compares, p, stock.Options{}), p.Database, nextFence(), pass, slog.New(zapslog.NewHandler(core)))
			if n := logs.FilterMessage("stock broken").Len(); !errors.Is(err, stock.ErrStockUnknown) || n > 0 {
				t.Errorf("%v, want ErrStockUnknown; %d are reported as broken", err, n)
			}
			if _, err := s.RestoreNow(t.Context()); !rebuilt && err != nil {
				t.Fatal(err)
			}
			if err := stock.Reconciliation(t.Context(), s, p.Database, nextFence(), pass, nil); err != nil {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

// A run is paused past its lease, and a later one has begun.
func TestPausedReconcileIsFenced(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := some(t, client, p)
	err := stock.Reconciliation(t.Context(), s, p.Database, fence(1), func(step string) error {
		if step != "report" {
			return nil
		}
		return stock.Reconciliation(t.Context(), s, p.Database, fence(2), pass, nil)
	}, nil)
	if !errors.Is(err, stock.ErrFenced) {
		t.Errorf("paused before its report: %v, want ErrFenced", err)
	}
	wantReconciled(t, s, p, 3)
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
			reported, err := reconcile(t, s, p, n)
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
		if reported, err := reconcile(t, s, p, 1_000_000); err != nil {
			t.Errorf("%v: %s", err, reported)
		}
	})
}

// A run finds the differences of the last of more orders than one step compares, on each side.
func TestReconcileComparesAll(t *testing.T) {
	const tag = "cronce:v1:stock:{cronce:shop}:"
	for _, c := range []struct {
		name   string
		damage func(client redis.UniversalClient, p place) error
	}{
		{"an order that the book has lost", func(client redis.UniversalClient, p place) error {
			p.do(t, "DELETE FROM order_item WHERE order_id = 'o-600'")
			p.do(t, "DELETE FROM orders WHERE id = 'o-600'")
			p.do(t, "UPDATE product SET reserved = 600")
			err := client.HIncrBy(t.Context(), tag+"reserved", "tea", -1).Err() // so that the counts are equal
			return errors.Join(err, client.HIncrBy(t.Context(), tag+"stock", "tea", 1).Err())
		}},
		{"an order that the store has lost", func(client redis.UniversalClient, _ place) error {
			client.ZRem(t.Context(), tag+"due", "o-600")
			return client.Del(t.Context(), tag+"order:o-600").Err()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, p := connect(t, redisServer(t)), sqlite(t)
			s := keptSale(t, client, p, stock.Options{})
			put(t, s, "tea", 1000)
			for i := range 601 {
				reserve(t, s, order(fmt.Sprintf("o-%03d", i), stock.Item{SKU: "tea", Quantity: 1}))
			}
			settleAll(t, s, p)
			if reported, err := reconcile(t, s, p, 1); err != nil {
				t.Fatalf("%v: %s", err, reported)
			}
			if err := c.damage(client, p); err != nil {
				t.Fatal(err)
			}
			if reported, err := reconcile(t, s, p, 2); err == nil || !strings.HasPrefix(reported, `order "o-600": `) || strings.Contains(reported, "\n") {
				t.Errorf("%v, reported %q, want o-600 alone", err, reported)
			}
			lost := strings.HasSuffix(c.name, "the store has lost")
			if err := s.Probe(t.Context()); errors.Is(err, stock.ErrStockUnknown) != lost {
				t.Errorf("the sale is closed: %v, want %t", err, lost)
			}
		})
	}
}
