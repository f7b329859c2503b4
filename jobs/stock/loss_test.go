package stock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// keptSale is a sale whose shelf is compared with the book.
func keptSale(t testing.TB, client redis.UniversalClient, p place, o stock.Options) *stock.Sale {
	t.Helper()
	o.Book = p.Database
	s := newSale(t, client, o)
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// wantUnknown checks that a sale does nothing until its shelf was rebuilt.
func wantUnknown(t testing.TB, s *stock.Sale, open, fresh string) {
	t.Helper()
	_, _, err := s.Reserve(t.Context(), order(fresh))
	_, err2 := s.Put(t.Context(), "tea", 5)
	_, err3 := pay(t.Context(), s, open)
	_, err4 := s.Cancel(t.Context(), open)
	_, err5 := s.Order(t.Context(), "nobody-knows")
	for i, err := range []error{err, err2, err3, err4, err5} {
		if !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("call %d: %v, want ErrStockUnknown", i, err)
		}
	}
	if err := s.Known(); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("Known = %v, want ErrStockUnknown", err)
	}
}

// sell reserves and pays orders of one tea each until there is none left, and
// returns how many were accepted.
func sell(t testing.TB, s *stock.Sale, name string) (n int) {
	t.Helper()
	for i := range 10 {
		id := fmt.Sprintf("%s-%d", name, i)
		_, _, err := s.Reserve(t.Context(), order(id))
		if errors.Is(err, stock.ErrSoldOut) {
			return n
		}
		if err == nil {
			_, err = pay(t.Context(), s, id)
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// The store loses everything in the middle of a sale. Put in again as before, all
// five would be sold once more: instead the sale is closed, in this process and in
// one that starts now, until the shelf was rebuilt from the book, and goes on where
// it was.
func TestStoreForgets(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		for i := range 4 {
			reserve(t, s, order(fmt.Sprintf("o-%02d", i)))
		}
		if _, err := pay(t.Context(), s, "o-00"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Cancel(t.Context(), "o-01"); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 1, 4)
		before := wantState(t, s, "o-02", stock.Reserved)
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		wantUnknown(t, s, "o-02", "fresh-a")
		late := newSale(t, client, stock.Options{Book: p.Database})
		wantUnknown(t, late, "o-02", "fresh-b")
		if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), pass); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("settle: %v, want ErrStockUnknown", err)
		}
		got, err := late.RestoreNow(t.Context())
		if err != nil || got.Products != 1 || got.Open != 2 || got.Closed != 2 || len(got.Dropped) != 0 {
			t.Fatalf("Restore = %+v, %v", got, err)
		}
		if _, err := late.RestoreNow(t.Context()); !errors.Is(err, stock.ErrNothingToRestore) {
			t.Errorf("again: %v, want ErrNothingToRestore", err)
		}
		await(t, "this process has seen that the shelf was rebuilt", func() bool {
			_, _, err := s.Reserve(t.Context(), order("o-03"))
			return err == nil
		})
		wantProduct(t, s, "tea", 5, 2, 2, 1)
		if after := wantState(t, s, "o-02", stock.Reserved); fmt.Sprintf("%#v", after) != fmt.Sprintf("%#v", before) || after.Due != before.Due {
			t.Errorf("restored %v, was %v", after, before)
		}
		for _, id := range []string{"o-00", "o-01", "o-02"} { // known by their ids, with what they are of
			if _, fresh, err := s.Reserve(t.Context(), order(id)); err != nil || fresh {
				t.Errorf("again %s: new %v, %v", id, fresh, err)
			}
		}
		wantTTL(t, client, "o-00", true)
		wantTTL(t, client, "o-02", false)
		if n := sell(t, s, "more"); n != 2 {
			t.Errorf("%d more were sold, want the 2 that were left", n)
		}
		for id, want := range map[string]error{"o-02": nil, "o-01": stock.ErrClosed} {
			if _, err := pay(t.Context(), s, id); !errors.Is(err, want) {
				t.Errorf("pay %s: %v, want %v", id, err, want)
			}
		}
		settle(t, s, p, 2, 4) // with the payment that is to be refunded
		p.wantLines(t, productRows, "tea 5 1 4")
		p.wantSums(t)
		if reported, err := reconcile(t, s, p, 2); err != nil {
			t.Errorf("%v: %s", err, reported)
		}
	})
}

