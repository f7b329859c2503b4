package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/jobs/stock"
)

// An smsOutbox is an outbox of package sms, as texts want it.
type smsOutbox struct{ *sms.Outbox }

func (o smsOutbox) Accept(ctx context.Context, id, phone, text string) error {
	_, err := o.Outbox.Accept(ctx, sms.Message{ID: id, To: phone, Text: text})
	if _, ok := errors.AsType[*sms.FieldError](err); ok {
		return fmt.Errorf("%w: %w", stock.ErrRefused, err)
	}
	return err
}

func newTexts(t testing.TB, s *stock.Sale, client redis.UniversalClient, templates map[stock.State]string) (*stock.Texts, *sms.Outbox) {
	t.Helper()
	o, err := sms.NewOutbox(client, sms.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := stock.NewTexts(s, smsOutbox{o}, stock.TextOptions{Templates: templates})
	if err != nil {
		t.Fatal(err)
	}
	return to, o
}

func messages(t testing.TB, o *sms.Outbox) (lines []string) {
	t.Helper()
	page, err := o.Page(t.Context(), sms.Query{Limit: sms.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		lines = append(lines, r.Message.To+" "+r.Message.Text)
	}
	return lines
}

// The buyer of a paid order gets one text, also when a run ended before it could write down how
// far it was; a buyer without a phone gets none. Nothing that is printed shows the phone.
func TestTexts(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 100)
		to, outbox := newTexts(t, s, client, map[stock.State]string{stock.Paid: "Your order {{.Order}} is confirmed: {{.Amount}} {{.Currency}}"})
		deliver(t, s, to)
		o := order("o-1")
		o.Phone = "+4915112345678"
		reserve(t, s, o)
		reserve(t, s, order("o-2"))
		for _, id := range []string{"o-1", "o-2"} {
			if _, err := pay(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
		settleAll(t, s, p)
		crash := errors.New("crash")
		err := stock.Deliver(t.Context(), s, to, nextFence(), func(step string) error {
			if step == "advance" {
				return crash
			}
			return nil
		})
		if !errors.Is(err, crash) {
			t.Fatal(err)
		}
		deliver(t, s, to)
		if got := messages(t, outbox); fmt.Sprint(got) != "[+4915112345678 Your order o-1 is confirmed: 6.25 EUR]" {
			t.Errorf("the outbox has %q", got)
		}
		r := wantState(t, s, "o-1", stock.Paid)
		if text := fmt.Sprintf("%v %+v %#v", r, r, r.Order); r.Phone != o.Phone || strings.Contains(text, "4915112345678") {
			t.Errorf("phone %q, printed %s", r.Phone, text)
		}
		p.wantLines(t, "SELECT id, phone FROM orders ORDER BY id", "o-1 +4915112345678", "o-2 ")
		p.wantLines(t, "SELECT COUNT(*) FROM stock_event WHERE payload LIKE '%4915112345678%' OR payload LIKE '%Ada%'", "0")
		// It is part of what a rebuild puts back, and of what makes the order the same.
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := wantState(t, s, "o-1", stock.Paid); r.Phone != o.Phone {
			t.Errorf("after a rebuild the phone is %q", r.Phone)
		}
		if _, fresh, err := s.Reserve(t.Context(), o); fresh || err != nil && !errors.Is(err, stock.ErrClosed) {
			t.Errorf("the same order again: %v, %v", fresh, err)
		}
		o.Phone = ""
		if _, _, err := s.Reserve(t.Context(), o); !errors.Is(err, stock.ErrConflict) {
			t.Errorf("with another phone: %v, want ErrConflict", err)
		}
	})
}

func TestPhone(t *testing.T) {
	for phone, ok := range map[string]bool{"": true, "+4915112345678": true, "+12345678": true, "4915112345678": false, "+0123456789": false,
		"+49 151 12345678": false, "+1234567": false, "+1234567890123456": false, "+49151x2345678": false} {
		o := order("a")
		o.Phone = phone
		if err := o.Validate(); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "4915112345678") {
			t.Errorf("phone %q: %v", phone, err)
		}
	}
}

// Templates are tried when they are read.
func TestTextOptions(t *testing.T) {
	s := newSale(t, connect(t, "127.0.0.1:1"), stock.Options{})
	for _, c := range []struct {
		kind stock.State
		text string
		want string // of the error; empty: none
	}{
		{stock.Paid, "{{.Order}} {{.Kind}} {{.Amount}} {{.Minor}} {{.Currency}} {{.Reference}}", ""},
		{stock.Paid, "{{.Receiver}}", "texts.paid is "},
		{stock.Paid, "{{.Order", "texts.paid is "},
		{stock.Paid, "", "the text is empty"},
		{stock.Paid, strings.Repeat("x", 1001), "texts.paid is 1001 characters long"},
		{stock.Paid, "{{range $i, $e := .Order}}", "texts.paid is "},
		{stock.Paid, strings.Repeat("{{.Order}}", 20), "1280 characters long"},
		{stock.Paying, "hello", `texts is "paying"`},
		{"sold", "hello", `texts is "sold"`},
	} {
		_, err := stock.NewTexts(s, smsOutbox{}, stock.TextOptions{Templates: map[stock.State]string{c.kind: c.text}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.kind, c.text, err, c.want)
		}
	}
}
