package notify

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cronce/cronce/ops"
)

// Only a status of success accepts an event. A receiver may ask for a pause, of an hour at most.
func TestRefusedByTheReceiver(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		status := 302
		hook := &receiver{answer: func() int { return status }, header: http.Header{"Retry-After": {"86400"}}}
		a := s.replica(t, nil, hook, nil)
		defer a.stop()
		time.Sleep(10 * time.Second)
		s.dead.Store(true)
		tries := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			if _, got := hook.requests(); got != want {
				t.Errorf("%d tries, want %d", got, want)
			}
		}
		tries(2*time.Minute, 1)
		hook.mu.Lock()
		status = http.StatusSwitchingProtocols
		hook.mu.Unlock()
		tries(57*time.Minute, 1)
		tries(2*time.Minute, 2)
		hook.want(t)
		hook.mu.Lock()
		status = 299
		hook.mu.Unlock()
		tries(time.Hour, 3)
		tries(time.Hour, 3)
		if sent, failed := testutil.ToFloat64(a.alerts.WithLabelValues(sent)), testutil.ToFloat64(a.alerts.WithLabelValues(failed)); sent != 1 || failed != 2 {
			t.Errorf("%v requests are counted as accepted, and %v as refused", sent, failed)
		}
		if s.lines("alert not accepted") != 1 || s.lines("tries=3") != 1 { // the next failures are not news
			t.Errorf("the log is %s", &s.logged)
		}
	})
}

// A request is signed if there is a secret.
func TestUnsigned(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header["Cronce-Signature"] }))
	defer server.Close()
	for signed, secret := range [][]func() string{{nil, func() string { return "" }}, {func() string { return theSecret }}} {
		for _, f := range secret {
			n := New(Options{Projection: ops.New(ops.Options{}), Log: slog.New(slog.DiscardHandler), Webhook: &Target{URL: server.URL, Secret: f, AllowPrivate: true}})
			if _, err := n.post(t.Context(), &event{}); err != nil || len(got) != signed {
				t.Errorf("%q, want %d signatures: %v", got, signed, err)
			}
		}
	}
}

// A heartbeat is sent each minute, and none while no node lives, a tick is overdue or the store is
// silent. Each begin and end of such a time is logged once, also of one in which none is accepted.
func TestHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		var away atomic.Bool
		beats := &receiver{answer: func() int { return map[bool]int{true: 503, false: 200}[away.Load()] }}
		a := s.replica(t, nil, nil, beats)
		defer a.stop()
		count := func(want int) {
			t.Helper()
			before, _ := beats.requests()
			time.Sleep(5 * time.Minute)
			if after, _ := beats.requests(); len(after)-len(before) != want {
				t.Errorf("%d heartbeats in five minutes, want %d", len(after)-len(before), want)
			}
		}
		time.Sleep(30 * time.Second) // between two of them
		count(5)
		for _, trouble := range []*atomic.Bool{&s.dead, &s.idle, &s.silent, &away} {
			trouble.Store(true)
			time.Sleep(time.Minute)
			count(0)
			trouble.Store(false)
			time.Sleep(time.Minute)
			count(5)
		}
		got, tries := beats.requests()
		if got[0] != "cronce (shop)" {
			t.Errorf("User-Agent %q", got[0])
		}
		if withheld, failed, again := s.lines(`"heartbeat withheld" reason="`), s.lines(`"heartbeat failed" reason="HTTP status 503"`), s.lines("heartbeat sent again"); withheld != 3 || failed != 1 || again != 4 {
			t.Errorf("the log is %s", &s.logged)
		}
		for result, want := range map[string]int{sent: len(got), failed: tries - len(got), withheld: 3 * 6} {
			if n := testutil.ToFloat64(a.heartbeats.WithLabelValues(result)); n != float64(want) {
				t.Errorf("%v heartbeats are counted as %s, want %d", n, result, want)
			}
		}
	})
}

// An endless reply counts the bytes that are read.
type endless struct {
	read   int
	closed bool
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > 10*maxReply {
		return 0, io.ErrUnexpectedEOF
	}
	return len(p), nil
}

func (e *endless) Close() error {
	e.closed = true
	return nil
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: e, Request: r}, nil
}

// A receiver whose reply has no end costs neither much reading nor a connection.
func TestEndlessReply(t *testing.T) {
	reply := &endless{}
	n := New(Options{Projection: ops.New(ops.Options{}), Log: slog.New(slog.DiscardHandler), Webhook: &Target{URL: "https://hook.example/token"}})
	n.webhook.Transport = reply
	if _, err := n.post(t.Context(), &event{}); err != nil || reply.read > 2*maxReply || !reply.closed {
		t.Errorf("%d bytes were read, closed: %v, %v", reply.read, reply.closed, err)
	}
}

// An ending receiver ends a context with each request, and does not answer.
type ending struct{ end context.CancelFunc }

func (e *ending) RoundTrip(r *http.Request) (*http.Response, error) {
	e.end()
	return nil, r.Context().Err()
}

// A heartbeat that the end of the plane interrupts is no failure, neither for the log nor for the counters.
func TestHeartbeatAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		ctx, end := context.WithCancel(t.Context())
		n := New(Options{Projection: ops.New(ops.Options{Store: s, Namespace: "shop"}), Log: s.log, Heartbeat: &Target{URL: "https://beat.example/token"}})
		n.heartbeat.Transport = &ending{end}
		n.o.Projection.Refresh(ctx)
		n.beat(ctx)
		if got := testutil.ToFloat64(n.heartbeats.WithLabelValues(failed)); ctx.Err() == nil || got != 0 || s.lines("heartbeat") != 0 {
			t.Errorf("%v failures, the log is %s", got, &s.logged)
		}
	})
}
