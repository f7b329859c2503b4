package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

func payment(reference string, amount int64, currency string) stock.Payment {
	return stock.Payment{Reference: reference, Amount: amount, Currency: currency}
}

// wantPayments checks what a record has: kind reference amount, joined.
func wantPayments(t testing.TB, r stock.Record, want string) {
	t.Helper()
	var got []string
	for _, p := range r.Payments {
		line := fmt.Sprint(p.Kind, " ", p.Reference, " ", p.Amount)
		if p.Refunds != "" {
			line += " of " + p.Refunds
		}
		got = append(got, line)
	}
	if strings.Join(got, ", ") != want {
		t.Errorf("order %s has %q, want %q", r.ID, got, want)
	}
}

// A payment must be what the order costs, to the last cent; it is recorded once by its
// reference, which is one order's alone.
func TestPayment(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 10)
		reserve(t, s, order("o", stock.Item{SKU: "tea", Quantity: 2}))
		reserve(t, s, order("other"))
		for _, c := range []struct {
			id      string
			payment stock.Payment
			want    string // of the error
		}{
			{"o", payment("p-1", 1249, "EUR"), "amount is another than the order's, must be exactly 1250 EUR"},
			{"o", payment("p-1", 1251, "EUR"), "amount is"},
			{"o", payment("p-1", 1250, "USD"), "amount is"},
			{"o", payment("p-1", 0, "EUR"), "amount is"},
			{"o", payment("", 1250, "EUR"), "reference is"},
			{"o", payment("p:1", 1250, "EUR"), "reference is"},
			{"o", payment("p-1", -1, "EUR"), "amount is"},
			{"o", payment("p-1", 1250, ""), "currency is"},
			{"nobody", payment("p-1", 1250, "EUR"), stock.ErrUnknownOrder.Error()},
			{"o", payment("p-1", 1250, "EUR"), ""},
			{"o", payment("p-1", 1250, "EUR"), ""},
			{"o", payment("p-1", 1249, "EUR"), "amount is"},
			{"other", payment("p-1", 625, "EUR"), stock.ErrReference.Error()},
			{"other", payment("p-2", 625, "EUR"), ""},
		} {
			_, err := s.Pay(t.Context(), c.id, c.payment)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s with %+v: %v, want %q", c.id, c.payment, err, c.want)
			}
		}
		wantPayments(t, wantState(t, s, "o", stock.Paid), "paid p-1 1250")
		wantProduct(t, s, "tea", 10, 7, 0, 3)
	})
}

// What is paid while its time runs is not expired by the job, which comes in between.
func TestPaidInTheLastMoment(t *testing.T) {
	t.Parallel()
	m, client, at := onFrozen(t)
	s := newSale(t, client, stock.Options{Hold: time.Minute})
	put(t, s, "tea", 1)
	reserve(t, s, order("o"))
	m.SetTime(at.Add(time.Minute - time.Millisecond))
	if err := stock.Release(soon(t), s, fence(1), pass); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(t.Context(), s, "o"); err != nil {
		t.Error(err)
	}
	wantProduct(t, s, "tea", 1, 0, 0, 1)
}