// older lets a server go back to what it had when it saved.
func older(t testing.TB, server *redisserver.Server, client redis.UniversalClient, then func()) {
	t.Helper()
	dir, err := client.ConfigGet(t.Context(), "dir").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	dump := filepath.Join(dir["dir"], "dump.rdb")
	saved, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	then()
	server.Kill()
	if err := os.WriteFile(dump, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	server.Restart()
}

// The store goes back to an older state, in which there is stock that was sold
// since: nothing of it is sold again, whether the book knows of it, when something was
// settled since, or a process that got the answer. Settling goes no further either.
func TestStoreGoesBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		settled bool // what was sold since
		asked   bool // the process that sold it is asked
		left    int  // what is to be sold after the rebuild
	}{
		{"the book knows", true, false, 1},
		{"the process knows", false, true, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			client, p := connect(t, server.Addr()), sqlite(t)
			s := keptSale(t, client, p, stock.Options{})
			idle := keptSale(t, client, p, stock.Options{})
			put(t, s, "tea", 5)
			reserve(t, s, order("before"))
			settle(t, s, p, 1, 1)
			older(t, server, client, func() {
				if _, err := pay(t.Context(), s, "before"); err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					reserve(t, s, order(fmt.Sprintf("since-%d", i)))
				}
				if c.settled {
					settle(t, s, p, 2, 4)
				}
			})
			asked := idle
			if c.asked {
				asked = s
			} else if err := idle.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
				t.Errorf("look: %v, want ErrStockUnknown", err)
			}
			wantUnknown(t, asked, "before", "fresh")
			if err := idle.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) { // it is closed for all
				t.Errorf("look: %v, want ErrStockUnknown", err)
			}
			if _, err := stock.Settle(t.Context(), idle, p.Database, 10, fence(3), pass); !errors.Is(err, stock.ErrStockUnknown) {
				t.Errorf("settle: %v, want ErrStockUnknown", err)
			}
			if err := stock.Release(t.Context(), idle, fence(3), pass); err != nil && !errors.Is(err, stock.ErrStockUnknown) {
				t.Errorf("release: %v", err)
			}
			if _, err := idle.RestoreNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := sell(t, idle, "more"); n != c.left {
				t.Errorf("%d more were sold, want %d", n, c.left)
			}
		})
	}
}

// A store loses the shelf and keeps orders that were not settled, and changes of products that the book does not
// have. A rebuild takes none of them over: the book's orders and products hold, an order may be placed again under its
// id, and no payment of before is known.
func TestRestoreDrops(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		reserve(t, s, order("known"))
		settle(t, s, p, 1, 1)
		seller := newSale(t, client, stock.Options{}) // as one that was not answered in time
		put(t, seller, "cup", 3)                      // from here on the book knows nothing
		put(t, seller, "tea", 9)
		if _, err := pay(t.Context(), s, "known"); err != nil {
			t.Fatal(err)
		}
		reserve(t, s, order("open"))
		reserve(t, s, order("paid", stock.Item{SKU: "cup", Quantity: 1}, stock.Item{SKU: "tea", Quantity: 3}))
		if _, err := pay(t.Context(), s, "paid"); err != nil {
			t.Fatal(err)
		}
		if err := client.Del(t.Context(), saleTag+"shelf").Err(); err != nil {
			t.Fatal(err)
		}
		wantUnknown(t, s, "open", "fresh")
		got, err := s.Restore(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Products != 1 || got.Open != 1 {
			t.Errorf("restored %+v", got)
		}
		slices.Sort(got.Dropped)
		if fmt.Sprint(got.Dropped) != "[known open paid]" {
			t.Errorf("dropped %v", got.Dropped)
		}
		wantProduct(t, s, "tea", 5, 4, 1, 0)
		if n := client.Exists(t.Context(), saleTag+"order:open", saleTag+"order:paid").Val(); n != 0 {
			t.Errorf("the store keeps %d dropped orders", n)
		}
		wantState(t, s, "known", stock.Reserved)
		if _, err := s.Product(t.Context(), "cup"); !errors.Is(err, stock.ErrUnknownSKU) {
			t.Errorf("cup: %v, want ErrUnknownSKU", err)
		}
		for _, id := range []string{"open", "paid"} {
			if _, err := pay(t.Context(), s, id); !errors.Is(err, stock.ErrUnknownOrder) {
				t.Errorf("pay %s: %v, want ErrUnknownOrder", id, err)
			}
		}
		reserve(t, s, order("open"))
		if _, err := pay(t.Context(), s, "known"); err != nil { // the payment service reports it again
			t.Error(err)
		}
		settle(t, s, p, 2, 2)
		p.wantLines(t, productRows, "tea 5 1 1")
		p.wantSums(t)
		wantReconciled(t, s, p, 2)
	})
}

// Two processes with a database of their own each would split the orders: the second
// is refused, and so is its rebuild.
func TestTwoDatabases(t *testing.T) {
	client, p, other := connect(t, redisServer(t)), sqlite(t), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	second := newSale(t, client, stock.Options{Book: other.Database})
	if err := second.Probe(t.Context()); !errors.Is(err, stock.ErrForeign) || !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("look: %v, want ErrForeign", err)
	}
	wantUnknown(t, second, "o", "o")
	if _, err := second.RestoreNow(t.Context()); !errors.Is(err, stock.ErrForeign) {
		t.Errorf("restore: %v, want ErrForeign", err)
	}
	if _, err := stock.Settle(t.Context(), second, other.Database, 10, fence(1), pass); !errors.Is(err, stock.ErrForeign) {
		t.Errorf("settle: %v, want ErrForeign", err)
	}
	reserve(t, s, order("o"))
	settle(t, s, p, 1, 1)
}

