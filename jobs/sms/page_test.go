package sms_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

const prefix = "cronce:v1:sms:{cronce}:"

// pages reads all pages of a query, and checks that none is too long.
func pages(t *testing.T, o *sms.Outbox, q sms.Query) []string {
	t.Helper()
	var all []string
	for range 1000 {
		p, err := o.Page(t.Context(), q)
		if err != nil || len(p.Records) > q.Limit {
			t.Fatalf("Page(%+v) = %d records, %v", q, len(p.Records), err)
		}
		for _, r := range p.Records {
			all = append(all, r.Message.ID)
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			return all
		}
	}
	t.Fatal("the pages do not end")
	return nil
}

// Messages that are due at the same instant are on one page each, in the order of their
// bytes, whatever the length of a page and whichever were sent since the page before.
func TestPages(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		at := time.Now().Add(time.Hour)
		var want []string
		for i := range 450 {
			id := fmt.Sprintf("%c-%03d", "Zza.9_"[i%6], i)
			accept(t, o, sms.Message{ID: id, To: "+12025550101", Text: "x", At: at}, true)
			want = append(want, id)
		}
		slices.Sort(want)
		for _, limit := range []int{1, 7, 199, 200, 201, 450, 10_000} {
			if got := pages(t, o, sms.Query{State: sms.Queued, Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("in pages of %d: %d messages, the first %v", limit, len(got), got[:3])
			}
		}
		// The last of a page has left the set when the next is read.
		q := sms.Query{State: sms.Queued, Limit: 100}
		p, err := o.Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Records[50:] {
			if err := o.Cancel(t.Context(), r.Message.ID); err != nil {
				t.Fatal(err)
			}
		}
		q.Cursor = p.Next
		if got := pages(t, o, q); !slices.Equal(got, want[100:]) {
			t.Errorf("after the hundredth has left: %d messages, the first %v, want 350 from %s", len(got), got[:3], want[100])
		}
		// Ended messages come latest first.
		var ended []string
		for _, r := range p.Records[50:] {
			ended = append(ended, r.Message.ID)
		}
		got := pages(t, o, sms.Query{State: sms.Cancelled, Limit: 7})
		all, err := o.List(t.Context(), sms.Cancelled, 100)
		if err != nil || len(got) != 50 || len(all) != 50 || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(ended))) {
			t.Fatalf("%d cancelled, List has %d, %v", len(got), len(all), err)
		}
		for i := range all {
			if all[i].Message.ID != got[i] || i > 0 && all[i].Changed.After(all[i-1].Changed) {
				t.Errorf("%d: %s, List has %s; want the latest first", i, got[i], all[i].Message.ID)
			}
		}
		if got := pages(t, o, sms.Query{Limit: 33}); len(got) != 450 {
			t.Errorf("%d messages of all states, want 450", len(got))
		}
	})
}

func TestPageFilters(t *testing.T) {
	o := outbox(t, newMini(t))
	for i := range 500 {
		accept(t, o, sms.Message{ID: fmt.Sprintf("m-%03d", i), To: fmt.Sprintf("+447700900%03d", i), Text: "x"}, true)
	}
	for _, c := range []struct {
		q    sms.Query
		want int
	}{
		{sms.Query{Suffix: "7"}, 50}, {sms.Query{Suffix: "77"}, 5}, {sms.Query{Suffix: "0077"}, 1}, {sms.Query{Suffix: "9999"}, 0},
		{sms.Query{Since: time.Now().Add(-time.Hour)}, 500}, {sms.Query{Before: time.Now().Add(-time.Hour)}, 0},
		{sms.Query{Suffix: "7", State: sms.Sent}, 0}, {sms.Query{Suffix: "7", State: sms.Queued, Before: time.Now().Add(time.Hour)}, 50},
	} {
		for _, c.q.Limit = range []int{3, 1000} {
			if got := pages(t, o, c.q); len(got) != c.want || len(slices.Compact(slices.Sorted(slices.Values(got)))) != c.want {
				t.Errorf("%+v: %d messages, want %d, each once", c.q, len(got), c.want)
			}
		}
	}
	r := get(t, o, "m-000")
	for _, c := range []struct {
		since, before time.Time
		want          bool
	}{
		{r.Changed, time.Time{}, true}, {r.Changed.Add(time.Millisecond), time.Time{}, false},
		{time.Time{}, r.Changed, false}, {time.Time{}, r.Changed.Add(time.Millisecond), true},
	} {
		if got := slices.Contains(pages(t, o, sms.Query{Since: c.since, Before: c.before, Limit: 1000}), "m-000"); got != c.want {
			t.Errorf("from %v to %v: %v", c.since, c.before, got)
		}
	}
	for _, q := range []sms.Query{
		{}, {Limit: 10_001}, {Limit: 1, State: "gone"}, {Limit: 1, State: sms.Sent, Broken: true}, {Limit: 1, Suffix: "12a"},
		{Limit: 1, Cursor: "x"}, {Limit: 1, Cursor: "fence:1:a"}, {Limit: 1, Cursor: "queued:nan:a"}, {Limit: 1, Cursor: "queued:1:"},
		{Limit: 1, State: sms.Sent, Cursor: "queued:1:a"},
	} {
		if _, err := o.Page(t.Context(), q); err == nil {
			t.Errorf("%+v is accepted", q)
		} else if _, ok := errors.AsType[*sms.FieldError](err); !ok {
			t.Errorf("%+v: %v, want a FieldError", q, err)
		}
	}
}

