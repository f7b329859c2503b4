package stock_test

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// of is an order of a buyer for some tea.
func of(buyer, id string, quantity int64) stock.Order {
	o := order(id, stock.Item{SKU: "tea", Quantity: quantity})
	o.Buyer = buyer
	return o
}

// limited is an offer of which one buyer may have so many.
func limited(limit int64) stock.Offer {
	o := priceOf
	o.BuyerLimit = limit
	return o
}

func setOffer(t testing.TB, s *stock.Sale, sku string, o stock.Offer) {
	t.Helper()
	if p, err := s.SetOffer(t.Context(), sku, o); err != nil || p.Offer != o {
		t.Fatalf("SetOffer = %+v, %v", p, err)
	}
}

// wantLeft checks how many a buyer may still have: one more is refused, and says so.
func wantLeft(t testing.TB, s *stock.Sale, buyer string, limit, left int64) {
	t.Helper()
	_, _, err := s.Reserve(t.Context(), of(buyer, "too-many", left+1))
	e, is := errors.AsType[*stock.RefusalError](err)
	if !is || !errors.Is(err, stock.ErrBuyerLimit) || *e != (stock.RefusalError{Code: "buyer-limit", SKU: "tea", Limit: limit, Left: left}) {
		t.Errorf("%d more for %s: %v, want a limit of %d with %d left", left+1, buyer, err, limit, left)
	}
}

// wantBought checks all counts of what buyers have.
func wantBought(t testing.TB, client redis.UniversalClient, want map[string]string) {
	t.Helper()
	if got, err := client.HGetAll(t.Context(), saleTag+"bought").Result(); err != nil || !maps.Equal(got, want) {
		t.Errorf("buyers have %v, %v, want %v", got, err, want)
	}
}

