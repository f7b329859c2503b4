package stock_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// follow is a run of the job that delivers events: from the first one on events are written.
func follow(t testing.TB, s *stock.Sale) {
	t.Helper()
	if _, err := s.FollowEvents(t.Context(), nextFence()); err != nil {
		t.Fatal(err)
	}
}

func eventsOf(t testing.TB, s *stock.Sale) []stock.Event {
	t.Helper()
	all, err := s.Events(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var fences atomic.Int64

// nextFence is higher than any before, in one test as in all.
func nextFence() int64 { return fence(fences.Add(1)) }

func settleAll(t testing.TB, s *stock.Sale, p place) {
	t.Helper()
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); err != nil {
		t.Fatal(err)
	}
}

// wantWays checks the states of orders by their events: those of each in order, numbered from
// the first on without a gap.
func wantWays(t testing.TB, events []stock.Event, first int64, want ...string) {
	t.Helper()
	ways := map[string]string{}
	for i, e := range events {
		if e.Seq != first+int64(i) {
			t.Errorf("event %d has the number %d", first+int64(i), e.Seq)
		}
		ways[e.Order] += " " + string(e.Kind)
	}
	var got []string
	for id, way := range ways {
		got = append(got, id+way)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// eventSale is a sale whose events are written.
func eventSale(t testing.TB, client redis.UniversalClient, p place) *stock.Sale {
	t.Helper()
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	follow(t, s)
	return s
}

// Each state that an order comes into has one event, numbered without a gap in the order in
// which the book got them, also of an order that came into several between two
// settlements. Before FollowEvents was called none are written.
func TestEvents(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 100)
		reserve(t, s, order("before"))
		settleAll(t, s, p)
		p.wantLines(t, "SELECT COUNT(*) FROM stock_event", "0")
		follow(t, s)

		reserve(t, s, order("a"))
		reserve(t, s, order("b"))
		settleAll(t, s, p)
		for _, id := range []string{"a", "before"} {
			if _, err := pay(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Cancel(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		settleAll(t, s, p)
		if _, err := s.Return(t.Context(), "a", "parcel"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Refund(t.Context(), "a", "back", "pay-a"); err != nil {
			t.Fatal(err)
		}
		reserve(t, s, order("c"))
		settleAll(t, s, p)
		if _, err := pay(t.Context(), s, "c"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Pay(t.Context(), "b", stock.Payment{Reference: "late", Amount: 625, Currency: "EUR"}); !errors.Is(err, stock.ErrClosed) {
			t.Fatal(err)
		}
		reserve(t, s, order("d"))
		reserve(t, s, order("e"))
		_, err1 := pay(t.Context(), s, "d")
		_, err2 := s.Return(t.Context(), "d", "parcel-d")
		_, err3 := s.Refund(t.Context(), "d", "back-d", "pay-d")
		_, err4 := s.Cancel(t.Context(), "e")
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Pay(t.Context(), "e", stock.Payment{Reference: "later", Amount: 625, Currency: "EUR"}); !errors.Is(err, stock.ErrClosed) {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		wantWays(t, eventsOf(t, s), 1, "a reserved paid returned refunded", "b reserved cancelled", "before paid", "c reserved paid",
			"d reserved paid returned refunded", "e reserved cancelled")
		p.wantLines(t, "SELECT seq FROM stock_book", "15")
	})
}

// An event says what was sold for which price and how it was paid, and names no person. It says
// what the order was when the event was written, whatever the order has become since.
func TestEventPayload(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := eventSale(t, client, p)
		put(t, s, "cup", 9)
		r := reserve(t, s, order("o-1", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "cup", Quantity: 1}))
		settleAll(t, s, p)
		paid, err := pay(t.Context(), s, "o-1")
		if err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		p.do(t, "UPDATE orders SET amount = 1")
		p.do(t, "DELETE FROM order_item")
		const layout = "2006-01-02T15:04:05.000Z07:00"
		placed := r.Placed.UTC().Format(layout)
		line := func(kind string, seq int, at, reference string) string {
			return fmt.Sprintf(`{"version":1,"id":"cronce:shop/o-1/%d/%s","kind":%q,"sale":"cronce:shop","seq":%d,"order":"o-1","placed_at":%q,"at":%q,"state":%q,`+
				`"items":[{"sku":"cup","quantity":1,"price":625,"amount":625},{"sku":"tea","quantity":2,"price":625,"amount":1250}],"amount":1875,"currency":"EUR"%s}`,
				r.Placed.UnixMilli(), kind, kind, seq, placed, at, kind, reference)
		}
		want := []string{line("reserved", 1, placed, ""), line("paid", 2, paid.Payments[0].At.UTC().Format(layout), `,"reference":"pay-o-1"`)}
		events := eventsOf(t, s)
		if len(events) != 2 {
			t.Fatalf("%d events", len(events))
		}
		for i, e := range events {
			if string(e.Payload) != want[i] {
				t.Errorf("event %d is %s, want %s", e.Seq, e.Payload, want[i])
			}
		}
	})
}

// A run of settleOrders ends between any two steps, as with a crash, and the next one goes on:
// no event is missing, none is there twice.
func TestEventsOfStoppedSettlement(t *testing.T) {
	crash := errors.New("crash")
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := eventSale(t, client, p)
		var want []string
		for i, at := range steps {
			id := fmt.Sprint("o-", i)
			reserve(t, s, order(id))
			for range 2 {
				_, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), func(step string) error {
					if step == at {
						return crash
					}
					return nil
				})
				if !errors.Is(err, crash) {
					t.Fatal(err)
				}
			}
			if _, err := pay(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
			settleAll(t, s, p)
			want = append(want, id+" reserved paid")
		}
		wantWays(t, eventsOf(t, s), 1, want...)
	})
}

