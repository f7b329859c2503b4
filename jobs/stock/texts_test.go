package stock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/internal/redisserver"
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

func (o smsOutbox) ReadStates(ctx context.Context, list string, ids []string) (place string, states []stock.TextState, err error) {
	place, found, err := o.Outbox.ReadStates(ctx, list, ids...)
	for _, state := range found {
		is := stock.TextWaits
		switch state {
		case "":
			is = stock.TextUnknown
		case sms.Sent, sms.Failed, sms.Expired:
			is = stock.TextEnded
		}
		states = append(states, is)
	}
	return place, states, err
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
	all, err := o.List(t.Context(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
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
		if _, err := s.RestoreNow(t.Context()); err != nil {
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

// keptTexts is a sale with texts for paid orders, in an outbox with a Redis of its own.
func keptTexts(t *testing.T, client redis.UniversalClient, p place) (s *stock.Sale, to *stock.Texts, o *sms.Outbox, store redis.UniversalClient) {
	t.Helper()
	s = keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 1000)
	store = connect(t, redisserver.Start(t).Addr())
	to, o = newTexts(t, s, store, map[stock.State]string{stock.Paid: "{{.Order}}"})
	deliver(t, s, to)
	return s, to, o, store
}

// payWithPhone pays an order of a buyer that has a phone, and settles it.
func payWithPhone(t testing.TB, s *stock.Sale, p place, ids ...string) {
	t.Helper()
	for _, id := range ids {
		o := order(id)
		o.Phone = phoneOf
		reserve(t, s, o)
		if _, err := pay(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	settleAll(t, s, p)
}

// sendOne takes the next message that is due and marks it as sent; its text.
func sendOne(t testing.TB, o *sms.Outbox, fence int64) string {
	t.Helper()
	h := sms.Holder{Run: fmt.Sprint("run-", fence), Fence: fence}
	p, err := o.Take(t.Context(), h, 1)
	if err != nil || len(p) != 1 {
		t.Fatal(p, err)
	}
	if err := o.Mark(t.Context(), h, p[0].Sent(0)); err != nil {
		t.Fatal(err)
	}
	return p[0].Message.Text
}

// The store of the outbox is emptied. Texts that were not sent are put into it again, under the same
// ids, and logged; those that were sent, or deleted by an operator, are not.
func TestLostTextsArePutAgain(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s, to, outbox, store := keptTexts(t, client, p)
		payWithPhone(t, s, p, "o-1", "o-2", "o-3", "o-4")
		deliver(t, s, to)
		sendOne(t, outbox, 1)
		if _, err := outbox.Forget(t.Context(), phoneOf); err != nil { // all are the same buyer's
			t.Fatal(err)
		}
		deliver(t, s, to)
		if got := messages(t, outbox); len(got) > 0 {
			t.Errorf("the outbox has %q, which were deleted there", got)
		}
		payWithPhone(t, s, p, "o-5", "o-6")
		deliver(t, s, to)
		waits := "o-6"
		if sendOne(t, outbox, 2) == waits {
			waits = "o-5"
		}
		deliver(t, s, to)
		before := records(t, outbox)
		for range 2 {
			store.FlushAll(t.Context())
			core, logs := observer.New(zap.WarnLevel)
			if err := stock.DeliverLogging(t.Context(), s, to, nextFence(), slog.New(zapslog.NewHandler(core))); err != nil {
				t.Fatal(err)
			}
			if got := messages(t, outbox); fmt.Sprint(got) != "["+phoneOf+" "+waits+"]" {
				t.Errorf("after the loss the outbox has %q, want %s, which was not sent", got, waits)
			}
			if id := records(t, outbox)[waits]; id == "" || id != before[waits] {
				t.Errorf("the text has the id %q, want %q", id, before[waits])
			}
			if lost := logs.FilterMessage("events lost by their target").All(); len(lost) != 1 || lost[0].ContextMap()["events"] != int64(1) {
				t.Errorf("logged: %v", logs.All())
			}
		}
		sendOne(t, outbox, 3)
		deliver(t, s, to)
		p.wantLines(t, "SELECT COUNT(*) FROM stock_text", "0")
	})
}

// records are the ids of the messages by their texts.
func records(t testing.TB, o *sms.Outbox) map[string]string {
	t.Helper()
	all, err := o.List(t.Context(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, r := range all {
		ids[r.Message.Text] = r.Message.ID
	}
	return ids
}

// The store of the outbox goes back to an older state: between two runs, in the middle of one, and while what was
// lost is put into it again. Each text is there in the end.
func TestTextsOutliveAnOlderStore(t *testing.T) {
	p := sqlite(t)
	s, to, outbox, store := keptTexts(t, connect(t, redisserver.Start(t).Addr()), p)
	payWithPhone(t, s, p, "o-1")
	deliver(t, s, to)
	older := map[string]string{}
	for _, key := range store.Keys(t.Context(), "*").Val() {
		older[key] = store.Dump(t.Context(), key).Val()
	}
	goBack := func() {
		store.FlushAll(t.Context())
		for key, dump := range older {
			if err := store.Restore(t.Context(), key, 0, dump).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	want := 1
	for _, at := range []string{"", "deliver", "advance", "check texts", "verify texts"} {
		for _, lose := range []func(){goBack, func() { store.FlushAll(t.Context()) }} {
			for range 2 {
				want++
				payWithPhone(t, s, p, fmt.Sprint("o-", want))
				if at == "" {
					deliver(t, s, to)
					lose()
				} else {
					if at == "check texts" || at == "verify texts" {
						lose()
					}
					_ = stock.Deliver(t.Context(), s, to, nextFence(), func(step string) error { // it may fail, and the next one heals
						if step == at {
							lose()
						}
						return nil
					})
				}
				for range 3 {
					p.do(t, "UPDATE stock_cursor SET next_at = 0")
					_ = stock.Deliver(t.Context(), s, to, nextFence(), pass)
				}
				if got := messages(t, outbox); len(got) != want {
					t.Fatalf("lost at %q: the outbox has %d texts, want %d: %q", at, len(got), want, got)
				}
			}
		}
	}
}

// An interrupted outbox calls a function before it takes its n-th text, and one before its place is moved on to an event.
type interrupted struct {
	smsOutbox
	then func(n int)
	n    int
	last func()
}

func (o *interrupted) SetPlace(ctx context.Context, list, from, to string) (bool, error) {
	if a, _, _ := strings.Cut(from, " "); !strings.HasPrefix(to, a+" ") {
		o.last()
	}
	return o.smsOutbox.SetPlace(ctx, list, from, to)
}

func (o *interrupted) Accept(ctx context.Context, id, phone, text string) error {
	o.n++
	o.then(o.n)
	return o.smsOutbox.Accept(ctx, id, phone, text)
}

// A run puts two texts into the outbox, and the store loses the first of them before it takes the second: it fails over to a
// replica that lacks that text alone, also while texts are put again, or that lacks both, after it has shown both; or it is emptied, and another run of the same node
// has put the older texts again meanwhile. All texts are there in the end.
func TestTextLostInTheMiddleOfARun(t *testing.T) {
	for _, loss := range []string{"fails over", "fails over again", "fails over at last", "emptied"} {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			p := sqlite(t)
			s, plain, outbox, store := keptTexts(t, connect(t, redisserver.Start(t).Addr()), p)
			payWithPhone(t, s, p, "o-1", "o-2")
			deliver(t, s, plain)
			lossy := &interrupted{smsOutbox: smsOutbox{outbox}}
			to, err := stock.NewTexts(s, lossy, stock.TextOptions{Templates: map[stock.State]string{stock.Paid: "{{.Order}}"}})
			if err != nil {
				t.Fatal(err)
			}
			if loss == "fails over again" {
				store.FlushAll(t.Context()) // it puts these again
			} else {
				payWithPhone(t, s, p, "o-3", "o-4")
			}
			first, second := nextFence(), nextFence()
			var failOver func()
			lossy.last = func() {
				if loss == "fails over at last" && lossy.n == 2 {
					failOver()
				}
			}
			lossy.then = func(n int) {
				switch {
				case n == 1:
					failOver = snapshot(t, store)
				case n == 2 && loss != "emptied" && loss != "fails over at last":
					failOver()
				case n == 2 && loss == "emptied":
					store.FlushAll(t.Context())
					_ = stock.Deliver(t.Context(), s, to, second, func(step string) error {
						if step == "read" { // it has put the first ones again
							return errors.New("crash")
						}
						return nil
					})
				}
			}
			_ = stock.Deliver(t.Context(), s, to, first, pass) // it fails, and the next one heals
			payWithPhone(t, s, p, "o-5")
			for range 3 {
				p.do(t, "UPDATE stock_cursor SET next_at = 0")
				deliver(t, s, to)
			}
			want := p.lines(t, "SELECT COUNT(*) FROM orders")[0]
			if got := messages(t, outbox); fmt.Sprint(len(got)) != want {
				t.Errorf("the outbox has %q, want %s texts", got, want)
			}
			p.wantLines(t, "SELECT COUNT(*) FROM stock_text", want)
		})
	}
}
