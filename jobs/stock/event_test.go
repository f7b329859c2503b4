package stock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// A listener is a target that remembers what it was given, and answers as the test wants.
type listener struct {
	mu     sync.Mutex
	events []stock.Event
	answer func(events []stock.Event) stock.Delivery // nil: it takes all
}

func (l *listener) Name() string { return "listener" }

func (l *listener) Deliver(_ context.Context, events []stock.Event) stock.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := stock.Delivery{Done: len(events)}
	if l.answer != nil {
		d = l.answer(events)
	}
	l.events = append(l.events, events[:d.Done]...)
	return d
}

// all is what was delivered.
func (l *listener) all() []stock.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

func deliver(t testing.TB, s *stock.Sale, to stock.Target) {
	t.Helper()
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err != nil {
		t.Fatal(err)
	}
}

// deliverInVain is a run that ends with an error.
func deliverInVain(t testing.TB, s *stock.Sale, to stock.Target) {
	t.Helper()
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil {
		t.Error("no error")
	}
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

// eventSale is a sale with the events of which something is done: a first run of it was made.
func eventSale(t testing.TB, client redis.UniversalClient, p place, to stock.Target) *stock.Sale {
	t.Helper()
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	deliver(t, s, to)
	return s
}

// Each state that an order comes into has one event, numbered without a gap in the order in
// which the book got them, also of an order that came into several between two
// settlements. Before there is a target none are written.
func TestEvents(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 100)
		reserve(t, s, order("before"))
		settleAll(t, s, p)
		p.wantLines(t, "SELECT COUNT(*) FROM stock_event", "0")
		var to listener
		deliver(t, s, &to)

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
		if _, err := s.BeginPayment(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
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
		deliver(t, s, &to)
		deliver(t, s, &to)
		wantWays(t, to.all(), 1, "a reserved paid returned refunded", "b reserved cancelled", "before paid", "c reserved paid",
			"d reserved paid returned refunded", "e reserved cancelled")
		p.wantLines(t, "SELECT seq FROM stock_book", "15")
	})
}

// An event says what was sold for which price and how it was paid, and names no person.
func TestEventPayload(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	var to listener
	s := eventSale(t, client, p, &to)
	r := reserve(t, s, order("o-1", stock.Item{SKU: "tea", Quantity: 2}))
	paid, err := pay(t.Context(), s, "o-1")
	if err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	deliver(t, s, &to)
	const layout = "2006-01-02T15:04:05.000Z07:00"
	placed := r.Placed.UTC().Format(layout)
	want := fmt.Sprintf(`{"version":1,"id":"cronce:shop/o-1/%d/paid","kind":"paid","sale":"cronce:shop","seq":2,"order":"o-1","placed_at":%q,"at":%q,"state":"paid",`+
		`"items":[{"sku":"tea","quantity":2,"price":625,"amount":1250}],"amount":1250,"currency":"EUR","reference":"pay-o-1"}`,
		r.Placed.UnixMilli(), placed, paid.Payments[0].At.UTC().Format(layout))
	if events := to.all(); len(events) != 2 || string(events[1].Payload) != want || !json.Valid(events[0].Payload) {
		t.Errorf("%d events, the last %s, want %s", len(events), events[len(events)-1].Payload, want)
	}
}

// An event says the same whether its row was written by this version or, as JSON, by an older one; and it says what the
// order was when it was written, whatever the order has become since.
func TestEventOfOlderVersion(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		var to listener
		s := eventSale(t, client, p, &to)
		put(t, s, "cup", 9)
		r := reserve(t, s, order("o-1", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "cup", Quantity: 1}))
		settleAll(t, s, p)
		reserve(t, s, order("o-2"))
		if _, err := pay(t.Context(), s, "o-1"); err != nil {
			t.Fatal(err)
		}
		settleAll(t, s, p)
		events, err := s.Events(t.Context(), 10)
		if err != nil || len(events) != 3 {
			t.Fatal(len(events), err)
		}
		first := events[2]
		const layout = "2006-01-02T15:04:05.000Z07:00"
		placed := r.Placed.UTC().Format(layout)
		want := fmt.Sprintf(`{"version":1,"id":"cronce:shop/o-1/%d/reserved","kind":"reserved","sale":"cronce:shop","seq":1,"order":"o-1","placed_at":%q,"at":%q,"state":"reserved",`+
			`"items":[{"sku":"cup","quantity":1,"price":625,"amount":625},{"sku":"tea","quantity":2,"price":625,"amount":1250}],"amount":1875,"currency":"EUR"}`, r.Placed.UnixMilli(), placed, placed)
		if string(first.Payload) != want {
			t.Errorf("the first event is %s, want %s", first.Payload, want)
		}
		p.do(t, "UPDATE stock_event SET payload = '"+want+"' WHERE seq = 1")
		p.do(t, "UPDATE orders SET amount = 1")
		p.do(t, "DELETE FROM order_item")
		deliver(t, s, &to)
		for i, e := range to.all() {
			if was := events[2-i]; string(e.Payload) != string(was.Payload) {
				t.Errorf("event %d is %s, was %s", e.Seq, e.Payload, was.Payload)
			}
		}
	})
}

// A run of settleOrders ends between any two steps, as with a crash, and the next one goes on:
// no event is missing, none is there twice.
func TestEventsOfStoppedSettlement(t *testing.T) {
	crash := errors.New("crash")
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		var to listener
		s := eventSale(t, client, p, &to)
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
		deliver(t, s, &to)
		wantWays(t, to.all(), 1, want...)
	})
}