// The cursor counts the events behind it. A run with a lower fence does not move it.
func TestEventCursor(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 100)
		settleAll(t, s, p)
		if c, err := s.EventCursor(t.Context()); err != nil || c != (stock.EventCursor{}) {
			t.Errorf("before the first run: %+v, %v", c, err)
		}
		follow(t, s)
		fill(t, s, 3)
		settleAll(t, s, p)
		c, err := s.EventCursor(t.Context())
		if err != nil || c.Seq != 0 || c.Waiting != 3 || c.Behind < 0 {
			t.Errorf("%+v, %v", c, err)
		}
		late := nextFence()
		moved := stock.EventCursor{Seq: 2, Skipped: 1, Failures: 4, Passed: 3, Wait: time.Hour}
		if err := s.MoveEvents(t.Context(), nextFence(), moved); err != nil {
			t.Fatal(err)
		}
		if err := s.MoveEvents(t.Context(), late, stock.EventCursor{}); !errors.Is(err, stock.ErrFenced) {
			t.Errorf("a late run: %v", err)
		}
		c, err = s.FollowEvents(t.Context(), nextFence())
		if wait := c.Wait; wait > 0 {
			c.Behind, c.Wait = 0, time.Hour
		}
		if moved.Waiting = 1; err != nil || c != moved {
			t.Errorf("%+v, %v, want %+v", c, err, moved)
		}
	})
}

// Events are deleted when they are old and were delivered. A cursor that no run follows is kept for
// the same time; after that no events are written.
func TestSweepEvents(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := eventSale(t, client, p)
		fill(t, s, 3)
		settleAll(t, s, p)
		sweep := func(want ...string) {
			t.Helper()
			if err := stock.Sweep(t.Context(), s, time.Hour); err != nil {
				t.Fatal(err)
			}
			p.wantLines(t, "SELECT seq FROM stock_event ORDER BY seq", want...)
		}
		p.do(t, "UPDATE stock_event SET written_at = written_at - 7200000 WHERE seq < 3")
		sweep("1", "2", "3") // none was delivered
		if err := s.MoveEvents(t.Context(), nextFence(), stock.EventCursor{Seq: 3}); err != nil {
			t.Fatal(err)
		}
		sweep("3") // it is not old
		p.do(t, "UPDATE stock_cursor SET seen_at = seen_at - 7200000")
		follow(t, s) // it is followed again in time
		reserve(t, s, order("later"))
		settleAll(t, s, p)
		sweep("3", "4")
		p.do(t, "UPDATE stock_event SET written_at = written_at - 7200000")
		p.do(t, "UPDATE stock_cursor SET seen_at = seen_at - 7200000")
		sweep()
		p.wantLines(t, "SELECT COUNT(*) FROM stock_cursor", "0")
		if _, err := pay(t.Context(), s, "later"); err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		sweep()
		follow(t, s) // it begins anew
		if _, err := s.Refund(t.Context(), "later", "back", "pay-later"); err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		p.wantLines(t, "SELECT seq, kind FROM stock_event", "5 refunded")
	})
}
