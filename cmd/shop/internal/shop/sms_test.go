package shop

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

// The gateway's token is the token in the file at the time of the request.
func TestTokenRotation(t *testing.T) {
	seen := make(chan string, 2)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") }))
	defer gateway.Close()
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	f := &settings.File{Config: *config.Default(os.LookupEnv), SMS: &settings.SMS{Gateway: "http", URL: gateway.URL, TokenFile: token}}
	g, err := smsGateway(f, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		write(want + "\n")
		if err := g.Send(t.Context(), sms.Message{ID: "a", To: "+12025550123", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != "Bearer "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A run has the bounds of the file: of eleven messages it sends ten, nine of them at once and no more than twenty
// each second, and the one that was refused has failed.
func TestSendBounds(t *testing.T) {
	const atOnce = 9 // more than the default
	var came atomic.Int32
	all, ctx := make(chan struct{}), t.Context()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server would not see that the client has gone
		if came.Add(1) == atOnce {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
		if r.Header.Get("Idempotency-Key") == "m-0" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer gateway.Close()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer client.Close()
	timeout := config.Duration(time.Minute)
	f := &settings.File{Config: *config.Default(nil), SMS: &settings.SMS{Gateway: "http", URL: gateway.URL, Timeout: &timeout,
		Batch: new(10), Concurrency: new(atOnce), Rate: new(20), Attempts: new(1)}}
	job, err := sendJob(f, io.Discard, client)
	must(t, err)
	outbox, err := sms.NewOutbox(client, sms.Options{Namespace: f.Namespace})
	must(t, err)
	for i := range 11 {
		_, err := outbox.Accept(ctx, sms.Message{ID: fmt.Sprint("m-", i), To: "+12025550123", Text: "x", At: time.UnixMilli(int64(1 + i))})
		must(t, err)
	}
	began := time.Now()
	_ = job.Func(ctx, &scheduler.Run{ID: "r", Job: job.Name, Fence: 1}) // a message was refused
	took := time.Since(began)
	counts, err := outbox.Counts(ctx)
	must(t, err)
	if counts.Sent != 9 || counts.Failed != 1 || counts.Queued != 1 || took < 9*time.Second/20 {
		t.Errorf("%+v in %v", counts, took)
	}
}
