package stock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

const phoneOf = "+4915112345678"

// memberEvents are the jobs that deliver the events of a member's sale: to a stream and an outbox in the
// store of the sale, which loses things, and to a webhook.
func memberEvents(c setup, sale *stock.Sale, client redis.UniversalClient) (jobs []scheduler.Job, err error) {
	outbox, err := sms.NewOutbox(client, sms.Options{})
	stream, err1 := stock.NewStream(sale, client, stock.StreamOptions{})
	hook, err2 := stock.NewWebhook(sale, stock.WebhookOptions{URL: c.Hook, Secrets: func() []string { return []string{webhookSecret, "fedcba9876543210"} }})
	text, err3 := stock.NewTexts(sale, smsOutbox{outbox}, stock.TextOptions{Templates: map[stock.State]string{stock.Paid: "{{.Order}} is confirmed"}})
	if err := errors.Join(err, err1, err2, err3); err != nil {
		return nil, err
	}
	for _, target := range []stock.Target{stream, hook, text} {
		job, err := stock.DeliverEvents(sale, target)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// An audience is what gets the events of a market: a stream and an outbox of texts in its store, and a webhook that
// fails each tenth time.
type audience struct {
	t      *testing.T
	book   place
	hook   *hook
	stream string // its key
	where  string // which round this is
}

// newAudience starts what gets the events, and tells members of it.
func newAudience(t *testing.T, c *setup) audience {
	hook := newHook(t)
	hook.answers(func(http.ResponseWriter, string, string) int {
		if rand.IntN(10) == 0 {
			return http.StatusInternalServerError
		}
		return 0
	})
	c.Hook = hook.URL
	return audience{t: t, book: newPlace(t, sqlserver.Connect(t, c.Driver, c.DSN), c.Dialect), hook: hook, stream: saleTag + "events"}
}

// there waits until all targets are there: orders that are settled before have no events.
func (l *audience) there() {
	l.t.Helper()
	await(l.t, "all targets are there", func() bool {
		var n int
		return l.book.db.QueryRowContext(l.t.Context(), "SELECT COUNT(*) FROM stock_cursor").Scan(&n) == nil && n == 3
	})
}

// delivered waits until no order is open, and each target has each event.
func (l *audience) delivered(client redis.UniversalClient) {
	l.t.Helper()
	ctx, state := l.t.Context(), ""
	for give := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		var open, behind, seq, waiting int64
		_, err := l.book.db.ExecContext(ctx, "UPDATE stock_cursor SET next_at = 0 WHERE next_at > 0") // what was down is not
		err1 := l.book.db.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM orders WHERE status IN ('reserved', 'paying')),"+
			" (SELECT COUNT(*) FROM stock_cursor c WHERE c.seq < b.seq), b.seq FROM stock_book b").Scan(&open, &behind, &seq)
		for _, list := range []string{"fresh", "unsettled", "due"} {
			n, err := client.ZCard(ctx, saleTag+list).Result()
			waiting, err1 = waiting+n, errors.Join(err1, err)
		}
		length, err2 := client.XLen(ctx, l.stream).Result()
		places, err3 := client.HVals(ctx, "cronce:v1:sms:{cronce}:places").Result() // one, "" before it is set
		place := strings.Join(places, " ")
		if err = errors.Join(err, err1, err2, err3); err == nil && open+behind+waiting == 0 && length == seq && strings.HasPrefix(place, fmt.Sprint(seq, " ")) {
			return
		}
		state = fmt.Sprintf("%d orders are open, %d not settled; %d targets of %d events are behind; the stream has %d; the outbox is at %q; %v", open, waiting, behind, seq, length, place, err)
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

// judgeEvents holds the events, and what the targets have got of them, against the orders of the
// book.
func (l *audience) judgeEvents(client redis.UniversalClient) {
	t := l.t
	t.Helper()
	want, got := l.ways(), map[string]string{}
	events := l.book.lines(t, "SELECT e.seq, e.kind, e.order_id FROM stock_event e ORDER BY e.seq")
	var entries []string
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
		entries = append(entries, part[0]+"-0 "+part[1]+" "+part[2])
	}
	l.sameWays("the book's events", got, want)
	if stream := streamed(t, client, l.stream); !slices.Equal(stream, entries) {
		t.Errorf("the stream has %d entries, which are not the %d events in their order", len(stream), len(entries))
	}
	l.sameWays("the webhook's events", l.posted(), want)
	l.judgeTexts(client, want)
	if aside := l.book.lines(t, "SELECT target, reason FROM stock_event_aside"); len(aside) > 0 {
		t.Errorf("put aside: %q", aside)
	}
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
	taken := slices.Clone(l.hook.taken)
	l.hook.mu.Unlock()
	l.hook.took(l.t)
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

// judgeTexts checks that there is one text for each order that was paid.
func (l *audience) judgeTexts(client redis.UniversalClient, ways map[string]string) {
	l.t.Helper()
	outbox, err := sms.NewOutbox(client, sms.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	var got, want []string
	all, err := outbox.List(l.t.Context(), "", 1_000_000)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range all {
		got = append(got, all[i].Message.Text)
	}
	for id, way := range ways {
		if strings.Contains(way, " paid") {
			want = append(want, id+" is confirmed")
		}
	}
	wantSame(l.t, "texts", got, want)
}