// A payment goes back once, and so do the items, whatever is repeated and however refund
// and return follow each other; the books have each step.
func TestRefundAndReturn(t *testing.T) {
	refund := func(reference, payment string) func(context.Context, *stock.Sale) error {
		return func(ctx context.Context, s *stock.Sale) error {
			_, err := s.Refund(ctx, "o", reference, payment)
			return err
		}
	}
	giveBack := func(reference string) func(context.Context, *stock.Sale) error {
		return func(ctx context.Context, s *stock.Sale) error { _, err := s.Return(ctx, "o", reference); return err }
	}
	type step struct {
		call func(context.Context, *stock.Sale) error
		want error
	}
	for _, c := range []struct {
		name     string
		steps    []step
		state    stock.State
		sold     int64
		payments string
	}{
		{"refund", []step{{refund("f", "p"), nil}}, stock.Refunded, 0, "paid p 1250, refund f 1250 of p"},
		{"refund again", []step{{refund("f", "p"), nil}, {refund("f", "p"), nil}}, stock.Refunded, 0, "paid p 1250, refund f 1250 of p"},
		{"refund with another reference", []step{{refund("f", "p"), nil}, {refund("g", "p"), stock.ErrRefunded}}, stock.Refunded, 0, "paid p 1250, refund f 1250 of p"},
		{"return", []step{{giveBack("r"), nil}, {giveBack("r"), nil}}, stock.Returned, 0, "paid p 1250, return r 0"},
		{"return twice", []step{{giveBack("r"), nil}, {giveBack("q"), stock.ErrUnpaid}}, stock.Returned, 0, "paid p 1250, return r 0"},
		{"return, then refund", []step{{giveBack("r"), nil}, {refund("f", "p"), nil}, {refund("f", "p"), nil}, {giveBack("r"), nil}}, stock.Refunded, 0, "paid p 1250, return r 0, refund f 1250 of p"},
		{"refund, then return", []step{{refund("f", "p"), nil}, {giveBack("r"), stock.ErrUnpaid}}, stock.Refunded, 0, "paid p 1250, refund f 1250 of p"},
		{"the payment's reference", []step{{refund("p", "p"), stock.ErrReference}, {giveBack("p"), stock.ErrReference}}, stock.Paid, 2, "paid p 1250"},
		{"no such payment", []step{{refund("f", "q"), new(stock.FieldError)}}, stock.Paid, 2, "paid p 1250"},
		{"a surplus", []step{
			{func(ctx context.Context, s *stock.Sale) error {
				_, err := s.Pay(ctx, "o", payment("p2", 7, "USD"))
				return err
			}, stock.ErrClosed},
			{refund("f", "p2"), nil},
		}, stock.Paid, 2, "paid p 1250, surplus p2 7, refund f 7 of p2"},
	} {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", settled between ", between), func(t *testing.T) {
				t.Parallel()
				client, p := connect(t, redisServer(t)), sqlite(t)
				s := keptSale(t, client, p, stock.Options{})
				put(t, s, "tea", 5)
				reserve(t, s, order("o", stock.Item{SKU: "tea", Quantity: 2}))
				if _, err := s.Pay(t.Context(), "o", payment("p", 1250, "EUR")); err != nil {
					t.Fatal(err)
				}
				for i, step := range c.steps {
					if between {
						if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(int64(i+1)), pass); err != nil {
							t.Fatal(err)
						}
						if reported, err := reconcile(t, s, p, int64(2*i+1)); err != nil {
							t.Errorf("%v: %s", err, reported)
						}
					}
					err := step.call(t.Context(), s)
					if _, field := errors.AsType[*stock.FieldError](step.want); field {
						if _, is := errors.AsType[*stock.FieldError](err); !is {
							t.Errorf("step %d: %v, want a FieldError", i, err)
						}
					} else if !errors.Is(err, step.want) {
						t.Errorf("step %d: %v, want %v", i, err, step.want)
					}
					if reported, err := reconcile(t, s, p, int64(2*i+2)); err != nil { // before the book has it
						t.Errorf("%v: %s", err, reported)
					}
				}
				if _, err := stock.Settle(t.Context(), s, p.Database, 10, fence(10), pass); err != nil {
					t.Fatal(err)
				}
				wantPayments(t, wantState(t, s, "o", c.state), c.payments)
				wantProduct(t, s, "tea", 5, 5-c.sold, 0, c.sold)
				p.wantLines(t, productRows, fmt.Sprint("tea 5 0 ", c.sold))
				p.wantLines(t, "SELECT id, status FROM orders", "o "+string(c.state))
				wantPaymentRows(t, p, wantState(t, s, "o", c.state))
				if reported, err := reconcile(t, s, p, 100); err != nil {
					t.Errorf("%v: %s", err, reported)
				}
			})
		}
	}
}

// wantPaymentRows checks that the database has the payments of a record.
func wantPaymentRows(t testing.TB, p place, r stock.Record) {
	t.Helper()
	var want []string
	for _, x := range r.Payments {
		want = append(want, fmt.Sprint(x.Kind, " ", x.Reference, " ", x.Amount, " ", x.Currency, " ", x.At.UnixMilli(), " ", x.Refunds))
	}
	got := p.lines(t, "SELECT kind, reference, amount, currency, at, refunds FROM payment WHERE order_id = '"+r.ID+"'")
	wantSameLines(t, got, want)
}

func wantSameLines(t testing.TB, got, want []string) {
	t.Helper()
	left := map[string]int{}
	for _, line := range want {
		left[line]++
	}
	for _, line := range got {
		left[line]--
	}
	for line, n := range left {
		if n != 0 {
			t.Errorf("%q: %d missing; found %q", line, n, got)
		}
	}
}

