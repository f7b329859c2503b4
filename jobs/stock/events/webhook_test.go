package events_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/events"
	"github.com/cronce/cronce/scheduler"
)

// A webhook gets each event signed, those of one order in sequence, and once more if a run ended
// before it could store its position.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s := sixOrders(t, nil)
	crash := errors.New("crash")
	ctx, die := context.WithCancelCause(t.Context())
	posts := 0
	s.hook.answers(func(http.ResponseWriter, string, string) int {
		if posts++; posts == len(sixReserved) {
			die(crash)
		}
		return 0
	})
	if err := s.run(ctx); !errors.Is(err, crash) {
		t.Fatal(err)
	}
	s.hook.want(t, sixReserved...)
	s.deliver(t)
	s.hook.want(t, sixReserved...)
	s.deliver(t)
	s.hook.want(t)
	for _, id := range []string{"o-1", "o-2"} {
		s.pay(t, id)
		_, err := s.Return(t.Context(), id, "parcel-"+id)
		s.must(t, err)
	}
	// A return is settled by the job settleOrders.
	s.must(t, stock.SettleOrders(s.Sale).Func(t.Context(), &scheduler.Run{Fence: fences.Add(1)}))
	s.hook.answers(func(_ http.ResponseWriter, kind, order string) int {
		if kind == "paid" {
			return 500
		}
		return 0
	})
	for range 2 {
		s.now(t)
		s.fails(t)
	}
	s.hook.want(t) // the returns wait for the payments
	s.hook.answers(nil)
	s.now(t)
	s.deliver(t)
	s.hook.want(t, "paid o-1", "paid o-2", "returned o-1", "returned o-2")
	if c := s.cursor(t); c.Seq != 10 || c.Waiting != 0 || c.Skipped != 0 {
		t.Errorf("the cursor is %+v", c)
	}
}

// A run whose node was stopped while another one delivered does not move the cursor.
func TestStoppedRun(t *testing.T) {
	t.Parallel()
	s := sixOrders(t, nil)
	old, posts := fences.Add(1), 0
	s.hook.answers(func(w http.ResponseWriter, _, _ string) int {
		if posts++; posts == 1 {
			s.must(t, s.MoveEvents(t.Context(), fences.Add(1), stock.EventCursor{Seq: 3}))
		}
		return 0
	})
	if err := s.job.Func(t.Context(), &scheduler.Run{Fence: old}); !errors.Is(err, stock.ErrFenced) {
		t.Errorf("the run: %v", err)
	}
	if c := s.cursor(t); c.Seq != 3 {
		t.Errorf("the cursor is %+v", c)
	}
}

// Each answer but 2xx is a failure: the event is posted again after a second, or after Retry-After,
// and meanwhile none is posted.
func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		code  int
		after string
		wait  time.Duration // the shortest time until the next delivery
	}{
		{"wrong URL", 404, "", 750 * time.Millisecond},
		{"unauthorized", 401, "", 750 * time.Millisecond},
		{"redirected", 307, "", 750 * time.Millisecond},
		{"too many", 429, "60", 55 * time.Second},
		{"down", 503, "99999999999999999999", 23 * time.Hour}, // a day at most
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sixOrders(t, nil)
			s.hook.answers(func(w http.ResponseWriter, _, _ string) int {
				w.Header().Set("Location", "/elsewhere")
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				return c.code
			})
			if err := s.fails(t); !strings.Contains(err, "event 1, posted again in ") || !strings.Contains(err, "HTTP status ") {
				t.Errorf("the run: %v", err)
			}
			row := s.db.QueryRowContext(t.Context(), "SELECT next_at - seen_at, failures, passed FROM stock_cursor")
			var wait, failures, passed int64
			s.must(t, row.Scan(&wait, &failures, &passed))
			if wait < c.wait.Milliseconds() || failures != 1 || passed != 0 {
				t.Errorf("it waits for %d ms after %d failures, %d passed", wait, failures, passed)
			}
			_, err := s.db.ExecContext(t.Context(), "UPDATE stock_cursor SET next_at = next_at + 3600000") // however slow the machine is
			s.must(t, err)
			s.hook.answers(nil)
			s.deliver(t)
			s.hook.want(t)
			s.now(t)
			s.deliver(t)
			s.hook.want(t, sixReserved...)
		})
	}
}

