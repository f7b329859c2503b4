package stock_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// failLong lets the next event of each target have failed for long, and be asked again now.
func failLong(t *testing.T, p place) {
	t.Helper()
	p.do(t, "UPDATE stock_cursor SET next_at = 0, failing_at = failing_at - 300000 WHERE tries > 0")
}

func aside(t *testing.T, s *stock.Sale) (lines []string) {
	t.Helper()
	all, err := s.Aside(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		lines = append(lines, fmt.Sprint(e.Kind, " ", e.Order, ": ", e.Reason))
	}
	return lines
}

// An event that alone is answered as in an outage keeps the others at first. When that has lasted, it is
// put aside as soon as the webhook has taken another one beside it five times, and the others go on.
func TestWebhookBusyForOne(t *testing.T) {
	t.Parallel()
	for _, code := range []int{429, 503} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			s, p, h, to := hookSale(t)
			h.answers(func(w http.ResponseWriter, _, order string) int {
				if order != "o-1" {
					return 0
				}
				w.Header().Set("Retry-After", "3600")
				return code
			})
			if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "event 1, asked again in 1h0m0s") {
				t.Errorf("at first: %v", err)
			}
			for i := range 5 {
				if got := aside(t, s); len(got) > 0 {
					t.Fatalf("put aside after %d tries: %q", i, got)
				}
				failLong(t, p)
				err := stock.Deliver(t.Context(), s, to, nextFence(), pass)
				if i < 4 && (err == nil || !strings.Contains(err.Error(), "event 1, asked again in 1m0s")) {
					t.Errorf("try %d: %v", i, err) // it is not out: an hour would be too long
				}
			}
			if got, want := aside(t, s), []string{fmt.Sprintf("reserved o-1: 5 times, while others got through: HTTP status %d", code)}; !slices.Equal(got, want) {
				t.Errorf("put aside: %q, want %q", got, want)
			}
			if got := slices.Compact(h.took(t)); !slices.Equal(got, sixReserved[1:]) {
				t.Errorf("the webhook has %q", got)
			}
			p.wantLines(t, "SELECT seq, tries, failing_at FROM stock_cursor", "6 0 0")
		})
	}
}

// An outage puts nothing aside, however long it lasts; not one that ends between two posts, and not one
// in which the webhook takes a few events by chance.
func TestWebhookOutagePutsNothingAside(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	run := func() {
		t.Helper()
		failLong(t, p)
		deliverInVain(t, s, to)
		if got := aside(t, s); len(got) > 0 {
			t.Fatalf("put aside: %q", got)
		}
	}
	for _, code := range []int{503, 429, 500, 404, 401} {
		h.answers(func(http.ResponseWriter, string, string) int { return code })
		for range 7 {
			run()
		}
	}
	p.wantLines(t, "SELECT tries, passed FROM stock_cursor", "35 0")
	// It recovers for a moment, four times: the next one of these finds the first event taken.
	h.answers(nil)
	h.answers(answersOne("o-1", 503))
	for range 4 {
		run()
	}
	h.took(t)
	posts := 0
	h.answers(func(http.ResponseWriter, string, string) int {
		if posts++; posts == 1 {
			return 503
		}
		return 0
	})
	failLong(t, p)
	deliver(t, s, to)
	if got := slices.Compact(h.took(t)); !slices.Equal(got, sixReserved) || len(aside(t, s)) > 0 {
		t.Errorf("the webhook has %q, put aside: %q", got, aside(t, s))
	}
}

// What is delivered beside an event that fails is the next one of another order: none overtakes another
// of its order, and without one the event is only tried again.
func TestWebhookBesideIsNextOfItsOrder(t *testing.T) {
	t.Parallel()
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	h := newHook(t)
	to := webhook(t, s, h.URL, nil)
	deliver(t, s, to)
	reserve(t, s, order("a"))
	_, err1 := pay(t.Context(), s, "a")
	settleAll(t, s, p)
	h.answers(answersOne("a", 503))
	run := func() {
		t.Helper()
		failLong(t, p)
		deliverInVain(t, s, to)
	}
	for range 7 {
		run()
	}
	h.want(t)
	p.wantLines(t, "SELECT passed FROM stock_cursor", "0")
	reserve(t, s, order("b"))
	_, err2 := pay(t.Context(), s, "b")
	_, err3 := s.Return(t.Context(), "b", "parcel-b")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	for range 4 {
		run()
	}
	h.want(t, "reserved b", "reserved b", "reserved b", "reserved b")
	p.wantLines(t, "SELECT passed FROM stock_cursor", "4")
}

