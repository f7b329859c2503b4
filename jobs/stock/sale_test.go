package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// Five items, ten buyers at once: five orders are accepted.
func TestFiveItemsTenBuyers(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 5)
		var accepted, refused atomic.Int64
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				_, _, err := s.Reserve(t.Context(), order(fmt.Sprintf("o-%d", i)))
				switch {
				case err == nil:
					accepted.Add(1)
				case errors.Is(err, stock.ErrSoldOut):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if accepted.Load() != 5 || refused.Load() != 5 {
			t.Errorf("%d accepted, %d sold out, want 5 and 5", accepted.Load(), refused.Load())
		}
		wantProduct(t, s, "tea", 5, 0, 5, 0)
	})
}

// The same id gives the same answer, whatever became of the order since; the same
// id with anything else is refused.
func TestReserveAgain(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 5)
		put(t, s, "cup", 5)
		o := order("o-1", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "cup", Quantity: 1})
		first := reserve(t, s, o)
		o.Items[0], o.Items[1] = o.Items[1], o.Items[0]
		again, fresh, err := s.Reserve(t.Context(), o)
		if err != nil || fresh || fmt.Sprintf("%+v", again.Items) != fmt.Sprintf("%+v", first.Items) || again.Placed != first.Placed || again.Due != first.Due {
			t.Errorf("again: %+v, new %v, %v, want %+v", again, fresh, err, first)
		}
		for name, change := range map[string]func(*stock.Order){
			"receiver": func(o *stock.Order) { o.Receiver = "Somebody else" },
			"quantity": func(o *stock.Order) { o.Items = []stock.Item{{SKU: "tea", Quantity: 2}, {SKU: "cup", Quantity: 2}} },
			"items":    func(o *stock.Order) { o.Items = o.Items[:1] },
		} {
			other := o
			change(&other)
			if _, _, err := s.Reserve(t.Context(), other); !errors.Is(err, stock.ErrConflict) {
				t.Errorf("with another %s: %v, want ErrConflict", name, err)
			}
		}
		wantProduct(t, s, "tea", 5, 3, 2, 0)
		if _, err := pay(t.Context(), s, "o-1"); err != nil {
			t.Fatal(err)
		}
		if r, fresh, err := s.Reserve(t.Context(), o); err != nil || fresh || r.State != stock.Paid {
			t.Errorf("after it was paid: %v, new %v, %v", r, fresh, err)
		}
		wantProduct(t, s, "tea", 5, 3, 0, 2)
		wantProduct(t, s, "cup", 5, 4, 0, 1)
	})
}

// An order with one item that cannot be had takes nothing of the others.
func TestAllOrNothing(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 5)
		put(t, s, "cup", 1)
		_, _, err := s.Reserve(t.Context(), order("o-1", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "cup", Quantity: 2}))
		soldOut, ok := errors.AsType[*stock.RefusalError](err)
		if !ok || soldOut.SKU != "cup" || soldOut.Left != 1 {
			t.Errorf("%v, want cup sold out with 1 left", err)
		}
		_, _, err = s.Reserve(t.Context(), order("o-1", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "pot", Quantity: 1}))
		if !errors.Is(err, stock.ErrUnknownSKU) || !strings.Contains(err.Error(), `"pot"`) {
			t.Errorf("%v, want pot unknown", err)
		}
		wantProduct(t, s, "tea", 5, 5, 0, 0)
		if _, err := s.Order(t.Context(), "o-1"); !errors.Is(err, stock.ErrUnknownOrder) {
			t.Errorf("the refused order: %v", err)
		}
		reserve(t, s, order("o-1", stock.Item{SKU: "tea", Quantity: 5})) // a refusal is not remembered
	})
}