// An event that fails eight times, while the webhook accepts others, is skipped. The others go on,
// also those of its order. The answer does not matter.
func TestPoisonedEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, after string
		code        int
	}{{"refused", "", 422}, {"fails", "", 500}, {"forbidden", "", 403}, {"busy", "3600", 503}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sixOrders(t, nil)
			s.hook.answersOne("o-2", c.code, c.after)
			s.fails(t) // a pass in which others may not have been posted
			for i := 0; s.cursor(t).Skipped == 0; i++ {
				if got := s.cursor(t); got.Seq != 1 || i > 8 {
					t.Fatalf("the cursor after %d deliveries: %+v", i, got)
				}
				s.now(t)
				_ = s.run(t.Context()) // it fails until the event is skipped
			}
			if got := slices.Compact(s.hook.took(t)); !slices.Equal(got, slices.Delete(slices.Clone(sixReserved), 1, 2)) {
				t.Errorf("the webhook has %q", got)
			}
			if got := s.cursor(t); got != (stock.EventCursor{Seq: 6, Skipped: 1}) {
				t.Errorf("the cursor is %+v", got)
			}
			s.hook.answers(nil)
			s.pay(t, "o-2")
			s.deliver(t)
			s.hook.want(t, "paid o-2")
		})
	}
}

// An outage skips nothing, however long it lasts, and failures in it do not count against the event
// that fails alone after it.
func TestOutageSkipsNothing(t *testing.T) {
	t.Parallel()
	s := sixOrders(t, nil)
	for _, code := range []int{503, 429, 500, 404, 401} {
		s.hook.answersAll(code, "")
		for range 9 {
			s.now(t)
			s.fails(t)
		}
	}
	if c := s.cursor(t); c.Seq != 0 || c.Failures != 45 || c.Passed != 0 || c.Skipped != 0 || c.Wait > time.Minute {
		t.Errorf("the cursor is %+v", c)
	}
	s.hook.answersOne("o-1", 503, "")
	for range 7 {
		s.now(t)
		s.fails(t)
	}
	if c := s.cursor(t); c.Passed != 7 || c.Skipped != 0 {
		t.Errorf("the cursor is %+v", c)
	}
	s.hook.took(t)
	s.hook.answers(nil)
	s.now(t)
	s.deliver(t)
	s.hook.want(t, sixReserved...)
}

// An event that fails alone is only posted again, while there is none of another order: later
// events of its own order wait for it.
func TestFailingOrderAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.reserve(t, "a")
	s.pay(t, "a")
	s.hook.answersOne("a", 500, "")
	for range 10 {
		s.now(t)
		s.fails(t)
	}
	if c := s.cursor(t); c.Passed != 0 || c.Skipped != 0 {
		t.Errorf("the cursor is %+v", c)
	}
	s.reserve(t, "b")
	s.pay(t, "b")
	s.now(t)
	s.fails(t)
	s.hook.want(t, "paid b", "reserved b")
	if c := s.cursor(t); c.Passed != 1 {
		t.Errorf("the cursor is %+v", c)
	}
}

// An event that gets no reply is skipped like one that is refused, also if events are posted one
// after the other.
func TestEventWithoutReply(t *testing.T) {
	t.Parallel()
	s := sixOrders(t, nil)
	release := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Idempotency-Key"), "/o-1/") {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		s.hook.ServeHTTP(w, r)
	}))
	defer front.Close()
	defer close(release)
	s.job = s.newJob(t, front.URL+"/?key=s3cr3t", func(o *events.Options) { o.Timeout, o.Concurrency = 20*time.Millisecond, 1 })
	if err := s.fails(t); strings.Contains(err, "s3cr3t") || !strings.Contains(err, "deadline") {
		t.Errorf("the run: %v", err)
	}
	s.job = s.newJob(t, front.URL, func(o *events.Options) { o.Timeout, o.Concurrency = 200*time.Millisecond, 1 })
	for i := 0; s.cursor(t).Skipped == 0; i++ {
		if i > 100 {
			t.Fatalf("the cursor is %+v", s.cursor(t))
		}
		s.now(t)
		_ = s.run(t.Context()) // it fails until the event is skipped
	}
	s.now(t)
	for s.cursor(t).Waiting > 0 {
		_ = s.run(t.Context())
		s.now(t)
	}
	if got := slices.Compact(s.hook.took(t)); !slices.Equal(got, sixReserved[1:]) {
		t.Errorf("the webhook has %q", got)
	}
}