// An event that the webhook never answers in time keeps the others no longer than one that it answers,
// also when they are posted one after the other.
func TestWebhookHangsForOne(t *testing.T) {
	t.Parallel()
	s, p, h, _ := hookSale(t)
	var hung atomic.Int64
	var mu sync.Mutex
	release := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Idempotency-Key"), "/o-1/") {
			hung.Add(1)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		mu.Lock()
		defer mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	defer front.Close()
	defer close(release)
	to := webhook(t, s, front.URL, func(o *stock.WebhookOptions) { o.Timeout, o.Concurrency = 20*time.Millisecond, 1 })
	for range 6 {
		_ = stock.Deliver(t.Context(), s, to, nextFence(), pass) // it fails until then
		failLong(t, p)
	}
	if got := aside(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "reserved o-1: 5 times") || !strings.Contains(got[0], "deadline") {
		t.Errorf("put aside: %q", got)
	}
	deliver(t, s, to)
	if got := slices.Compact(h.took(t)); !slices.Equal(got, sixReserved[1:]) {
		t.Errorf("the webhook has %q", got)
	}
}

// One that was put aside, is tried again, and alone is answered with Retry-After, is put aside
// once more when others got through.
func TestWebhookTriedAgainBesideOthers(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	code := 400
	h.answers(func(w http.ResponseWriter, _, order string) int {
		if order != "o-1" {
			return 0
		}
		w.Header().Set("Retry-After", "86400")
		return code
	})
	deliver(t, s, to)
	h.took(t)
	code = 503
	if _, err := s.TryAside(t.Context(), "webhook", 1); err != nil {
		t.Fatal(err)
	}
	// While none got through it may be an outage: the wish stays, and what comes meanwhile waits five minutes at most.
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "event 1, asked again in 5m0s") {
		t.Errorf("Deliver = %v", err)
	}
	// It says nothing of the next event, which has not failed yet.
	p.wantLines(t, "SELECT seq, tries, passed, failing_at, trouble FROM stock_cursor", "6 0 0 0 HTTP status 503")
	p.do(t, "UPDATE stock_cursor SET next_at = 0")
	if _, err := pay(t.Context(), s, "o-2"); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, p)
	if err := stock.Deliver(t.Context(), s, to, nextFence(), pass); err == nil || !strings.Contains(err.Error(), "event 1 is put aside again") {
		t.Errorf("Deliver = %v", err)
	}
	h.want(t, "paid o-2")
	deliver(t, s, to)
}

// An operator skips the event that keeps the others: it is put aside and recorded, a run that delivers it at that
// moment is ended, and the others go on. Only the next event can be skipped.
func TestSkipEvent(t *testing.T) {
	t.Parallel()
	s, p, h, to := hookSale(t)
	d := stock.Decision{By: "Ada", Reason: "its handler fails"}
	h.answers(answersOne("o-1", 503))
	err := stock.Deliver(t.Context(), s, to, nextFence(), func(step string) error {
		if step == "advance" {
			return s.SkipEvent(t.Context(), "webhook", 1, d)
		}
		return nil
	})
	if !errors.Is(err, stock.ErrFenced) {
		t.Errorf("the run: %v", err)
	}
	h.took(t)
	for _, c := range []struct {
		target string
		seq    int64
		by     stock.Decision
		want   string
	}{
		{"webhook", 1, d, "that is 2: the event is not the next one"},
		{"webhook", 3, d, "that is 2: the event is not the next one"},
		{"other", 1, d, "there is no such target"},
		{"webhook", 2, stock.Decision{By: "Ada"}, "reason is"},
	} {
		if err := s.SkipEvent(t.Context(), c.target, c.seq, c.by); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("skip %d of %s: %v, want %s", c.seq, c.target, err, c.want)
		}
	}
	if got := aside(t, s); !slices.Equal(got, []string{"reserved o-1: skipped: its handler fails"}) {
		t.Errorf("put aside: %q", got)
	}
	p.wantLines(t, "SELECT action, order_id, made_by, reason, store_has FROM stock_decision", "skip event o-1 Ada its handler fails webhook")
	deliver(t, s, to)
	h.want(t, sixReserved[1:]...)
	if err := s.SkipEvent(t.Context(), "webhook", 7, d); !errors.Is(err, stock.ErrNotNext) {
		t.Errorf("one that is not there yet: %v", err)
	}
	h.answers(nil)
	if _, err := s.TryAside(t.Context(), "webhook", 1); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, to)
	h.want(t, sixReserved[0])
}
