package stock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

const webhookSecret = "0123456789abcdef"

// A hook is a server of events: it answers as the test wants, and remembers what it has taken.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	taken  []string // kind and order
	bodies []string
	faults []string
	answer func(w http.ResponseWriter, kind, order string) int // 0: it takes it
}

func newHook(t testing.TB) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e struct{ ID, Kind, Order string }
	fault := ""
	signature := r.Header.Get("Cronce-Signature")
	var at int64
	_, _ = fmt.Sscanf(signature, "t=%d,", &at)
	switch {
	case json.Unmarshal(body, &e) != nil:
		fault = "no JSON: " + string(body)
	case r.Header.Get("Idempotency-Key") != e.ID || e.ID == "":
		fault = "the key " + r.Header.Get("Idempotency-Key")
	case stock.Sign(time.Unix(at, 0), body, webhookSecret, "fedcba9876543210") != signature:
		fault = "the signature " + signature
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if fault != "" {
		h.faults = append(h.faults, fault)
	}
	code := 0
	if h.answer != nil {
		code = h.answer(w, e.Kind, e.Order)
	}
	if code != 0 {
		w.WriteHeader(code)
		return
	}
	h.taken, h.bodies = append(h.taken, e.Kind+" "+e.Order), append(h.bodies, string(body))
}

func (h *hook) answers(f func(w http.ResponseWriter, kind, order string) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

// took is what was taken since it was asked last, sorted.
func (h *hook) took(t testing.TB) []string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fault := range h.faults {
		t.Error(fault)
	}
	taken := h.taken
	h.taken, h.bodies, h.faults = nil, nil, nil
	slices.Sort(taken)
	return taken
}

func (h *hook) want(t testing.TB, want ...string) {
	t.Helper()
	if got := h.took(t); !slices.Equal(got, want) {
		t.Errorf("the webhook has %q, want %q", got, want)
	}
}

func webhook(t testing.TB, s *stock.Sale, url string, change func(*stock.WebhookOptions)) *stock.Webhook {
	t.Helper()
	o := stock.WebhookOptions{URL: url, Secrets: func() []string { return []string{webhookSecret, "fedcba9876543210"} }, Timeout: 2 * time.Second}
	if change != nil {
		change(&o)
	}
	w, err := stock.NewWebhook(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A hookSale has a webhook, and orders o-1 to o-6.
func hookSale(t *testing.T) (*stock.Sale, place, *hook, *stock.Webhook) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	h := newHook(t)
	to := webhook(t, s, h.URL, nil)
	deliver(t, s, to)
	for i := range 6 {
		reserve(t, s, order(fmt.Sprint("o-", i+1)))
	}
	settleAll(t, s, p)
	return s, p, h, to
}

// answersOne answers the events of one order with a code, and takes all others.
func answersOne(id string, code int) func(http.ResponseWriter, string, string) int {
	return func(_ http.ResponseWriter, _, order string) int {
		if order == id {
			return code
		}
		return 0
	}
}

var sixReserved = []string{"reserved o-1", "reserved o-2", "reserved o-3", "reserved o-4", "reserved o-5", "reserved o-6"}

// A webhook gets each event signed, those of an order one after the other, and once more when a
// run ended before it could write down how far it was.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
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
	h.want(t, sixReserved...)
	deliver(t, s, to)
	h.want(t, sixReserved...)
	deliver(t, s, to)
	h.want(t)
	for _, id := range []string{"o-1", "o-2"} {
		if _, err := pay(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Return(t.Context(), id, "parcel-"+id); err != nil {
			t.Fatal(err)
		}
	}
	settleAll(t, s, p)
	var open sync.Map
	h.answers(func(_ http.ResponseWriter, kind, order string) int {
		if kind == "returned" {
			if _, ok := open.Load(order); !ok {
				t.Errorf("%s was returned before it was paid", order)
			}
		}
		open.Store(order, true)
		return 0
	})
	deliver(t, s, to)
	h.want(t, "paid o-1", "paid o-2", "returned o-1", "returned o-2")
}

// The answer of a webhook decides: an event that is refused for what it is, is put aside, and the
// others go on; what is about the webhook leaves it alone, and gives no event up.
func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	others := slices.DeleteFunc(slices.Clone(sixReserved), func(line string) bool { return line == "reserved o-2" })
	toOne := func(code int) func(http.ResponseWriter, string, string) int {
		return func(_ http.ResponseWriter, _, order string) int {
			if order == "o-2" {
				return code
			}
			return 0
		}
	}
	toAll := func(code int, after string) func(http.ResponseWriter, string, string) int {
		return func(w http.ResponseWriter, _, _ string) int {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			return code
		}
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, string, string) int
		taken  []string
		aside  string // the reason
		err    string
		wait   time.Duration // for which it is to be left alone at least
	}{
		{name: "one refused", answer: toOne(422), taken: others, aside: "HTTP status 422"},
		{name: "one not found", answer: toOne(404), taken: others, aside: "HTTP status 404"},
		{name: "all not found", answer: toAll(404, ""), err: "HTTP status 404", wait: 500 * time.Millisecond},
		{name: "one fails", answer: toOne(500), taken: others, err: "event 2, asked again in", wait: 500 * time.Millisecond},
		{name: "unauthorized", answer: toAll(401, ""), err: "HTTP status 401", wait: 500 * time.Millisecond},
		{name: "forbidden", answer: toAll(403, ""), err: "HTTP status 403", wait: 500 * time.Millisecond},
		{name: "too many", answer: toAll(429, "60"), err: "HTTP status 429", wait: 55 * time.Second},
		{name: "down", answer: toAll(503, "120"), err: "HTTP status 503", wait: 115 * time.Second},
		{name: "redirected", answer: func(w http.ResponseWriter, _, _ string) int {
			w.Header().Set("Location", "/elsewhere")
			return 307
		}, err: "HTTP status 307", wait: 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p, h, to := hookSale(t)
			h.answers(c.answer)
			before := p.lines(t, "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)")[0]
			err := stock.Deliver(t.Context(), s, to, nextFence(), pass)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("Deliver = %v, want %q", err, c.err)
			}
			h.want(t, c.taken...)
			aside, err := s.Aside(t.Context(), 10)
			if err != nil || (c.aside == "") != (len(aside) == 0) || c.aside != "" && (aside[0].Reason != c.aside || aside[0].Order != "o-2") {
				t.Errorf("put aside: %+v, %v, want %q", aside, err, c.aside)
			}
			if c.wait == 0 {
				return
			}
			p.wantLines(t, fmt.Sprintf("SELECT next_at - %s > %d, tries FROM stock_cursor", before, c.wait.Milliseconds()), "1 1")
			if _, err := p.db.ExecContext(t.Context(), "UPDATE stock_cursor SET next_at = next_at + 3600000"); err != nil { // however slow the machine is
				t.Fatal(err)
			}
			deliver(t, s, to) // it is left alone
			h.want(t)
		})
	}
}

