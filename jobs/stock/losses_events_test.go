package stock_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// An audience is a webhook that gets the events of a market, and fails each tenth time.
type audience struct {
	t     *testing.T
	book  place
	hook  *hook
	where string // which round this is
}

// A hook accepts nine of ten events.
type hook struct {
	*httptest.Server
	mu    sync.Mutex
	taken []string // kind and order
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var e struct{ Kind, Order string }
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil || rand.IntN(10) == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = append(h.taken, e.Kind+" "+e.Order)
}

// newAudience starts the webhook, whose URL is given to members.
func newAudience(t *testing.T, c *setup) audience {
	h := &hook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	c.Hook = h.URL
	return audience{t: t, book: newPlace(t, sqlserver.Connect(t, c.Driver, c.DSN), c.Dialect), hook: h}
}

// there waits until events are written: orders that are settled before have none.
func (l *audience) there() {
	l.t.Helper()
	await(l.t, "events are written", func() bool {
		var n int
		return l.book.db.QueryRowContext(l.t.Context(), "SELECT COUNT(*) FROM stock_cursor").Scan(&n) == nil && n == 1
	})
}

// delivered waits until no order is open, and the webhook has each event.
func (l *audience) delivered(client redis.UniversalClient) {
	l.t.Helper()
	ctx, state := l.t.Context(), ""
	for give := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		var open, behind, seq, waiting int64
		_, err := l.book.db.ExecContext(ctx, "UPDATE stock_cursor SET next_at = 0 WHERE next_at > 0") // what was down is not
		err1 := l.book.db.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM orders WHERE status = 'reserved'),"+
			" (SELECT COUNT(*) FROM stock_cursor c WHERE c.seq < b.seq), b.seq FROM stock_book b").Scan(&open, &behind, &seq)
		for _, list := range []string{"fresh", "unsettled", "due"} {
			n, err := client.ZCard(ctx, saleTag+list).Result()
			waiting, err1 = waiting+n, errors.Join(err1, err)
		}
		if err = errors.Join(err, err1); err == nil && open+behind+waiting == 0 {
			return
		}
		state = fmt.Sprintf("%d orders are open, %d not settled; %d cursors are before event %d; %v", open, waiting, behind, seq, err)
		if time.Now().After(give) {
			l.t.Errorf("%s: not all is delivered: %s", l.where, state)
			return
		}
	}
}

// ways are the states that each order of the book has come into, by the order and its payments.
func (l *audience) ways() map[string]string {
	l.t.Helper()
	ways, last, paid := map[string]string{}, map[string]string{}, map[string]string{}
	for _, line := range l.book.lines(l.t, "SELECT id, status FROM orders") {
		id, state, _ := strings.Cut(line, " ")
		ways[id], last[id] = " reserved", state
	}
	for _, line := range l.book.lines(l.t, "SELECT order_id, kind, reference, refunds FROM payment ORDER BY order_id, at, CASE kind WHEN 'paid' THEN 0 WHEN 'surplus' THEN 1 WHEN 'return' THEN 2 ELSE 3 END") {
		part := strings.Split(line+" ", " ")
		switch id := part[0]; {
		case part[1] == "paid":
			paid[id] = part[2]
			ways[id] += " paid"
		case part[1] == "return":
			ways[id] += " returned"
		case part[1] == "refund" && part[3] == paid[id]:
			ways[id] += " refunded"
		}
	}
	for id, state := range last {
		if state == string(stock.Cancelled) || state == string(stock.Expired) {
			ways[id] += " " + state
		}
	}
	return ways
}

// judgeEvents compares the events, and the posts that the webhook has got, with the orders of the
// book.
func (l *audience) judgeEvents() {
	t := l.t
	t.Helper()
	want, got := l.ways(), map[string]string{}
	events := l.book.lines(t, "SELECT e.seq, e.kind, e.order_id FROM stock_event e ORDER BY e.seq")
	placed := l.book.lines(t, "SELECT e.order_id FROM stock_event e WHERE EXISTS (SELECT 1 FROM orders o WHERE o.sale = e.sale AND o.id = e.order_id AND o.placed_at = e.placed_at) ORDER BY e.seq")
	if len(placed) != len(events) {
		t.Errorf("%d of %d events are of orders that the book does not have", len(events)-len(placed), len(events))
	}
	for i, line := range events {
		part := strings.Split(line, " ")
		if part[0] != fmt.Sprint(i+1) {
			t.Fatalf("event %d has the number %s", i+1, part[0])
		}
		got[part[2]] += " " + part[1]
	}
	l.sameWays("the book's events", got, want)
	l.sameWays("the webhook's events", l.posted(), want)
	l.book.wantLines(t, "SELECT skipped FROM stock_cursor", "0")
	t.Logf("%d events of %d orders", len(events), len(want))
}

func (l *audience) sameWays(what string, got, want map[string]string) {
	l.t.Helper()
	differ := 0
	for id := range want {
		if got[id] != want[id] {
			if differ++; differ <= 5 {
				l.t.Errorf("%s: order %s:%s, want%s", what, id, got[id], want[id])
			}
		}
	}
	for id := range got {
		if want[id] == "" {
			l.t.Errorf("%s: order %s is not in the book:%s", what, id, got[id])
		}
	}
}

// posted is what the webhook has got of each order, each first receipt in order.
func (l *audience) posted() map[string]string {
	l.t.Helper()
	l.hook.mu.Lock()
	taken := l.hook.taken
	l.hook.taken = nil
	l.hook.mu.Unlock()
	seen, ways := map[string]bool{}, map[string]string{}
	for _, line := range taken {
		kind, id, _ := strings.Cut(line, " ")
		if !seen[line] {
			ways[id] += " " + kind
		}
		seen[line] = true
	}
	return ways
}
