package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/internal/redisserver"
)

// A shop with a webhook posts each state of an order. While the webhook is down, its metrics say how
// many events wait, and the log does not name the buyer.
func TestShopEvents(t *testing.T) {
	t.Parallel()
	var refuse, posted atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := refuse.Load(); code > 0 {
			w.WriteHeader(int(code))
			return
		}
		posted.Add(1)
	}))
	defer hook.Close()
	server := redisserver.Start(t)
	config := file(t, "c.yaml", fmt.Sprintf("shop:\n  database: {file: %s}\n  events:\n    webhook: {url: '%s', secret_file: %s}\n",
		filepath.Join(t.TempDir(), "shop.db"), hook.URL, file(t, "secret", "0123456789abcdef\n")))
	shop := start(t, "serve", "--config", config, "--redis", "redis://"+server.Addr(), "--http", "127.0.0.1:0", "--address", "127.0.0.1:0", "--log-format", "json")
	var url, beside string
	eventually(t, "the shop is served", func() bool {
		for name, into := range map[string]*string{"shop served": &url, "health served": &beside} {
			for _, l := range shop.logs(name) {
				*into = fmt.Sprint("http://", l.Fields["address"])
			}
		}
		return url != "" && beside != ""
	})
	eventually(t, "events are written", func() bool {
		for _, l := range shop.logs("run finished") {
			if l.Fields["job"] == "deliverEvents" {
				return true
			}
		}
		return false
	})
	buy := func(id string) {
		t.Helper()
		order := fmt.Sprintf(`{"id":%q,"receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`, id)
		if status, answer := ask(t, "POST", url+"/orders", order); status != 201 {
			t.Fatal(status, answer)
		}
		if status, answer := ask(t, "POST", url+"/orders/"+id+"/pay", fmt.Sprintf(`{"reference":"p-%s","amount":700,"currency":"EUR"}`, id)); status != 200 {
			t.Fatal(status, answer)
		}
	}
	for path, body := range map[string]string{"": `{"price":350,"currency":"EUR"}`, "/stock": `{"total":9}`} {
		if status, answer := ask(t, "PUT", url+"/products/tea"+path, body); status != 200 {
			t.Fatal(status, answer)
		}
	}
	buy("o-1")
	eventually(t, "both events are posted", func() bool { return posted.Load() == 2 })
	eventually(t, "none waits", func() bool { return strings.Contains(scrape(t, beside), "\ncronce_shop_events_waiting 0\n") })
	wantMetrics(t, beside, "cronce_shop_database_up 1", "cronce_shop_events_lag_seconds 0", "cronce_shop_events_skipped_total 0")

	refuse.Store(http.StatusServiceUnavailable)
	buy("o-2")
	eventually(t, "two events wait for the webhook", func() bool { return strings.Contains(scrape(t, beside), "\ncronce_shop_events_waiting 2\n") })
	refuse.Store(0)
	eventually(t, "both are posted", func() bool { return posted.Load() == 4 })
	if text := shop.stderr.String(); strings.Contains(text, "4915112345678") || strings.Contains(text, "Lovelace") {
		t.Error("the log names the buyer")
	}
}

// scrape returns the metrics of a node.
func scrape(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantMetrics checks lines of a scrape.
func wantMetrics(t *testing.T, url string, lines ...string) {
	t.Helper()
	text := scrape(t, url)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
}