// Payments, refunds and returns survive the loss of the store, on each database; what was
// paid can be refunded when the store has long forgotten the order.
func TestPaymentsAreInTheBook(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 9)
		for _, id := range []string{"paid", "open", "late", "back"} {
			reserve(t, s, order(id))
		}
		_, err1 := pay(t.Context(), s, "paid")
		_, err3 := s.Cancel(t.Context(), "late")
		_, err4 := pay(t.Context(), s, "back")
		if err := errors.Join(err1, err3, err4); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 1, 4)
		if _, err := pay(t.Context(), s, "late"); !errors.Is(err, stock.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
		if _, err := s.Return(t.Context(), "back", "return-back"); err != nil {
			t.Fatal(err)
		}
		settle(t, s, p, 2, 2)
		p.wantSums(t)
		p.wantLines(t, productRows, "tea 9 1 1")
		before := map[string]stock.Record{}
		for id, state := range map[string]stock.State{"paid": stock.Paid, "open": stock.Reserved, "late": stock.Cancelled, "back": stock.Returned} {
			before[id] = wantState(t, s, id, state)
			wantPaymentRows(t, p, before[id])
		}
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range before {
			got, err := s.Order(t.Context(), id)
			if err != nil || fmt.Sprintf("%+v %v %v", got.Payments, got.State, got.Due) != fmt.Sprintf("%+v %v %v", want.Payments, want.State, want.Due) {
				t.Errorf("restored %+v, %v, want %+v", got, err, want)
			}
		}
		if _, err := s.Pay(t.Context(), "open", payment("pay-paid", 625, "EUR")); !errors.Is(err, stock.ErrReference) {
			t.Errorf("with the reference of another: %v, want ErrReference", err)
		}
		wantProduct(t, s, "tea", 9, 7, 1, 1)
		const key = "cronce:v1:stock:{cronce:shop}:order:"
		if err := client.Del(t.Context(), key+"paid", key+"late").Err(); err != nil { // as time does
			t.Fatal(err)
		}
		if _, err := s.Refund(t.Context(), "paid", "refund-paid", "pay-paid"); err != nil {
			t.Error(err)
		}
		if _, err := s.Refund(t.Context(), "late", "refund-late", "pay-late"); err != nil {
			t.Error(err)
		}
		if _, err := s.Refund(t.Context(), "nobody", "f", "p"); !errors.Is(err, stock.ErrUnknownOrder) {
			t.Errorf("%v, want ErrUnknownOrder", err)
		}
		settle(t, s, p, 3, 2)
		wantProduct(t, s, "tea", 9, 8, 1, 0)
		p.wantLines(t, productRows, "tea 9 1 0")
		p.wantSums(t)
		if reported, err := reconcile(t, s, p, 3); err != nil {
			t.Errorf("%v: %s", err, reported)
		}
	})
}

// An order has a bounded number of payments.
func TestManyPayments(t *testing.T) {
	_, client, _ := onFrozen(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 1)
	reserve(t, s, order("o"))
	for i := range stock.MaxPayments {
		if _, err := s.Pay(t.Context(), "o", payment(fmt.Sprint("p-", i), 625, "EUR")); i > 0 && !errors.Is(err, stock.ErrClosed) || i == 0 && err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := s.Pay(t.Context(), "o", payment("more", 625, "EUR")); !errors.Is(err, stock.ErrPayments) {
		t.Errorf("%v, want ErrPayments", err)
	}
	if r := wantState(t, s, "o", stock.Paid); len(r.ToRefund()) != stock.MaxPayments-1 {
		t.Errorf("%d are to be refunded", len(r.ToRefund()))
	}
}

// A payment has the time at which it was recorded. A reference is known for as long as an order is, whatever it is the reference of.
func TestReferencesAreKept(t *testing.T) {
	_, client, at := onFrozen(t)
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 1)
	reserve(t, s, order("o"))
	_, err1 := s.Pay(t.Context(), "o", payment("p", 625, "EUR"))
	_, err2 := s.Return(t.Context(), "o", "r")
	_, err3 := s.Refund(t.Context(), "o", "f", "p")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, p := range wantState(t, s, "o", stock.Refunded).Payments {
		if !p.At.Equal(at) {
			t.Errorf("%s %s is of %v, want %v", p.Kind, p.Reference, p.At, at)
		}
	}
	for _, reference := range []string{"p", "r", "f"} {
		if kept, err := client.PTTL(t.Context(), saleTag+"reference:"+reference).Result(); err != nil || kept != stock.DefaultRetention {
			t.Errorf("reference %s is known for %v, %v, want %v", reference, kept, err, stock.DefaultRetention)
		}
	}
}
