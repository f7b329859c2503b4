package stock_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// An event that was put aside, is tried again and fails again, keeps neither later events nor others
// that are tried again. It is put aside once more.
func TestWebhookTriedAgain(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	refused := func(_ http.ResponseWriter, _, order string) int {
		if order == "o-1" || order == "o-2" {
			return 400
		}
		return 0
	}
	h.answers(refused)
	deliver(t, s, to)
	h.took(t)
	h.answers(answersOne("o-1", 500))
	if n, err := s.TryAside(t.Context(), "webhook", 0); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := pay(t.Context(), s, "o-3"); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "event 1 is put aside again: HTTP status 500") {
		t.Errorf("Deliver = %v", err)
	}
	deliver(t, s, to)
	h.want(t, "paid o-3", "reserved o-2")
	aside, err := s.Aside(t.Context(), 10)
	if err != nil || len(aside) != 1 || aside[0].Order != "o-1" || aside[0].Reason != "HTTP status 500" || aside[0].Again {
		t.Errorf("put aside: %+v, %v", aside, err)
	}
	// While the webhook says when it takes events again, the wish stays.
	h.answers(func(w http.ResponseWriter, _, _ string) int {
		w.Header().Set("Retry-After", "60")
		return 503
	})
	if _, err := s.TryAside(t.Context(), "webhook", 1); err != nil {
		t.Fatal(err)
	}
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "event 1, asked again in 1m0s") {
		t.Errorf("Deliver = %v", err)
	}
	h.answers(nil)
	p.do(t, "UPDATE stock_cursor SET next_at = 0")
	deliver(t, s, to)
	h.want(t, "reserved o-1")
	p.wantLines(t, "SELECT tries, trouble FROM stock_cursor", "0 ")
}

// Failures count against one event only while later ones get through: an outage before does
// not.
func TestWebhookAfterOutage(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	run := func() {
		t.Helper()
		p.do(t, "UPDATE stock_cursor SET next_at = 0")
		deliverInVain(t, s, to)
	}
	h.answers(func(http.ResponseWriter, string, string) int { return 503 })
	for range 6 {
		run()
	}
	h.answers(answersOne("o-1", 500))
	run()
	p.wantLines(t, "SELECT seq, tries, passed FROM stock_cursor", "0 7 1")
	p.wantLines(t, "SELECT COUNT(*) FROM stock_event_aside", "0")
}

// One event that is forbidden, as by a firewall that dislikes its text, does not hold back the
// others for ever; as long as all are forbidden none is put aside.
func TestWebhookForbidsOne(t *testing.T) {
	t.Parallel()
	s, p, h, _ := hookSale(t)
	to := webhook(t, s, h.URL, func(o *stock.WebhookOptions) { o.Concurrency = 1 })
	run := func() []stock.AsideEvent {
		t.Helper()
		p.do(t, "UPDATE stock_cursor SET next_at = 0")
		_ = stock.Deliver(t.Context(), s, to, nextFence(), pass) // it fails until then
		aside, err := s.Aside(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return aside
	}
	h.answers(func(http.ResponseWriter, string, string) int { return 403 })
	for range 6 {
		if aside := run(); len(aside) > 0 {
			t.Fatalf("put aside: %+v", aside)
		}
	}
	h.answers(answersOne("o-1", 403))
	for i := range 5 {
		if aside := run(); len(aside) != i/4 || i == 4 && aside[0].Reason != "5 times, while others got through: HTTP status 403" {
			t.Errorf("put aside after %d runs: %+v", i+1, aside)
		}
	}
	p.wantLines(t, "SELECT seq FROM stock_cursor", "6")
}

// An answer that is about all events decides how long the webhook is left alone, also when another one failed
// before it.
func TestWebhookBusyBesideFailure(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	h.answers(func(w http.ResponseWriter, _, order string) int {
		if order == "o-1" {
			return 500
		}
		w.Header().Set("Retry-After", "99999999999999999999") // a day at most
		return 429
	})
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "asked again in 24h0m0s: HTTP status 429") {
		t.Errorf("Deliver = %v", err)
	}
	p.wantLines(t, "SELECT tries, passed FROM stock_cursor", "1 0")
}

// A state that is refused as by a wrong URL, while others get through, is no failure of the
// next one of its order: that is posted in the next pass. So is one that comes behind all states
// of an order that fails.
func TestWebhookStatesOfOneOrder(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	h.answers(func(_ http.ResponseWriter, kind, order string) int {
		if kind == "reserved" && order == "o-1" {
			return 404
		}
		return 0
	})
	if _, err := pay(t.Context(), s, "o-1"); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	deliver(t, s, to)
	h.want(t, append([]string{"paid o-1"}, sixReserved[1:]...)...)

	reserve(t, s, order("a"))
	_, err1 := pay(t.Context(), s, "a")
	_, err2 := s.Return(t.Context(), "a", "parcel-a")
	_, err3 := s.Refund(t.Context(), "a", "back-a", "pay-a")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	reserve(t, s, order("b"))
	settleAll(t, s, p)
	h.answers(answersOne("a", 500))
	for range 2 {
		p.do(t, "UPDATE stock_cursor SET next_at = 0")
		_ = stock.Deliver(t.Context(), s, to, nextFence(), pass) // it fails
	}
	h.want(t, "reserved b", "reserved b")
	p.wantLines(t, "SELECT passed FROM stock_cursor", "2")
}

// A certificate that is not trusted is named.
func TestWebhookCertificate(t *testing.T) {
	s := newSale(t, connect(t, "127.0.0.1:1"), stock.Options{})
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	d := webhook(t, s, server.URL+"/?key=s3cr3t", nil).Deliver(t.Context(), []stock.Event{{Seq: 1, Order: "x", Payload: []byte("{}")}})
	if d.Err == nil || strings.Contains(d.Err.Error(), "s3cr3t") || !strings.Contains(d.Err.Error(), "certificate") {
		t.Errorf("Deliver = %v", d.Err)
	}
}

// The signature is that of any other implementation of HMAC-SHA256:
// printf '1795207852.{"seq":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
func TestSign(t *testing.T) {
	const want = "t=1795207852,v1=3ce796a9f99d9374dfd2629634a49bc66d1f32409f96f315400313534fbe6d52,v1=d44578d4f045ddad45addc544adfe30b3e2fdf1df6371ad0960354e6bfc4a85a"
	if got := stock.Sign(time.Unix(1795207852, 0), []byte(`{"seq":1}`), webhookSecret, "fedcba9876543210"); got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}