// A rebuild is ended between any two of its steps: nothing is sold until the next
// has come to its end, which leaves what one that was never ended leaves.
func TestRestoreKilled(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	fill(t, s, 3)
	settle(t, s, p, 1, 3)
	crash := errors.New("crash")
	for n := 1; ; n++ {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		victim := redis.NewClient(&redis.Options{Addr: client.(*redis.Client).Options().Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
		victim.AddHook(&endAfter{n: n, err: crash, stop: stop})
		_, err := newSale(t, victim, stock.Options{Book: p.Database}).RestoreNow(ctx)
		_ = victim.Close()
		stop()
		if err == nil {
			if n < 6 {
				t.Errorf("it had only %d steps", n)
			}
			break
		}
		wantUnknown(t, newSale(t, client, stock.Options{Book: p.Database}), "o-00", "fresh")
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatalf("after the crash at command %d: %v", n, err)
		}
		wantProduct(t, newSale(t, client, stock.Options{}), "tea", 5, 2, 3, 0)
	}
	p.wantLines(t, productRows, "tea 5 3 0")
}

// Two processes rebuild at once, again and again: the shelf is opened whole, or not.
func TestRestoreTwice(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 50)
		fill(t, s, 30)
		settle(t, s, p, 1, 30)
		for range 5 {
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := newSale(t, client, stock.Options{Book: p.Database}).RestoreNow(t.Context())
					errs <- err
				}()
			}
			if a, b := <-errs, <-errs; a != nil && b != nil {
				t.Fatalf("neither: %v, %v", a, b)
			}
			if err := s.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantProduct(t, s, "tea", 50, 20, 30, 0)
		}
	})
}

// The store forgets everything after the first order, which the book does not have yet, and after the first settlement: the first is
// known to the process that has sold it, the second to any process.
func TestStoreForgetsTheFirst(t *testing.T) {
	_, client, _ := onFrozen(t)
	p := sqlite(t)
	put(t, newSale(t, client, stock.Options{}), "tea", 5) // without a book
	lose := func(s *stock.Sale) {
		t.Helper()
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("%v, want ErrStockUnknown", err)
		}
	}
	s := keptSale(t, client, p, stock.Options{})
	reserve(t, s, order("a"))
	lose(s)
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, newSale(t, client, stock.Options{}), "tea", 5)
	settle(t, s, p, 1, 0)
	if mark := client.HGet(t.Context(), shelfKey, "mark").Val(); mark != "1" {
		t.Fatalf("the mark is %s, want that of one settlement", mark)
	}
	lose(newSale(t, client, stock.Options{Book: p.Database}))
}

// The database is silent until the context of a comparison has ended: the sale still compares the store with its own counts.
func TestStoreForgetsBehindASilentBook(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	p.db.SetMaxOpenConns(1)
	busy, err := p.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for p.db.Stats().WaitCount == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
	if err := s.Probe(ctx); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("%v, want ErrStockUnknown", err)
	}
}

// The store forgets everything while the database is away: stock is unknown, also to a process that only reads.
// A store that has everything goes on, and one that does not answer is no loss.
func TestStoreForgetsWithoutTheBook(t *testing.T) {
	server, p := redisServer(t), sqlite(t)
	client, gone := connect(t, server), connect(t, server)
	s, apart := keptSale(t, client, p, stock.Options{}), keptSale(t, gone, p, stock.Options{})
	put(t, s, "tea", 5)
	reserve(t, s, order("a"))
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); err == nil || errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("with the store's data: %v, want another error than ErrStockUnknown", err)
	}
	_ = gone.Close()
	if err := apart.Probe(t.Context()); err == nil || errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("without an answer of the store: %v, want another error than ErrStockUnknown", err)
	}
	reserve(t, s, order("b"))
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("%v, want ErrStockUnknown", err)
	}
	if _, err := s.Product(t.Context(), "tea"); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("product: %v, want ErrStockUnknown", err)
	}
	wantUnknown(t, s, "a", "c")
}

// A settlement that was paused before its commit, while the shelf was rebuilt, cannot
// write: the shelf was built without it.
func TestSettlementBeforeRebuild(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 5)
		reserve(t, s, order("a"))
		settle(t, s, p, 1, 1)
		reserve(t, s, order("b"))
		_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), func(step string) error {
			if step == "write" {
				if err := client.FlushAll(t.Context()).Err(); err != nil {
					t.Error(err)
				}
				if _, err := s.RestoreNow(t.Context()); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		if !errors.Is(err, stock.ErrStockUnknown) {
			t.Errorf("settle: %v, want ErrStockUnknown", err)
		}
		p.wantLines(t, productRows, "tea 5 1 0")
		await(t, "the sale goes on", func() bool { _, _, err := s.Reserve(t.Context(), order("c")); return err == nil })
		wantProduct(t, s, "tea", 5, 3, 2, 0)
	})
}

// settleOrders rebuilds the shelf if it may.
func TestSettleRestores(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{Restore: true})
	put(t, s, "tea", 5)
	fill(t, s, 2)
	settle(t, s, p, 1, 2)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	settle(t, s, p, 2, 0)
	wantProduct(t, s, "tea", 5, 3, 2, 0)
	reserve(t, s, order("next"))
}
