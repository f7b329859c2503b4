package sms_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// The effect of a receipt on a message in each state. It may come twice, before the mark of the run, and
// after doubt; a delivered message is not sent again.
func TestReceive(t *testing.T) {
	yes, no := sms.Receipt{ID: "m-00", Delivered: true}, sms.Receipt{ID: "m-00", Reason: "absent"}
	type step = func(o *sms.Outbox, p sms.Piece)
	sent := func(o *sms.Outbox, p sms.Piece) { mark(t, o, holder(1), p.Sent(0)) }
	doubt := func(o *sms.Outbox, p sms.Piece) { mark(t, o, holder(1), p.Retry(0, 1, "the gateway answered 502")) }
	sentAgain := func(o *sms.Outbox, p sms.Piece) { mark(t, o, holder(1), p.Sent(1)) }
	doubtTwice := func(o *sms.Outbox, p sms.Piece) { mark(t, o, holder(1), p.Retry(0, 2, "the gateway answered 502")) }
	gone := func(o *sms.Outbox, p sms.Piece) { mark(t, o, holder(1), p.Failed(1, "given up")) }
	never := func(o *sms.Outbox, p sms.Piece) { mark(t, o, holder(1), p.Failed(0, "no")) }
	receipt := func(r sms.Receipt) step {
		return func(o *sms.Outbox, _ sms.Piece) {
			for range 2 {
				if err := o.Receive(t.Context(), r); err != nil && !errors.Is(err, sms.ErrUnknown) {
					t.Error(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		steps  []step
		state  sms.State
		reason string
		counts sms.Counts
	}{
		{"delivered", []step{sent, receipt(yes)}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"undelivered", []step{sent, receipt(no)}, sms.Sent, "undelivered: absent", sms.Counts{Sent: 1, Once: 1, Undelivered: 1}},
		{"the recipient in its reason", []step{sent, receipt(sms.Receipt{ID: "m-00", Reason: "absent: +447700900000"})}, sms.Sent, "undelivered: absent: +4477****0000", sms.Counts{Sent: 1, Once: 1, Undelivered: 1}},
		{"undelivered, then delivered", []step{sent, receipt(no), receipt(yes)}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"delivered, then undelivered", []step{sent, receipt(yes), receipt(no)}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"before the mark", []step{receipt(yes), sent}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"undelivered before the mark", []step{receipt(no), sent}, sms.Sent, "undelivered", sms.Counts{Sent: 1, Once: 1, Undelivered: 1}},
		{"before a mark in doubt", []step{receipt(yes), doubt}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"after doubt", []step{doubt, receipt(yes)}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"undelivered before a mark in doubt", []step{receipt(no), doubt}, sms.Queued, "the gateway answered 502", sms.Counts{Queued: 1, Due: 1}},
		{"undelivered before it was given up", []step{receipt(no), gone}, sms.Failed, "given up", sms.Counts{Failed: 1}},
		{"before the mark of two requests", []step{receipt(yes), sentAgain}, sms.Sent, "delivered", sms.Counts{Sent: 1, Repeated: 1, Delivered: 1}},
		{"before a mark in doubt about two", []step{receipt(yes), doubtTwice}, sms.Sent, "delivered", sms.Counts{Sent: 1, Repeated: 1, Delivered: 1}},
		{"after doubt about two", []step{doubtTwice, receipt(yes)}, sms.Sent, "delivered", sms.Counts{Sent: 1, Repeated: 1, Delivered: 1}},
		{"undelivered after doubt", []step{doubt, receipt(no)}, sms.Queued, "the gateway answered 502", sms.Counts{Queued: 1, Due: 1}},
		{"after it was given up", []step{gone, receipt(yes)}, sms.Sent, "delivered", sms.Counts{Sent: 1, Once: 1, Delivered: 1}},
		{"for one that never was sent", []step{never, receipt(yes)}, sms.Failed, "no", sms.Counts{Failed: 1}},
		{"for another", []step{sent, receipt(sms.Receipt{ID: "other", Delivered: true})}, sms.Sent, "", sms.Counts{Sent: 1, Once: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 1)
				p := take(t, o, holder(1), 1)[0]
				for _, s := range c.steps {
					s(o, p)
				}
				if r := get(t, o, "m-00"); r.State != c.state || r.Reason != c.reason {
					t.Errorf("%s: %q, want %s: %q", r.State, r.Reason, c.state, c.reason)
				}
				wantCounts(t, o, c.counts)
				if c.state == sms.Sent {
					if again := take(t, o, holder(2), 1); len(again) > 0 {
						t.Error("it is given to a run again")
					}
				}
			})
		})
	}
}

// A run sends a message and dies; its receipt comes; the next run does not send it again.
func TestReceiptOfADeadRun(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 2)
		take(t, o, holder(1), 2)
		if err := o.Receive(t.Context(), sms.Receipt{ID: "m-00", Delivered: true}); err != nil {
			t.Fatal(err)
		}
		if p := take(t, o, holder(2), 2); len(p) != 1 || p[0].Message.ID != "m-01" {
			t.Errorf("took %v over, want m-01 alone", ids(p))
		}
		wantCounts(t, o, sms.Counts{Taken: 1, Sent: 1, Once: 1, Delivered: 1})
	})
}