// An event that fails while others get through is put aside after some tries, and delivered when
// an operator says so; another is dropped, which is recorded.
func TestWebhookPutsAside(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	h.answers(func(_ http.ResponseWriter, _, order string) int {
		switch order {
		case "o-1":
			return 500
		case "o-2":
			return 400
		}
		return 0
	})
	await(t, "the event is put aside", func() bool {
		p.do(t, "UPDATE stock_cursor SET next_at = 0")
		_ = stock.Deliver(t.Context(), s, to, nextFence(), pass) // it fails until then
		aside, err := s.Aside(t.Context(), 10)
		return err == nil && len(aside) == 2
	})
	if got := slices.Compact(h.took(t)); !slices.Equal(got, sixReserved[2:]) {
		t.Errorf("the webhook has %q", got)
	}
	if _, err := pay(t.Context(), s, "o-1"); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	h.answers(nil)
	deliver(t, s, to)
	h.want(t, "paid o-1")

	if _, err := s.TryAside(t.Context(), "webhook", 99); !errors.Is(err, stock.ErrNotAside) {
		t.Errorf("an event that is not aside: %v", err)
	}
	if n, err := s.TryAside(t.Context(), "webhook", 1); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	deliver(t, s, to)
	h.want(t, "reserved o-1")
	if err := s.DropAside(t.Context(), "webhook", 2, stock.Decision{By: "Ada"}); err == nil {
		t.Error("dropped without a reason")
	}
	for i, want := range []error{nil, stock.ErrNotAside} {
		if err := s.DropAside(t.Context(), "webhook", 2, stock.Decision{By: "Ada", Reason: "a test"}); !errors.Is(err, want) {
			t.Errorf("drop %d: %v, want %v", i, err, want)
		}
	}
	p.wantLines(t, "SELECT action, order_id, made_by, reason, store_has FROM stock_decision", "drop event o-2 Ada a test webhook")
	p.wantLines(t, "SELECT COUNT(*) FROM stock_event_aside", "0")
}

