package stock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

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
				wantReconciled(t, s, p, 2, stock.Reconciled{LookedUp: 4})
			})
		})
	}
}

// Orders were acknowledged, and lost with the store before they were settled: once the
// shelf was rebuilt, the process that acknowledged them logs them by their ids, and
// none that is in the book or on the shelf.
func TestLostOrdersAreLogged(t *testing.T) {
	t.Parallel()
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 9)
	for _, id := range []string{"cancelled-now", "paid-since", "settled"} {
		reserve(t, s, order(id))
	}
	settle(t, s, p, 1, 3)
	for _, id := range []string{"cancelled-now", "paid-since"} {
		if _, err := pay(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	reserve(t, s, order("reserved-since"))
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	other := newSale(t, client, stock.Options{Book: p.Database})
	if _, err := other.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"cancelled-now", "settled"} {
		if _, err := other.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the sale goes on", func() bool { _, _, err := s.Reserve(t.Context(), order("after")); return err == nil })
	execute(t, p, "ALTER TABLE orders RENAME TO hidden")
	core, logs := observer.New(zap.InfoLevel)
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		s.Watch(ctx, slog.New(zapslog.NewHandler(core)))
		close(watched)
	}()
	await(t, "the book cannot be read", func() bool { return logs.FilterMessage("lost orders not listed").Len() > 0 })
	execute(t, p, "ALTER TABLE hidden RENAME TO orders")
	await(t, "the lost orders are logged", func() bool { return logs.FilterMessage("order lost").Len() >= 3 })
	stop()
	<-watched
	var lost []string
	for _, l := range logs.FilterMessage("order lost").All() {
		lost = append(lost, fmt.Sprint(l.ContextMap()["order"], " ", l.ContextMap()["acknowledged"]))
	}
	if n, err := s.CountLost(t.Context()); err != nil || n != 3 {
		t.Errorf("%d orders are counted as lost, %v, want 3", n, err)
	}
	if want := []string{"cancelled-now paid", "paid-since paid", "reserved-since reserved"}; fmt.Sprint(lost) != fmt.Sprint(want) {
		t.Errorf("logged %q, want %q", lost, want)
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
