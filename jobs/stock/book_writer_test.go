package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// An order is acknowledged when the book has it, and so is what becomes of it.
func TestSettledBeforeAcknowledged(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{Settled: true})
		put(t, s, "tea", 5)
		settle(t, s, p, 1, 0)
		for _, id := range []string{"a", "b", "c"} {
			reserve(t, s, order(id))
		}
		p.wantLines(t, "SELECT id, status FROM orders ORDER BY id", "a reserved", "b reserved", "c reserved")
		if _, err := pay(t.Context(), s, "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Cancel(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, fresh, err := s.Reserve(t.Context(), order("a")); err != nil || fresh {
				t.Errorf("again: new %v, %v", fresh, err)
			}
		}
		p.wantLines(t, "SELECT id, status FROM orders ORDER BY id", "a paid", "b cancelled", "c reserved")
		p.wantLines(t, productRows, "tea 5 1 1")
		settle(t, s, p, 2, 3) // marks what is there
		p.wantLines(t, productRows, "tea 5 1 1")
		if replies, err := reconcile(t, s, p, 2); err != nil {
			t.Errorf("%v: %s", err, replies)
		}
	})
}

// The database is away: the order is in the store, and its buyer is asked to try again.
func TestUnsettled(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{Settled: true})
	put(t, s, "tea", 5)
	settle(t, s, p, 1, 0)
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := s.Reserve(t.Context(), order("a")); !errors.Is(err, stock.ErrUnsettled) {
			t.Errorf("%v, want ErrUnsettled", err)
		}
	}
	wantProduct(t, s, "tea", 5, 4, 1, 0)
	_, err := stock.NewSale(client, stock.Options{Settled: true})
	if err == nil || !strings.Contains(err.Error(), "durability is settled, must be settled only with a book") {
		t.Errorf("without a book: %v", err)
	}
}

// Crowds buy from three processes' sales while the store loses everything again and
// again and is rebuilt: whatever was acknowledged is in the book, as it was
// acknowledged, and no more than there was.
func TestSettledOutlivesTheStore(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		first := keptSale(t, client, p, stock.Options{Settled: true})
		put(t, first, "tea", 1000)
		settle(t, first, p, 1, 0)
		var mu sync.Mutex
		replies := map[string]stock.State{}
		var buyers sync.WaitGroup
		for b := range 6 {
			s := first
			if b%3 != 0 {
				s = newSale(t, client, stock.Options{Settled: true, Book: p.Database})
			}
			buyers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					id := fmt.Sprintf("b%d-%d", b, n)
					if _, _, err := s.Reserve(ctx, order(id)); err != nil {
						time.Sleep(5 * time.Millisecond) // a store that is rebuilt needs the processor
						continue
					}
					state := stock.Reserved
					if _, err := pay(ctx, s, id); err == nil {
						state = stock.Paid
					}
					mu.Lock()
					replies[id] = state
					mu.Unlock()
				}
			})
		}
		for round := range 4 {
			await(t, "orders are acknowledged", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(replies) >= 8*(round+1)
			})
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := first.RestoreNow(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		buyers.Wait()
		has := map[string]bool{}
		for _, line := range p.lines(t, "SELECT id, status FROM orders") {
			has[line] = true
		}
		for id, state := range replies {
			if !has[id+" "+string(state)] && !has[id+" "+string(stock.Paid)] {
				t.Errorf("%s was acknowledged as %s: the book does not have it", id, state)
			}
		}
		p.wantSums(t)
	})
}

// The store has what a seller put in, the book does not have it yet, and buyers order it: they wait
// for no job, and the book has all of it.
func TestSettledAtOnce(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{Settled: true})
		seller := newSale(t, client, stock.Options{}) // as one that was not answered in time
		put(t, seller, "tea", 5)
		put(t, seller, "cup", 5)
		var buyers sync.WaitGroup
		for i := range 5 {
			buyers.Go(func() {
				if _, _, err := s.Reserve(t.Context(), order(fmt.Sprint("o-", i))); err != nil {
					t.Error(err)
				}
			})
		}
		buyers.Wait()
		p.wantLines(t, productRows, "tea 5 5 0")
		put(t, seller, "tea", 15)
		put(t, seller, "cup", 6)
		reserve(t, s, order("more", stock.Item{SKU: "tea", Quantity: 10}))
		p.wantLines(t, productRows, "tea 15 15 0")
		settle(t, s, p, 1, 6)
		p.wantLines(t, productRows, "cup 6 0 0", "tea 15 15 0")
		if replies, err := reconcile(t, s, p, 2); err != nil {
			t.Errorf("%v: %s", err, replies)
		}
	})
}

// A run has read the totals when a seller raises one, which the book has before the run writes: the
// run reads the totals again within its transaction, and does not lower it.
func TestSettledAtOnceBetweenReadAndWrite(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{Settled: true})
		put(t, s, "tea", 5)
		settle(t, s, p, 1, 0)
		put(t, s, "tea", 10)
		sent := false
		_, err := stock.Settle(t.Context(), s, p.Database, 10, fence(2), func(step string) error {
			if step == "write" && !sent { // the run has read 10
				sent = true
				put(t, s, "tea", 20)
				reserve(t, s, order("a", stock.Item{SKU: "tea", Quantity: 8})) // more than the book had
				p.wantLines(t, productRows, "tea 20 8 0")
			}
			return nil
		})
		if err != nil || !sent {
			t.Fatal(sent, err)
		}
		p.wantLines(t, productRows, "tea 20 8 0")
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantProduct(t, s, "tea", 20, 12, 8, 0)
	})
}

// The database holds on to the book: an order ends in doubt within its caller's time, not the
// database's, also the first, and is settled when it is sent again. So does a sale that is closed.
func TestUnsettledInTime(t *testing.T) {
	onServers(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{Settled: true})
		ended := keptSale(t, client, p, stock.Options{Settled: true})
		put(t, s, "tea", 5)
		other, err := p.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Rollback() }()
		if _, err := other.ExecContext(t.Context(), "SELECT mark FROM stock_book FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, id := range []string{"a", "b"} {
			if _, _, err := s.Reserve(onceAnswered(t, client), order(id)); !errors.Is(err, stock.ErrUnsettled) {
				t.Errorf("%s: %v, want ErrUnsettled", id, err)
			}
		}
		if took := time.Since(began); took > 30*time.Second { // the databases wait for the lock for up to a minute
			t.Errorf("it took %v", took)
		}
		if _, _, err := ended.Reserve(onceAnswered(t, client), order("c")); !errors.Is(err, stock.ErrUnsettled) {
			t.Errorf("of a sale that ends: %v", err)
		}
		began = time.Now()
		ended.Close() // a transaction that nothing waits for
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("Close took %v while the database does not answer", took)
		}
		if err := other.Rollback(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			if _, fresh, err := s.Reserve(t.Context(), order(id)); fresh || err != nil {
				t.Errorf("%s again: new %v, %v", id, fresh, err)
			}
		}
		settleAll(t, s, p)
		p.wantLines(t, productRows, "tea 5 3 0")
	})
}
