package main

import (
	"context"
	"encoding/json"
	"expvar"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/scheduler"
)

// A node counts its runs while it is ready, and a stop in the middle of a run waits for it.
func TestRun(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, server.Addr(), listener, zap.NewNop()) }()
	var last map[string]int
	for last["report ok"] < 1 || last["report running"] != 1 { // one is done, the next one runs
		if ctx.Err() != nil {
			t.Fatalf("no run after 30 s: %v", last)
		}
		last = counters(t, ctx, base)
		time.Sleep(10 * time.Millisecond)
	}
	if status, text := get(t, ctx, base+"/readyz"); status != http.StatusOK {
		t.Errorf("not ready: %d %s", status, text)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if last["report failed"]+last["report panic"] != 0 {
		t.Errorf("counted %v", last)
	}
}

// Runs are counted by their outcome, and missed ticks one by one.
func TestCount(t *testing.T) {
	t.Parallel()
	counts := new(expvar.Map)
	for _, e := range []scheduler.Event{
		{Kind: scheduler.EventRunStarted, Job: "a"},
		{Kind: scheduler.EventRunFinished, Job: "a", Outcome: "ok"},
		{Kind: scheduler.EventRunStarted, Job: "a"},
		{Kind: scheduler.EventRunFinished, Job: "a", Outcome: "panic"},
		{Kind: scheduler.EventTickMissed, Job: "a", Count: 3},
	} {
		count(counts, e)
	}
	const want = `{"a missed": 3, "a ok": 1, "a panic": 1, "a running": 0}`
	if got := counts.String(); got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
}

func counters(t *testing.T, ctx context.Context, base string) map[string]int {
	t.Helper()
	status, text := get(t, ctx, base+"/counters")
	counts := map[string]int{}
	if err := json.Unmarshal([]byte(text), &counts); err != nil || status != http.StatusOK {
		t.Fatalf("counters: %d %s %v", status, text, err)
	}
	return counts
}

func get(t *testing.T, ctx context.Context, url string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