// A webhook that hangs, or is not there, delays no other target, and its error names no URL.
func TestWebhookThatHangs(t *testing.T) {
	t.Parallel()
	s, p, h, _ := hookSale(t)
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(release)
	to := webhook(t, s, hanging.URL+"/?key=s3cr3t", func(o *stock.WebhookOptions) { o.Name, o.Timeout = "hanging", 200*time.Millisecond })
	deliver(t, s, to)
	if _, err := pay(t.Context(), s, "o-1"); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	err := stock.Deliver(t.Context(), s, to, nextFence(), pass)
	if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("hanging: %v", err)
	}
	gone := webhook(t, s, "http://127.0.0.1:1/?key=s3cr3t", func(o *stock.WebhookOptions) { o.Name = "gone" })
	if d := gone.Deliver(context.Background(), []stock.Event{{Seq: 1, Order: "x", Payload: []byte("{}")}}); d.Err == nil || strings.Contains(d.Err.Error(), "s3cr3t") || !strings.Contains(d.Err.Error(), "refused") {
		t.Errorf("gone: %v", d.Err)
	}
	h.answers(nil)
	deliver(t, s, webhook(t, s, h.URL, nil))
	h.want(t, append([]string{"paid o-1"}, sixReserved...)...)
}

// The receiver of an order is sent only with the option for it.
func TestWebhookReceiver(t *testing.T) {
	t.Parallel()
	s, _, h, to := hookSale(t)
	deliver(t, s, to)
	h.mu.Lock()
	if strings.Contains(strings.Join(h.bodies, ""), "Ada") {
		t.Error("the receiver is named")
	}
	h.mu.Unlock()
	h.took(t)
	if d := webhook(t, s, h.URL, func(o *stock.WebhookOptions) { o.Receiver = true }).Deliver(t.Context(), firstEvents(t, s)); d.Err != nil {
		t.Fatal(d.Err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, body := range h.bodies {
		if !strings.Contains(body, `"receiver":"Ada Lovelace, London"`) {
			t.Errorf("without its receiver: %s", body)
		}
	}
}

func firstEvents(t testing.TB, s *stock.Sale) []stock.Event {
	t.Helper()
	events, err := s.Events(t.Context(), 10)
	if err != nil || len(events) != 6 {
		t.Fatal(len(events), err)
	}
	return events
}

func TestWebhookOptions(t *testing.T) {
	s := newSale(t, connect(t, "127.0.0.1:1"), stock.Options{})
	some := func(secrets ...string) func() []string { return func() []string { return secrets } }
	for _, c := range []struct {
		o    stock.WebhookOptions
		want string // of the error; empty: none
	}{
		{stock.WebhookOptions{URL: "https://shop.example/hook", Secrets: some(webhookSecret)}, ""},
		{stock.WebhookOptions{URL: "http://[::1]:80/", Secrets: some(webhookSecret)}, ""},
		{stock.WebhookOptions{URL: "http://10.0.0.1/", Plain: true, Secrets: some(webhookSecret)}, ""},
		{stock.WebhookOptions{URL: "http://10.0.0.1/s3cr3t", Secrets: some(webhookSecret)}, "url is http to another machine"},
		{stock.WebhookOptions{URL: "https://u:s3cr3t@h/", Secrets: some(webhookSecret)}, "url is one with a user"},
		{stock.WebhookOptions{URL: "https://h/s3cr3t@x", Secrets: some(webhookSecret)}, "an @ behind its host"},
		{stock.WebhookOptions{URL: "ftp://h/s3cr3t", Secrets: some(webhookSecret)}, "url is of another scheme"},
		{stock.WebhookOptions{URL: "https://h/"}, "secrets is missing"},
		{stock.WebhookOptions{URL: "https://h/", Secrets: some()}, "secrets is 0 of them"},
		{stock.WebhookOptions{URL: "https://h/", Secrets: some("s3cr3t")}, "secrets is one of 6 bytes"},
		{stock.WebhookOptions{URL: "https://h/", Secrets: some(webhookSecret), Timeout: time.Hour}, "timeout is 1h0m0s"},
		{stock.WebhookOptions{URL: "https://h/", Secrets: some(webhookSecret), Concurrency: 100}, "concurrency is 100"},
	} {
		_, err := stock.NewWebhook(s, c.o)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t")) {
			t.Errorf("%s: %v, want %q", c.o.URL, err, c.want)
		}
	}
}