// No event names the receiver of its order.
func TestWebhookReceiver(t *testing.T) {
	t.Parallel()
	s := sixOrders(t, nil)
	s.deliver(t)
	s.hook.mu.Lock()
	defer s.hook.mu.Unlock()
	if len(s.hook.bodies) == 0 || strings.Contains(strings.Join(s.hook.bodies, ""), "Ada") {
		t.Errorf("the bodies are %q", s.hook.bodies)
	}
}

// The error of a webhook that cannot be reached, or whose certificate is not trusted, names the
// cause and not the URL.
func TestWebhookErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	s := sixOrders(t, nil)
	for url, want := range map[string]string{server.URL + "/?key=s3cr3t": "certificate", "http://127.0.0.1:1/?key=s3cr3t": "refused"} {
		s.job = s.newJob(t, url, nil)
		s.now(t)
		if err := s.fails(t); strings.Contains(err, "s3cr3t") || !strings.Contains(err, want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	some := func(secrets ...string) func() []string { return func() []string { return secrets } }
	for _, c := range []struct {
		o    events.Options
		want string // in the error; empty: none
	}{
		{events.Options{URL: "https://shop.example/hook", Secrets: some(secret)}, ""},
		{events.Options{URL: "http://[::1]:80/", Secrets: some(secret)}, ""},
		{events.Options{URL: "http://10.0.0.1/", Plain: true, Secrets: some(secret)}, ""},
		{events.Options{URL: "https://h/", Secrets: some(secret, secret, secret, secret), Timeout: time.Minute, Concurrency: 64}, ""},
		{events.Options{URL: "https://h/", Secrets: some(secret, secret, secret, secret, secret)}, "secrets is 5 of them"},
		{events.Options{URL: "http://10.0.0.1/s3cr3t", Secrets: some(secret)}, "url is http to another machine"},
		{events.Options{URL: "https://u:s3cr3t@h/", Secrets: some(secret)}, "url is one with a user"},
		{events.Options{URL: "https://h/s3cr3t@x", Secrets: some(secret)}, "an @ behind its host"},
		{events.Options{URL: "ftp://h/s3cr3t", Secrets: some(secret)}, "url is of another scheme"},
		{events.Options{URL: "https://h/"}, "secrets is missing"},
		{events.Options{URL: "https://h/", Secrets: some()}, "secrets is 0 of them"},
		{events.Options{URL: "https://h/", Secrets: some("s3cr3t")}, "secrets is one of 6 bytes"},
		{events.Options{URL: "https://h/", Secrets: some(secret), Timeout: time.Hour}, "timeout is 1h0m0s"},
		{events.Options{URL: "https://h/", Secrets: some(secret), Concurrency: 100}, "concurrency is 100"},
	} {
		_, err := events.Job(s.Sale, c.o)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t")) {
			t.Errorf("%s: %v, want %q", c.o.URL, err, c.want)
		}
	}
}

// The signature is that of any other implementation of HMAC-SHA256:
// printf '1795207852.{"seq":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
func TestSign(t *testing.T) {
	const want = "t=1795207852,v1=3ce796a9f99d9374dfd2629634a49bc66d1f32409f96f315400313534fbe6d52,v1=d44578d4f045ddad45addc544adfe30b3e2fdf1df6371ad0960354e6bfc4a85a"
	if got := events.Sign(time.Unix(1795207852, 0), []byte(`{"seq":1}`), secret, oldSecret); got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}
