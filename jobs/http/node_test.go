package http_test

import (
	"context"
	nethttp "net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/http"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A node sends a POST once if it may have arrived, however many tries the job has, and repeats one
// that the server refused for the moment.
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

type observer func(scheduler.Event)

func (o observer) Observe(e scheduler.Event) { o(e) }
