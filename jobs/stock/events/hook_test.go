package events_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/events"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

const (
	secret    = "0123456789abcdef"
	oldSecret = "fedcba9876543210"
)

// A hook is a server that receives events: it answers as the test wants, and records the events
// that it has accepted.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	taken  []string // kind and order
	bodies []string
	faults []string
	answer func(w http.ResponseWriter, kind, order string) int // 0: it accepts the event
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
	case events.Sign(time.Unix(at, 0), body, secret, oldSecret) != signature:
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

// answersAll answers all events with a code, and a Retry-After unless it is empty.
func (h *hook) answersAll(code int, after string) {
	h.answers(func(w http.ResponseWriter, _, _ string) int {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		return code
	})
}

// answersOne answers the events of one order with a code and a Retry-After, and accepts all others.
func (h *hook) answersOne(id string, code int, after string) {
	h.answers(func(w http.ResponseWriter, _, order string) int {
		if order != id {
			return 0
		}
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		return code
	})
}

// took returns the events that were accepted since its last call, sorted.
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

// A shop is a sale whose events are posted to a hook. Each order is in the book when its call
// returns.
type shop struct {
	*stock.Sale
	book *stock.Database
	hook *hook
	job  scheduler.Job
	db   *sql.DB
}

func newShop(t testing.TB, change func(*events.Options)) *shop {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{redisserver.Start(t).Addr()}}
	redislock.Harden(o)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = time.Minute, time.Minute, time.Minute, time.Minute // a busy machine is no fault of the server
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() })
	db := sqlserver.Connect(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	book, err := stock.NewDatabase(db, stock.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	sale, err := stock.NewSale(client, stock.Options{Book: book, Settled: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sale.Close)
	s := &shop{Sale: sale, book: book, hook: newHook(t), db: db}
	s.job = s.newJob(t, s.hook.URL, change)
	s.must(t, sale.Probe(t.Context()))
	_, err = sale.SetOffer(t.Context(), "tea", stock.Offer{Price: 625, Currency: "EUR"})
	s.must(t, err)
	_, err = sale.Put(t.Context(), "tea", 100)
	s.must(t, err)
	s.deliver(t) // events are written from here on
	return s
}

func (s *shop) newJob(t testing.TB, url string, change func(*events.Options)) scheduler.Job {
	t.Helper()
	o := events.Options{URL: url, Secrets: func() []string { return []string{secret, oldSecret} }}
	if change != nil {
		change(&o)
	}
	job, err := events.Job(s.Sale, o)
	s.must(t, err)
	return job
}

// sixOrders returns a shop with the orders o-1 to o-6, whose events are to be posted.
func sixOrders(t testing.TB, change func(*events.Options)) *shop {
	t.Helper()
	s := newShop(t, change)
	for i := range 6 {
		s.reserve(t, fmt.Sprint("o-", i+1))
	}
	return s
}

var sixReserved = []string{"reserved o-1", "reserved o-2", "reserved o-3", "reserved o-4", "reserved o-5", "reserved o-6"}

func (s *shop) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) reserve(t testing.TB, id string) {
	t.Helper()
	_, _, err := s.Reserve(t.Context(), stock.Order{ID: id, Receiver: "Ada Lovelace, London", Items: []stock.Item{{SKU: "tea", Quantity: 1}}})
	s.must(t, err)
}

func (s *shop) pay(t testing.TB, id string) {
	t.Helper()
	_, err := s.Pay(t.Context(), id, stock.Payment{Reference: "pay-" + id, Amount: 625, Currency: "EUR"})
	s.must(t, err)
}

var fences atomic.Int64

// run is one run of the job.
func (s *shop) run(ctx context.Context) error {
	return s.job.Func(ctx, &scheduler.Run{Fence: fences.Add(1)})
}

func (s *shop) deliver(t testing.TB) {
	t.Helper()
	s.must(t, s.run(t.Context()))
}

// fails is a run that ends with an error, which it returns.
func (s *shop) fails(t testing.TB) string {
	t.Helper()
	err := s.run(t.Context())
	if err == nil {
		t.Error("no error")
		return ""
	}
	return err.Error()
}

// now makes the next delivery due.
func (s *shop) now(t testing.TB) {
	t.Helper()
	_, err := s.db.ExecContext(t.Context(), "UPDATE stock_cursor SET next_at = 0")
	s.must(t, err)
}

func (s *shop) cursor(t testing.TB) stock.EventCursor {
	t.Helper()
	c, err := s.EventCursor(t.Context())
	s.must(t, err)
	return c
}