// What a buyer has is counted over all orders, and given back once, in whichever way an
// order ends. It is the same after the store has lost everything.
func TestBuyerLimit(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		setOffer(t, s, "tea", limited(5))
		put(t, s, "cup", 10)
		if _, err := s.Put(t.Context(), "tea", 100); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Reserve(t.Context(), order("o"))
		if e, is := errors.AsType[*stock.FieldError](err); !is || e.Field != "buyer" {
			t.Errorf("without a buyer: %v", err)
		}
		for i, quantity := range []int64{2, 1, 1, 1} {
			o := of("ada", fmt.Sprintf("o-%d", i), quantity)
			o.Items = append(o.Items, stock.Item{SKU: "cup", Quantity: 1}) // without a limit
			reserve(t, s, o)
		}
		reserve(t, s, of("bob", "b-0", 5))
		wantLeft(t, s, "ada", 5, 0)
		if _, fresh, err := s.Reserve(t.Context(), of("bob", "b-0", 5)); fresh || err != nil {
			t.Errorf("again: new %v, %v", fresh, err)
		}
		if _, _, err := s.Reserve(t.Context(), of("eve", "b-0", 5)); !errors.Is(err, stock.ErrConflict) {
			t.Errorf("the order of another buyer: %v, want ErrConflict", err)
		}
		for _, id := range []string{"o-0", "o-1", "o-2"} {
			if _, err := pay(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
		wantLeft(t, s, "ada", 5, 0)
		settle(t, s, p, 1, 5)
		p.wantLines(t, "SELECT id, buyer FROM orders WHERE id IN ('o-0', 'b-0') ORDER BY id", "b-0 bob", "o-0 ada")
		for range 2 { // each twice
			if _, err := s.Refund(t.Context(), "o-0", "refund", "pay-o-0"); err != nil {
				t.Fatal(err)
			}
			wantLeft(t, s, "ada", 5, 2)
		}
		for range 2 {
			if _, err := s.Return(t.Context(), "o-1", "return"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Refund(t.Context(), "o-1", "refund-1", "pay-o-1"); err != nil {
			t.Fatal(err)
		}
		wantLeft(t, s, "ada", 5, 3)
		for range 2 {
			if _, err := s.Cancel(t.Context(), "o-3"); err != nil {
				t.Fatal(err)
			}
		}
		wantLeft(t, s, "ada", 5, 4)
		now := limited(3) // what bob has stays
		now.Starts, now.Ends = time.UnixMilli(1001).UTC(), time.UnixMilli(4e12).UTC()
		setOffer(t, s, "tea", now)
		wantLeft(t, s, "bob", 3, 0)
		if r, err := pay(t.Context(), s, "b-0"); err != nil || r.Buyer != "bob" {
			t.Errorf("pay: %v, %v", r, err)
		}
		reserve(t, s, of("ada", "o-4", 1)) // not settled when the store loses it
		wantBought(t, client, map[string]string{"ada:tea": "2", "ada:cup": "1", "bob:tea": "5"})
		settle(t, s, p, 2, 5)
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantBought(t, client, map[string]string{"ada:tea": "2", "ada:cup": "1", "bob:tea": "5"})
		wantLeft(t, s, "ada", 3, 1)
		if tea, err := s.Product(t.Context(), "tea"); err != nil || tea.Offer != now {
			t.Errorf("restored %+v, %v, want the offer %+v", tea, err, now)
		}
	})
}

// An order that is not paid in time gives back what its buyer has, whether the job finds it, or
// a payment that comes too late, or the begin of one.
func TestBuyerLimitExpires(t *testing.T) {
	t.Parallel()
	const hold = time.Minute
	for name, end := range map[string]func(t *testing.T, s *stock.Sale) error{
		"the job":        func(t *testing.T, s *stock.Sale) error { return stock.Release(soon(t), s, fence(1), pass) },
		"a late payment": func(t *testing.T, s *stock.Sale) error { _, err := pay(t.Context(), s, "o"); return err },
		"a late cancel":  func(t *testing.T, s *stock.Sale) error { _, err := s.Cancel(t.Context(), "o"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			m, client, at := onFrozen(t)
			s := newSale(t, client, stock.Options{Hold: hold})
			put(t, s, "tea", 9)
			setOffer(t, s, "tea", limited(3))
			reserve(t, s, of("ada", "o", 3))
			m.SetTime(at.Add(hold))
			for range 2 {
				if err := end(t, s); err != nil && !errors.Is(err, stock.ErrClosed) {
					t.Fatal(err)
				}
			}
			wantBought(t, client, nil)
			wantLeft(t, s, "ada", 3, 3)
		})
	}
}

// 64 goroutines, on clients of their own as in several processes, order for one buyer at once.
// The limit is three: three get one each.
func TestBuyersRace(t *testing.T) {
	t.Parallel()
	addr := redisserver.Start(t).Addr()
	var sales []*stock.Sale
	for range 4 {
		sales = append(sales, newSale(t, connect(t, addr), stock.Options{}))
	}
	put(t, sales[0], "tea", 100)
	setOffer(t, sales[0], "tea", limited(3))
	var accepted atomic.Int64
	var buyers sync.WaitGroup
	for i := range 64 {
		buyers.Go(func() {
			_, fresh, err := sales[i%len(sales)].Reserve(t.Context(), of("ada", fmt.Sprintf("o-%d", i), 1))
			switch {
			case err == nil && fresh:
				accepted.Add(1)
			case !errors.Is(err, stock.ErrBuyerLimit):
				t.Error(err)
			}
		})
	}
	buyers.Wait()
	if accepted.Load() != 3 {
		t.Errorf("%d were accepted, want 3", accepted.Load())
	}
	wantProduct(t, sales[0], "tea", 100, 97, 3, 0)
}

// The store's clock judges when a sale begins and ends, to the millisecond. An order that was
// accepted stays known.
func TestExactBeginAndEndOfASale(t *testing.T) {
	t.Parallel()
	m, client, at := onFrozen(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 9)
	o := priceOf
	o.Starts, o.Ends = at.Add(time.Second).UTC(), at.Add(time.Minute).UTC()
	setOffer(t, s, "tea", o)
	try := func(after time.Duration, id string) error {
		m.SetTime(at.Add(after))
		_, _, err := s.Reserve(t.Context(), order(id))
		return err
	}
	for after, in := range map[time.Duration]time.Duration{0: time.Second, time.Second - time.Millisecond: time.Millisecond, time.Second - time.Microsecond: time.Millisecond} {
		err := try(after, "early")
		if e, is := errors.AsType[*stock.RefusalError](err); !is || *e != (stock.RefusalError{Code: "not-begun", SKU: "tea", Starts: o.Starts, In: in}) || !errors.Is(err, stock.ErrNotBegun) {
			t.Errorf("after %v: %v, want that it begins in %v", after, err, in)
		}
	}
	for i, after := range []time.Duration{time.Second, time.Minute - time.Millisecond, time.Minute - time.Microsecond} {
		if err := try(after, fmt.Sprint("o-", i)); err != nil {
			t.Errorf("after %v: %v", after, err)
		}
	}
	for _, after := range []time.Duration{time.Minute, time.Minute + time.Millisecond} {
		if err := try(after, "late"); !errors.Is(err, stock.ErrEnded) {
			t.Errorf("after %v: %v, want ErrEnded", after, err)
		}
		if err := try(after, "o-0"); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	wantProduct(t, s, "tea", 9, 6, 3, 0)
}
