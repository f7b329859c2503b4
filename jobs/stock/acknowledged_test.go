package stock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// The shelf counts each change that it acknowledges, in all and for the process that made it, and no call that
// changes nothing: a store that has lost any of them is found out. What a process has made is known for an hour after its last
// comparison.
func TestEachChangeCounts(t *testing.T) {
	m, client, at := onFrozen(t)
	s := keptSale(t, client, sqlite(t), stock.Options{Hold: time.Minute})
	buy := func(id string, quantity int64) func() error {
		return func() error {
			_, _, err := s.Reserve(t.Context(), order(id, stock.Item{SKU: "tea", Quantity: quantity}))
			return err
		}
	}
	paid := func(id, reference string) func() error {
		return func() error { _, err := s.Pay(t.Context(), id, payment(reference, 625, "EUR")); return err }
	}
	cancel := func() error { _, err := s.Cancel(t.Context(), "cancelled"); return err }
	refund := func() error { _, err := s.Refund(t.Context(), "a", "f", "p"); return err }
	giveBack := func() error { _, err := s.Return(t.Context(), "b", "r"); return err }
	var own string // the key of the count of this process
	want := 0
	for i, c := range []struct {
		call    func() error
		err     error
		changes int
	}{
		{func() error { _, err := s.SetOffer(t.Context(), "tea", priceOf); return err }, nil, 1},
		{func() error { _, err := s.Put(t.Context(), "tea", 5); return err }, nil, 1},
		{buy("a", 1), nil, 1},
		{buy("a", 1), nil, 0},
		{buy("a", 2), stock.ErrConflict, 0},
		{buy("more", 5), stock.ErrSoldOut, 0},
		{func() error { _, err := s.Put(t.Context(), "tea", 0); return err }, stock.ErrTooLow, 0},
		{paid("a", "p"), nil, 1},
		{paid("a", "p"), nil, 0},
		{paid("a", "surplus"), stock.ErrClosed, 1},
		{paid("a", "surplus"), stock.ErrClosed, 0},
		{refund, nil, 1},
		{refund, nil, 0},
		{buy("b", 1), nil, 1},
		{giveBack, stock.ErrUnpaid, 0},
		{paid("b", "q"), nil, 1},
		{giveBack, nil, 1},
		{giveBack, nil, 0},
		{buy("cancelled", 1), nil, 1},
		{cancel, nil, 1},
		{cancel, nil, 0},
		{buy("late", 1), nil, 1},
		{buy("late-too", 1), nil, 1},
		{func() error { m.SetTime(at.Add(time.Minute)); return nil }, nil, 0},
		{buy("late", 1), nil, 1}, // it expires
		{buy("late", 1), nil, 0},
		{paid("late-too", "s"), stock.ErrClosed, 1},
	} {
		if err := c.call(); !errors.Is(err, c.err) {
			t.Errorf("step %d: %v, want %v", i, err, c.err)
		}
		want += c.changes
		if keys := client.Keys(t.Context(), saleTag+"acknowledged:*").Val(); len(keys) == 1 {
			own = keys[0]
		}
		all, mine := client.HGet(t.Context(), saleTag+"shelf", "changes").Val(), client.Get(t.Context(), own).Val()
		if all != fmt.Sprint(want) || mine != all {
			t.Fatalf("after step %d there are %s changes, and %s of this process, want %d", i, all, mine, want)
		}
	}
	known := func() time.Duration { return client.PTTL(t.Context(), own).Val() }
	if got := known(); got != time.Hour {
		t.Errorf("the count is known for %v, want an hour", got)
	}
	m.FastForward(time.Minute)
	if err := s.Probe(t.Context()); err != nil || known() != time.Hour {
		t.Errorf("after a comparison, %v, the count is known for %v, want an hour", err, known())
	}
}
