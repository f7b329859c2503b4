package stock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// A database that cannot be reached keeps a sale closed that has never seen it, and
// no other.
func TestBookAway(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); err == nil || errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("look: %v, want that of the database", err)
	}
	reserve(t, s, order("a"))
	wantUnknown(t, newSale(t, client, stock.Options{Book: p.Database}), "a", "b")
}

// A store and a database of before the book was kept go on together; a store that
// has forgotten in between does not.
func TestBookIsBegun(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		t.Run(fmt.Sprint("forgets ", forgets), func(t *testing.T) {
			onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
				s := some(t, client, p)
				if forgets {
					if err := client.FlushAll(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					wantUnknown(t, newSale(t, client, stock.Options{Book: p.Database}), "o-02", "fresh")
					return
				}
				kept := keptSale(t, client, p, stock.Options{})
				if _, err := pay(t.Context(), kept, "o-02"); err != nil {
					t.Fatal(err)
				}
				settle(t, kept, p, 2, 1)
				wantReconciled(t, s, p, 2)
			})
		})
	}
}

// Watch notices what no request does.
func TestWatch(t *testing.T) {
	t.Parallel()
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	settle(t, s, p, 1, 0)
	watched := make(chan struct{})
	go func() {
		s.Watch(t.Context(), nil)
		close(watched)
	}()
	t.Cleanup(func() { <-watched })
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	await(t, "it is known that stock is not", func() bool { return s.Known() != nil })
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("after %v", took)
	}
}
