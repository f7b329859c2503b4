package oversell_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
)

// A shelf that strategies with a fence sell from.
type guarded interface {
	oversell.Shelf
	oversell.GuardedShelf
}

// A holder is stopped beyond its lease after it has looked; the next one looks as
// well, and then the first goes on. Its write is refused, although the next one has
// not written yet, and one item is sold once.
func TestPausedHolderSellsNothing(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) guarded{
		"miniredis": func(t *testing.T) guarded { return oversell.NewRedisShelf(client(t, small(t)), "ns", "p") },
		"sqlite":    func(t *testing.T) guarded { return table(t, embedded(t)) },
		"redis": func(t *testing.T) guarded {
			return oversell.NewRedisShelf(client(t, real(t, oversell.PostgreSQL).redis), "ns", "p")
		},
		"postgres": func(t *testing.T) guarded { return table(t, real(t, oversell.PostgreSQL)) },
		"mariadb":  func(t *testing.T) guarded { return table(t, real(t, oversell.MySQL)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pausedHolder(t, open(t))
		})
	}
}

func table(t *testing.T, s stores) guarded {
	return s.processes(t, 1, oversell.Env{})[0].Tables.Shelf("p")
}

func pausedHolder(t *testing.T, shelf guarded) {
	must(t, shelf.Fill(t.Context(), 1))
	var store memlock.Store
	replies := make(map[string]chan error)
	goOn := make(map[string]chan struct{})
	for _, order := range []string{"paused", "next"} {
		inside, on, end := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		replies[order], goOn[order] = end, on
		s := &oversell.Lock{Locker: lock.New(&store, ""), Key: "p", Shelf: shelf, Work: func(context.Context) error {
			close(inside)
			<-on
			return nil
		}}
		go func() { end <- s.Buy(t.Context(), order) }()
		await(t, inside)
		store.Forget() // in place of the time that the first one was stopped for
	}
	close(goOn["paused"])
	if err := await(t, replies["paused"]); !errors.Is(err, guard.ErrStale) {
		t.Errorf("the paused buyer got %v, want %v", err, guard.ErrStale)
	}
	close(goOn["next"])
	if err := await(t, replies["next"]); err != nil {
		t.Errorf("the next buyer got %v", err)
	}
	if r := sum(t, shelf, "lock", 1, oversell.Answers{Sold: 1, Errors: 1}); !r.Exact {
		t.Errorf("%v: %+v", &r, r)
	}
	last := &oversell.Lock{Locker: lock.New(&store, ""), Key: "p", Shelf: shelf, Work: oversell.Wait(0)}
	if err := last.Buy(t.Context(), "late"); !errors.Is(err, oversell.ErrSoldOut) {
		t.Errorf("after that: %v", err)
	}
}

// Once one buyer has seen that nothing is left the others stop waiting: of many
// buyers few have a turn, and none gets an error.
func TestBuyersStopWaiting(t *testing.T) {
	var store memlock.Store
	shelf := new(oneItem)
	s := &oversell.Lock{Locker: lock.New(&store, ""), Key: "p", Shelf: shelf, Work: oversell.Wait(10 * time.Millisecond)}
	orders := make([]string, 500)
	for i := range orders {
		orders[i] = fmt.Sprint("o", i)
	}
	a := oversell.NewBuyers(s, orders).Start(t.Context())
	if a.Sold != 1 || a.SoldOut != 499 || a.Errors != 0 || a.HandOvers < 2 || a.HandOvers > 250 {
		t.Errorf("%d sold, %d sold out, %d errors (%s), %d turns", a.Sold, a.SoldOut, a.Errors, a.Error, a.HandOvers)
	}
}

// oneItem is a shelf with one item.
type oneItem struct{ sold atomic.Bool }

func (s *oneItem) ReadLeft(context.Context, int64) (int, error) {
	if s.sold.Load() {
		return 0, nil
	}
	return 1, nil
}

func (s *oneItem) Sell(context.Context, int64, int, string) error {
	s.sold.Store(true)
	return nil
}