// All that failed is queued again, also behind messages that cannot be.
func TestRetryFailedPages(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 450)
		var marks []sms.Mark
		for _, p := range take(t, o, holder(1), 450) {
			marks = append(marks, p.Failed(0, "no"))
		}
		mark(t, o, holder(1), marks...)
		for i := range 250 {
			client.ZAdd(t.Context(), prefix+"failed", redis.Z{Score: 4e12, Member: fmt.Sprintf("gone-%d", i)})
		}
		if n, err := o.RetryFailed(t.Context()); n != 450 || err != nil {
			t.Errorf("RetryFailed = %d, %v, want 450", n, err)
		}
		wantCounts(t, o, sms.Counts{Queued: 450, Due: 450, Failed: 250})
	})
}

// All messages of a person go, in every state, and no others; what a run has is busy.
func TestForget(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		const ada = "+12025550199"
		states := []string{"sent", "failed", "expired", "retry", "taken"}
		for _, id := range states {
			accept(t, o, sms.Message{ID: id, To: ada, Text: "x", Person: "ada"}, true)
		}
		pieces := map[string]sms.Piece{}
		for _, p := range take(t, o, holder(1), 5) {
			pieces[p.Message.ID] = p
		}
		mark(t, o, holder(1), pieces["sent"].Sent(2), pieces["failed"].Failed(0, "no"), pieces["expired"].Expired(0), pieces["retry"].Retry(0, 0, "busy"))
		if err := o.Receive(t.Context(), sms.Receipt{ID: "sent", Delivered: true}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"cancelled", "queued"} {
			accept(t, o, sms.Message{ID: id, To: ada, Text: "x"}, true)
		}
		if err := o.Cancel(t.Context(), "cancelled"); err != nil {
			t.Fatal(err)
		}
		client.HSet(t.Context(), prefix+"body", "broken", `{"to":"`+ada)
		client.ZAdd(t.Context(), prefix+"broken", redis.Z{Score: 1, Member: "broken"})
		accept(t, o, sms.Message{ID: "about", To: "+12025550100", Text: "Call " + ada}, true)
		accept(t, o, sms.Message{ID: "longer", To: ada + "1", Text: "x"}, true)
		accept(t, o, sms.Message{ID: "moved", To: "+12025550111", Text: "x", Person: "ada"}, true)

		if f, err := o.Forget(t.Context(), ada); err != nil || f != (sms.Forgotten{Deleted: 7, Busy: 1}) {
			t.Errorf("Forget = %+v, %v, want 7 deleted and 1 busy", f, err)
		}
		if c, err := o.Counts(t.Context()); err != nil || c != (sms.Counts{Queued: 3, Due: 3, Taken: 1}) {
			t.Errorf("left are %+v, %v", c, err)
		}
		mark(t, o, holder(1), pieces["taken"].Sent(0))
		if f, err := o.Forget(t.Context(), "ada"); err != nil || f != (sms.Forgotten{Deleted: 2}) {
			t.Errorf("Forget = %+v, %v, want 2 deleted", f, err)
		}
		for _, key := range client.Keys(t.Context(), prefix+"*").Val() {
			if strings.HasSuffix(key, ":body") || strings.HasSuffix(key, ":status") || strings.HasSuffix(key, ":fence") {
				continue
			}
			if left := client.ZRange(t.Context(), key, 0, -1).Val(); len(left) > 0 && !slices.Equal(left, []string{"about", "longer"}) {
				t.Errorf("%s has %v", key, left)
			}
		}
		if left := client.HKeys(t.Context(), prefix+"status").Val(); len(left) != 2 {
			t.Errorf("the states have %v", left)
		}
		if _, err := o.Forget(t.Context(), "a b"); err == nil || strings.Contains(err.Error(), "a b") {
			t.Errorf("Forget of no person = %v", err)
		}
	})
}

// Forget finds what is spread over a store that it reads in many steps.
func TestForgetMany(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		acceptMany(t, o, 5000, func(i int) sms.Message {
			return sms.Message{ID: fmt.Sprintf("m-%d", i), To: fmt.Sprintf("+1202555%04d", i%10), Text: "x"}
		})
		if f, err := o.Forget(t.Context(), "+12025550007"); err != nil || f.Deleted != 500 {
			t.Errorf("Forget = %+v, %v, want 500 deleted", f, err)
		}
		wantCounts(t, o, sms.Counts{Queued: 4500, Due: 4500})
	})
}

// acceptMany puts n messages into an outbox, several at a time.
func acceptMany(t *testing.T, o *sms.Outbox, n int, message func(i int) sms.Message) {
	t.Helper()
	const callers = 8
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := c; i < n; i += callers {
				if fresh, err := o.Accept(t.Context(), message(i)); err != nil || !fresh {
					t.Errorf("Accept of message %d = %v, %v", i, fresh, err)
					return
				}
			}
		})
	}
	group.Wait()
}