func TestStates(t *testing.T) {
	pay := func(s *stock.Sale) error { _, err := pay(context.Background(), s, "o"); return err }
	cancel := func(s *stock.Sale) error { _, err := s.Cancel(context.Background(), "o"); return err }
	for _, c := range []struct {
		name    string
		calls   []func(*stock.Sale) error
		last    error
		state   stock.State
		product [4]int64
	}{
		{"reserved", nil, nil, stock.Reserved, [4]int64{10, 7, 3, 0}},
		{"paid", []func(*stock.Sale) error{pay}, nil, stock.Paid, [4]int64{10, 7, 0, 3}},
		{"paid again", []func(*stock.Sale) error{pay, pay}, nil, stock.Paid, [4]int64{10, 7, 0, 3}},
		{"cancelled", []func(*stock.Sale) error{cancel}, nil, stock.Cancelled, [4]int64{10, 10, 0, 0}},
		{"cancelled again", []func(*stock.Sale) error{cancel, cancel}, nil, stock.Cancelled, [4]int64{10, 10, 0, 0}},
		{"paid, then cancelled", []func(*stock.Sale) error{pay, cancel}, stock.ErrClosed, stock.Paid, [4]int64{10, 7, 0, 3}},
		{"cancelled, then paid", []func(*stock.Sale) error{cancel, pay}, stock.ErrClosed, stock.Cancelled, [4]int64{10, 10, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStores(t, func(t *testing.T, client redis.UniversalClient) {
				s := newSale(t, client, stock.Options{})
				put(t, s, "tea", 10)
				reserve(t, s, order("o", stock.Item{SKU: "tea", Quantity: 3}))
				var err error
				for _, call := range c.calls {
					err = call(s)
				}
				if !errors.Is(err, c.last) {
					t.Errorf("the last call: %v, want %v", err, c.last)
				}
				if closed, ok := errors.AsType[*stock.RefusalError](err); ok && closed.State != c.state {
					t.Errorf("%v, want %s", err, c.state)
				}
				wantState(t, s, "o", c.state)
				wantProduct(t, s, "tea", c.product[0], c.product[1], c.product[2], c.product[3])
			})
		})
	}
}

// An order past its time cannot be paid, even when no run has read it yet. Its stock is back at once,
// and only once, and the payment is recorded once, to be refunded.
func TestPayTooLate(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{Hold: time.Millisecond})
		put(t, s, "tea", 1)
		r := reserve(t, s, order("o"))
		await(t, "the order is due", func() bool {
			now, err := client.Time(t.Context()).Result()
			return err == nil && now.After(r.Due)
		})
		for range 2 {
			_, err := pay(t.Context(), s, "o")
			if closed, ok := errors.AsType[*stock.RefusalError](err); !ok || closed.State != stock.Expired {
				t.Errorf("%v, want it expired", err)
			}
			wantPayments(t, wantState(t, s, "o", stock.Expired), "surplus pay-o 625") // to be refunded
		}
		wantProduct(t, s, "tea", 1, 1, 0, 0)
	})
}

func TestPut(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 5)
		fill(t, s, 3)
		if _, err := pay(t.Context(), s, "o-00"); err != nil {
			t.Fatal(err)
		}
		put(t, s, "tea", 3) // exactly what is reserved and sold
		wantProduct(t, s, "tea", 3, 0, 2, 1)
		if _, err := s.Put(t.Context(), "tea", 2); !errors.Is(err, stock.ErrTooLow) {
			t.Errorf("below: %v, want ErrTooLow", err)
		}
		put(t, s, "tea", stock.MaxTotal)
		wantProduct(t, s, "tea", stock.MaxTotal, stock.MaxTotal-3, 2, 1)
		if _, err := s.Product(t.Context(), "cup"); !errors.Is(err, stock.ErrUnknownSKU) {
			t.Errorf("an unknown product: %v", err)
		}
	})
}