// Over HTTP a receipt needs the token, which a refusal demands. An unknown message gets the same reply as a known one. No reply is kept
// on its way.
func TestReceipts(t *testing.T) {
	o := outbox(t, newMini(t))
	fill(t, o, 1)
	mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Sent(0))
	token := sms.Secret("s3cret")
	h := sms.NewReceipts(o, func() sms.Secret { return token }, nil)
	const ok, kind = "Bearer s3cret", "application/json"
	for _, c := range []struct {
		name, method, path, token, kind, body string
		want                                  int
	}{
		{"known", "POST", "/sms/receipts", ok, kind, `{"id":"m-00","status":"delivered"}`, 204},
		{"again", "POST", "/sms/receipts", ok, kind + "; charset=utf-8", `{"id":"m-00","status":"delivered"}`, 204},
		{"unknown", "POST", "/sms/receipts", ok, kind, `{"id":"nobody","status":"undelivered","reason":"x"}`, 204},
		{"no token", "POST", "/sms/receipts", "", kind, `{"id":"m-00","status":"delivered"}`, 401},
		{"a wrong token", "POST", "/sms/receipts", "Bearer s3cre", kind, `{"id":"m-00","status":"delivered"}`, 401},
		{"another scheme", "POST", "/sms/receipts", "Basic s3cret", kind, `{"id":"m-00","status":"delivered"}`, 401},
		{"the bare token", "POST", "/sms/receipts", "s3cret", kind, `{"id":"m-00","status":"delivered"}`, 401},
		{"elsewhere, no token", "GET", "/", "", kind, ``, 401},
		{"elsewhere", "POST", "/sms", ok, kind, `{}`, 404},
		{"GET", "GET", "/sms/receipts", ok, kind, ``, 405},
		{"a form", "POST", "/sms/receipts", ok, "application/x-www-form-urlencoded", `id=m-00`, 415},
		{"too long", "POST", "/sms/receipts", ok, kind, `{"id":"` + strings.Repeat("x", 5000) + `"}`, 413},
		{"not JSON", "POST", "/sms/receipts", ok, kind, `{`, 422},
		{"two", "POST", "/sms/receipts", ok, kind, `{"id":"m-00","status":"delivered"}{}`, 422},
		{"another status", "POST", "/sms/receipts", ok, kind, `{"id":"m-00","status":"read"}`, 422},
		{"another field", "POST", "/sms/receipts", ok, kind, `{"id":"m-00","status":"delivered","to":"+1"}`, 422},
		{"a bad id", "POST", "/sms/receipts", ok, kind, `{"id":"a b","status":"delivered"}`, 422},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Authorization", c.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || strings.Contains(w.Body.String(), "m-00") {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
		demand, allow := "", ""
		switch c.want {
		case http.StatusUnauthorized:
			demand = `Bearer realm="receipts"`
			if strings.HasPrefix(c.token, "Bearer ") {
				demand += `, error="invalid_token"`
			}
		case http.StatusMethodNotAllowed:
			allow = "POST"
		}
		header := w.Header()
		if header.Get("WWW-Authenticate") != demand || header.Get("Allow") != allow || header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v, want %q demanded and %q allowed", c.name, header, demand, allow)
		}
	}
	wantCounts(t, o, sms.Counts{Sent: 1, Once: 1, Delivered: 1})
	token = ""
	if w := post(h, ""); w.Code != 401 {
		t.Errorf("with an empty token: %d, want 401", w.Code)
	}
}

// The store does not reply: after five seconds the receipt is doubt, before the gateway gives up.
func TestReceiptOfASilentStore(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.client.AddHook(&hook{before: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		h := sms.NewReceipts(b.outbox, func() sms.Secret { return "t" }, nil)
		began := time.Now()
		if w := post(h, "t"); w.Code != 503 || time.Since(began) != 5*time.Second {
			t.Errorf("%d after %v, want 503 after 5s", w.Code, time.Since(began))
		}
	})
}

// post sends a receipt for m-00.
func post(h http.Handler, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/sms/receipts", strings.NewReader(`{"id":"m-00","status":"delivered"}`))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// While the store is away a receipt is doubt, and the gateway is to send it again.
func TestReceiptInDoubt(t *testing.T) {
	o := outbox(t, connect(t, &redis.Options{Addr: "127.0.0.1:1"}))
	h := sms.NewReceipts(o, func() sms.Secret { return "t" }, nil)
	if w := post(h, "t"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v, want 503 and Retry-After", w.Code, w.Header())
	}
}
