package sms_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/sms"
)

func TestNewOutboxRefuses(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for _, c := range []struct {
		client  redis.Scripter
		options sms.Options
		want    string
	}{
		{nil, sms.Options{}, "client is nil"},
		{client, sms.Options{Namespace: "a}b"}, `namespace is "a}b"`},
		{client, sms.Options{Namespace: "-a"}, `namespace is "-a"`},
		{client, sms.Options{Retention: time.Second}, "retention is 1s, must be a minute or more"},
		{client, sms.Options{Namespace: "a b", Retention: -1}, "retention is -1ns"},
	} {
		_, err := sms.NewOutbox(c.client, c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewOutbox(%+v) = %v, want %q in it", c.options, err, c.want)
		}
	}
}

func TestAcceptOncePerID(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		m := sms.Message{ID: "order-1", To: "+12025550101", Text: "On its way.", At: time.Now().Add(time.Hour)}
		accept(t, o, m, true)
		accept(t, o, m, false)
		inUTC := m
		inUTC.At = m.At.UTC()
		accept(t, o, inUTC, false)
		for _, other := range []sms.Message{
			{ID: m.ID, To: "+12025550102", Text: m.Text, At: m.At},
			{ID: m.ID, To: m.To, Text: "Late.", At: m.At},
			{ID: m.ID, To: m.To, Text: m.Text},
		} {
			if _, err := o.Accept(t.Context(), other); !errors.Is(err, sms.ErrConflict) {
				t.Errorf("Accept(%v) = %v, want ErrConflict", other, err)
			}
		}
		r := get(t, o, m.ID)
		if r.State != sms.Queued || r.Message.Text != m.Text || !r.Due.Equal(m.At.Truncate(time.Millisecond)) || r.Fence != 0 || r.Run != "" {
			t.Errorf("Get = %+v, want what was accepted first", r)
		}
		wantCounts(t, o, sms.Counts{Queued: 1})
	})
}

// The stored body of a message has the fields that it has, in one order: a caller that accepts a message again, after an update of its program,
// must find the same bytes, or the message is a conflict.
func TestStoredBody(t *testing.T) {
	client := newMini(t)
	o := outbox(t, client)
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for want, m := range map[string]sms.Message{
		`{"to":"+12025550101","text":"\"On\" its way."}`:                                                   {ID: "a", Text: `"On" its way.`},
		`{"to":"+12025550101","text":"x","at":1772357400000}`:                                              {ID: "b", Text: "x", At: at},
		`{"to":"+12025550101","text":"x","until":1772357400000}`:                                           {ID: "c", Text: "x", Until: at},
		`{"to":"+12025550101","text":"x","at":1772357400000,"until":1772357401000,"person":"customer-17"}`: {ID: "d", Text: "x", At: at, Until: at.Add(time.Second), Person: "customer-17"},
	} {
		m.To = "+12025550101"
		accept(t, o, m, true)
		if got, err := client.HGet(t.Context(), "cronce:v1:sms:{cronce}:body", m.ID).Result(); got != want {
			t.Errorf("%s is stored as %s, want %s: %v", m.ID, got, want, err)
		}
		if got := get(t, o, m.ID).Message; got != m {
			t.Errorf("%s is read as %#v with the text %q, at %v, until %v", m.ID, got, got.Text, got.At, got.Until)
		}
	}
}

// Twenty callers accept the same message at once: it is new to one of them, and
// sent once. It stays known after it was sent.
func TestAcceptAtOnce(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		m := sms.Message{ID: "code-1", To: "+12025550101", Text: "123456"}
		var fresh atomic.Int32
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				isNew, err := o.Accept(t.Context(), m)
				if err != nil {
					t.Error(err)
				}
				if isNew {
					fresh.Add(1)
				}
			})
		}
		group.Wait()
		if fresh.Load() != 1 {
			t.Errorf("new to %d callers, want 1", fresh.Load())
		}
		pieces := take(t, o, holder(1), 10)
		if len(pieces) != 1 {
			t.Fatalf("took %v, want one message", ids(pieces))
		}
		mark(t, o, holder(1), pieces[0].Sent(0))
		accept(t, o, m, false)
		if again := take(t, o, holder(2), 10); len(again) != 0 {
			t.Errorf("took %v after it was sent", ids(again))
		}
	})
}