// An error names each field that is not allowed, and nothing is sent.
func TestBadInput(t *testing.T) {
	s := newSale(t, connect(t, "127.0.0.1:1"), stock.Options{})
	with := func(change func(*stock.Order)) error {
		o := order("o-1")
		change(&o)
		_, _, err := s.Reserve(t.Context(), o)
		return err
	}
	offer := func(sku string, price int64, currency string) error {
		_, err := s.SetOffer(t.Context(), sku, stock.Offer{Price: price, Currency: currency})
		return err
	}
	during := func(starts, ends time.Time) error {
		_, err := s.SetOffer(t.Context(), "tea", stock.Offer{Price: 1, Currency: "EUR", Starts: starts, Ends: ends})
		return err
	}
	_, putSKU := s.Put(t.Context(), "", 1)
	_, putTotal := s.Put(t.Context(), "tea", -1)
	_, putMuch := s.Put(t.Context(), "tea", stock.MaxTotal+1)
	_, payID := s.Pay(t.Context(), strings.Repeat("x", 65), payment("p", 625, "EUR"))
	_, cancelID := s.Cancel(t.Context(), "")
	_, orderID := s.Order(t.Context(), "a b")
	for i, c := range []struct {
		err    error
		fields string
	}{
		{with(func(o *stock.Order) { o.ID = "" }), "id"},
		{with(func(o *stock.Order) { o.ID = strings.Repeat("x", 65) }), "id"},
		{with(func(o *stock.Order) { o.ID = "a\nb" }), "id"},
		{with(func(o *stock.Order) { o.ID = "." }), "id"},
		{with(func(o *stock.Order) { o.ID = ".." }), "id"},
		{with(func(o *stock.Order) { o.Receiver = "" }), "receiver"},
		{with(func(o *stock.Order) { o.Receiver = " " }), "receiver"},
		{with(func(o *stock.Order) { o.Receiver = "a\xff" }), "receiver"},
		{with(func(o *stock.Order) { o.Receiver = "a\x1b[2J" }), "receiver"},
		{with(func(o *stock.Order) { o.Receiver = strings.Repeat("ä", stock.MaxReceiver+1) }), "receiver"},
		{with(func(o *stock.Order) { o.Buyer = "a b" }), "buyer"},
		{with(func(o *stock.Order) { o.Buyer = strings.Repeat("x", stock.MaxBuyer+1) }), "buyer"},
		{with(func(o *stock.Order) { o.Items[0].Price = 1 }), "items[0].price"},
		{with(func(o *stock.Order) { o.Items = nil }), "items"},
		{with(func(o *stock.Order) { o.Items = make([]stock.Item, stock.MaxItems+1) }), "items"},
		{with(func(o *stock.Order) { o.Items[0].SKU = "a=1,b" }), "items[0].sku"},
		{with(func(o *stock.Order) { o.Items[0].Quantity = 0 }), "items[0].quantity"},
		{with(func(o *stock.Order) { o.Items[0].Quantity = -3 }), "items[0].quantity"},
		{with(func(o *stock.Order) { o.Items[0].Quantity = stock.MaxQuantity + 1 }), "items[0].quantity"},
		{with(func(o *stock.Order) { o.Items = append(o.Items, o.Items[0]) }), "items[1].sku"},
		{with(func(o *stock.Order) { *o = stock.Order{} }), "id receiver items"},
		{putSKU, "sku"}, {putTotal, "total"}, {putMuch, "total"},
		{offer("", 1, "EUR"), "sku"}, {offer("tea", -1, "EUR"), "price"}, {offer("tea", stock.MaxAmount+1, "EUR"), "price"},
		{offer("tea", 1, "eur"), "currency"}, {offer("tea", 1, "EURO"), "currency"}, {offer("tea", 1, ""), "currency"},
		{during(time.UnixMicro(1_795_207_852_937_001), time.Time{}), "starts_at"}, {during(time.Time{}, time.UnixMilli(0)), "ends_at"},
		{during(time.UnixMilli(1000), time.UnixMilli(1000)), "ends_at"},
		{payID, "id"}, {cancelID, "id"}, {orderID, "id"},
	} {
		if got := strings.Join(fields(c.err), " "); got != c.fields {
			t.Errorf("%d: %v names %q, want %q", i, c.err, got, c.fields)
		}
	}
}

func TestBadOptions(t *testing.T) {
	_, err := stock.NewSale(nil, stock.Options{Namespace: "{a}", Name: "b:c", Hold: -1, Retention: time.Second, Replicas: 10, ReplicaTimeout: time.Minute})
	if got := strings.Join(fields(err), " "); got != "namespace name retention hold replicas replica_timeout client" {
		t.Errorf("%v names %q", err, got)
	}
}

// fields are the names in the field errors that err joins.
func fields(err error) (names []string) {
	switch e := any(err).(type) {
	case *stock.FieldError:
		return []string{e.Field}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			names = append(names, fields(inner)...)
		}
	case interface{ Unwrap() error }:
		return fields(e.Unwrap())
	}
	return names
}

// A receiver is personal: nothing that prints an order shows it.
func TestReceiverIsMasked(t *testing.T) {
	o := order("o-1")
	r := stock.Record{Order: o, State: stock.Paid}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{o, &o, r, &r, []stock.Order{o}} {
			if got := fmt.Sprintf(format, value); strings.Contains(got, "Lovelace") || !strings.Contains(got, "A***") {
				t.Errorf(format+" shows %s", value, got)
			}
		}
	}
	if format.Mask("Ada") != "***" || format.Mask("") != "***" {
		t.Error("a short receiver is shown")
	}
	bad := order("o-1")
	bad.Receiver = "Ada Lovelace\x00"
	if err := bad.Validate(); err == nil || strings.Contains(err.Error(), "Ada") {
		t.Errorf("%v", err)
	}
}
