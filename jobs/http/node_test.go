package http_test

import (
	"context"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/http"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A node sends a POST once if it may have arrived, however many tries the job has, and repeats one
// that the server refused temporarily.
func TestTriesOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		answer nethttp.HandlerFunc
		want   int32
	}{
		"no answer": {func(nethttp.ResponseWriter, *nethttp.Request) { panic(nethttp.ErrAbortHandler) }, 1},
		"busy":      {func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusServiceUnavailable) }, 3},
		"refused":   {func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusBadRequest) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a tick
			var requests atomic.Int32
			server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
				requests.Add(1)
				c.answer(w, r)
			}))
			defer server.Close()
			f, err := http.New(http.Request{Method: nethttp.MethodPost, URL: server.URL, AllowPrivate: true})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{}, 10)
			n, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Observers: []scheduler.Observer{observer(func(e scheduler.Event) {
				if e.Kind == scheduler.EventRunFinished {
					ended <- struct{}{}
				}
			})}, Jobs: []scheduler.Job{{Name: "post", Spec: "@every 5s", Retry: scheduler.Retry{Tries: 3, Wait: time.Millisecond}, Func: f}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- n.Run(ctx) }()
			<-ended
			got := requests.Load()
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got != c.want {
				t.Errorf("%d requests, want %d", got, c.want)
			}
		})
	}
}

// The store has the first 4 KiB of a response, masked, with any status.
func TestAnswerIsKept(t *testing.T) {
	for name, status := range map[string]int{"ok": nethttp.StatusOK, "failed": nethttp.StatusTeapot} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "you sent "+r.Header.Get("X-Key")+"\x00\n"+strings.Repeat("x", 8<<10))
			}))
			defer server.Close()
			f, err := http.New(http.Request{URL: server.URL, AllowPrivate: true, SecretHeaders: map[string]func() string{"X-Key": func() string { return "hunter22" }}})
			if err != nil {
				t.Fatal(err)
			}
			store := memlock.New(memlock.Options{})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan scheduler.Event, 100)
			n, err := scheduler.New(scheduler.Config{Store: store, Observers: []scheduler.Observer{observer(func(e scheduler.Event) {
				if e.Kind == scheduler.EventRunFinished {
					ended <- e
					stop()
				}
			})}, Jobs: []scheduler.Job{{Name: "get", Spec: "@every 1s", Deadline: time.Hour, Func: f}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Run(ctx); err != nil {
				t.Error(err)
			}
			begin := "you sent [masked]\uFFFD\n"
			want := begin + strings.Repeat("x", 4<<10-len(begin))
			if o, err := store.Output(context.Background(), "get", (<-ended).Tick.UnixMilli()); err != nil || o.Text != want {
				t.Errorf("kept are %d bytes, %.60q, %v", len(o.Text), o.Text, err)
			}
		})
	}
}

type observer func(scheduler.Event)

func (o observer) Observe(e scheduler.Event) { o(e) }

// A run whose lease is over sends nothing, also if its context goes on, as that of a process that was paused does at first.
func TestLeaseIsOver(t *testing.T) {
	server := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("a request was sent") }))
	defer server.Close()
	f, err := http.New(http.Request{URL: server.URL, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	var over *scheduler.Run
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	job := scheduler.Job{Name: "get", Spec: "@every 1s", Deadline: time.Hour, Func: func(_ context.Context, run *scheduler.Run) error {
		over = run
		stop()
		return nil
	}}
	n, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Jobs: []scheduler.Job{job}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := f(t.Context(), over); err == nil {
		t.Error("a request without a lease has succeeded")
	}
}