func TestAcceptRefusesBadMessages(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	_, err := outbox(t, client).Accept(t.Context(), sms.Message{ID: "a b", To: "12025550101"})
	if _, ok := errors.AsType[*sms.FieldError](err); !ok {
		t.Fatalf("Accept = %v, want a FieldError before anything is sent", err)
	}
	for _, want := range []string{`id is "a b"`, `to is "120****0101"`, "text is empty"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestGetUnknown(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		if _, err := outbox(t, client).Get(t.Context(), "nobody"); !errors.Is(err, sms.ErrUnknown) {
			t.Errorf("Get = %v, want ErrUnknown", err)
		}
	})
}

func TestListAndCounts(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 6)
		accept(t, o, sms.Message{ID: "later", To: "+12025550109", Text: "x", At: time.Now().Add(time.Hour)}, true)
		h := holder(1)
		p := take(t, o, h, 4)
		mark(t, o, h, p[0].Sent(0), p[1].Failed(0, "unknown subscriber"), p[2].Sent(1))
		wantCounts(t, o, sms.Counts{Queued: 3, Due: 2, Taken: 1, Sent: 2, Once: 1, Repeated: 1, Failed: 1})
		for _, c := range []struct {
			state sms.State
			limit int
			want  []string
		}{
			{sms.Queued, 10, []string{"later", "m-05", "m-04"}},
			{sms.Queued, 1, []string{"later"}},
			{sms.Taken, 10, []string{"m-03"}},
			{sms.Sent, 10, []string{"m-02", "m-00"}},
			{sms.Failed, 10, []string{"m-01"}},
			{"", 5, []string{"later", "m-05", "m-04", "m-03", "m-01"}},
			{"", 100, []string{"later", "m-05", "m-04", "m-03", "m-01", "m-02", "m-00"}},
		} {
			got, err := o.List(t.Context(), c.state, c.limit)
			var names []string
			for _, r := range got {
				names = append(names, r.Message.ID)
			}
			if err != nil || !slices.Equal(names, c.want) {
				t.Errorf("List(%q, %d) = %v, %v, want %v", c.state, c.limit, names, err, c.want)
			}
		}
		if r := get(t, o, "m-01"); r.Reason != "unknown subscriber" || r.Fence != h.Fence || r.Run != h.Run || r.Attempts != 1 {
			t.Errorf("Get = %+v, want the reason, fence and run of the mark", r)
		}
	})
}

// A list of several steps has each message once, the newest first, and those that were refused behind
// the others.
func TestListInSteps(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		at := time.Now().Add(-time.Hour)
		var want []string
		for i := range 450 {
			id := fmt.Sprintf("n-%03d", i)
			accept(t, o, sms.Message{ID: id, To: "+12025550101", Text: "x", At: at.Add(time.Duration(i) * time.Second)}, true)
			want = append(want, id)
		}
		var marks []sms.Mark
		for _, p := range take(t, o, holder(1), 1) {
			marks = append(marks, p.Wait(0, 0, "busy"))
		}
		mark(t, o, holder(1), marks...)
		slices.Reverse(want)
		for _, limit := range []int{1, 199, 200, 201, 400, 449, 450, 1000} {
			all, err := o.List(t.Context(), sms.Queued, limit)
			var got []string
			for _, r := range all {
				got = append(got, r.Message.ID)
			}
			if err != nil || !slices.Equal(got, want[:min(limit, len(want))]) {
				t.Errorf("List of %d: %d messages, %v, want the newest first and n-000 last", limit, len(got), err)
			}
		}
	})
}

func TestListRefuses(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	o := outbox(t, client)
	if _, err := o.List(t.Context(), "lost", 1); err == nil || !strings.Contains(err.Error(), `state is "lost"`) {
		t.Errorf("List(lost) = %v", err)
	}
	if _, err := o.List(t.Context(), "", 0); err == nil || !strings.Contains(err.Error(), "limit is 0") {
		t.Errorf("List(limit 0) = %v", err)
	}
}

// Trim deletes messages that ended before the retention began, and only these.
func TestTrim(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		fill(t, o, 5)
		h := holder(1)
		p := take(t, o, h, 4)
		mark(t, o, h, p[0].Sent(1), p[1].Failed(0, "no"), p[2].Sent(0))
		if err := o.Receive(t.Context(), sms.Receipt{ID: "m-00"}); err != nil {
			t.Fatal(err)
		}
		if n, err := o.Trim(t.Context()); n != 0 || err != nil {
			t.Fatalf("Trim = %d, %v, want nothing to forget yet", n, err)
		}
		old := float64(time.Now().Add(-sms.DefaultRetention - time.Minute).UnixMilli())
		key := "cronce:v1:sms:{cronce}:"
		client.ZAdd(t.Context(), key+"sent", redis.Z{Score: old, Member: "m-00"})
		client.ZAdd(t.Context(), key+"failed", redis.Z{Score: old, Member: "m-01"})
		if n, err := o.Trim(t.Context()); n != 2 || err != nil {
			t.Fatalf("Trim = %d, %v, want 2", n, err)
		}
		wantCounts(t, o, sms.Counts{Queued: 1, Due: 1, Taken: 1, Sent: 1, Once: 1})
		for _, id := range []string{"m-00", "m-01"} {
			if _, err := o.Get(t.Context(), id); !errors.Is(err, sms.ErrUnknown) {
				t.Errorf("Get(%s) = %v after Trim, want ErrUnknown", id, err)
			}
		}
	})
}

// Two namespaces on one server do not see each other.
func TestNamespaces(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		a := outbox(t, client)
		b, err := sms.NewOutbox(client, sms.Options{Namespace: "other"})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, a, 2)
		wantCounts(t, b, sms.Counts{})
		take(t, b, holder(9), 1)
		if got := take(t, a, holder(1), 9); len(got) != 2 {
			t.Errorf("took %v, want two: the other outbox's fence does not count", ids(got))
		}
	})
}

// The server is killed while messages come in. Every message whose acceptance was
// answered is there afterwards, and accepting all again completes the rest.
func TestAcceptedSurvivesACrashOfTheStore(t *testing.T) {
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	o := outbox(t, connect(t, &redis.Options{Addr: server.Addr()}))
	const n = 400
	message := func(i int) sms.Message {
		return sms.Message{ID: fmt.Sprintf("c-%03d", i), To: "+12025550101", Text: "x"}
	}
	answered := make([]bool, n)
	var done atomic.Int32
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := w; i < n; i += 4 {
				_, err := o.Accept(t.Context(), message(i))
				answered[i] = err == nil
				done.Add(1)
			}
		})
	}
	await(t, func() bool { return done.Load() >= 100 })
	server.Kill()
	group.Wait()
	server.Restart()
	// A fresh client: the old one's pool remembers for a while that it could not dial.
	o = outbox(t, connect(t, &redis.Options{Addr: server.Addr()}))
	for i, ok := range answered {
		fresh, err := o.Accept(t.Context(), message(i))
		if err != nil || (ok && fresh) {
			t.Fatalf("message %d, answered %v before the crash: Accept = %v, %v", i, ok, fresh, err)
		}
	}
	wantCounts(t, o, sms.Counts{Queued: n, Due: n})
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for !so() {
		select {
		case <-deadline:
			t.Fatal("it did not happen within two minutes")
		case <-time.After(time.Millisecond):
		}
	}
}
