package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/shopcommands"
	"github.com/cronce/cronce/internal/redisserver"
)

// A shop with all three targets: the paid order is posted, is in the stream, and its buyer gets
// one text. What the webhook refuses is listed, tried again, and dropped with a reason; what keeps the others
// is skipped.
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
	redis := "redis://" + server.Addr()
	config := file(t, "c.yaml", fmt.Sprintf("shop:\n  database: {file: %s}\n  events:\n    stream: {}\n    webhook: {url: '%s', secret_file: %s}\n    sms: {paid: 'Your order {{.Order}} is confirmed: {{.Amount}} {{.Currency}}'}\n",
		filepath.Join(t.TempDir(), "shop.db"), hook.URL, file(t, "secret", "0123456789abcdef\n")))
	args := func(command ...string) []string { return append(command, "--config", config, "--redis", redis) }
	shop := start(t, args("shop", "--http", "127.0.0.1:0", "--address", "127.0.0.1:0", "--log-format", "json")...)
	var url, beside string
	eventually(t, "the shop is served", func() bool {
		for name, into := range map[string]*string{"shop served": &url, "health served": &beside} {
			for _, l := range shop.logs(name) {
				*into = fmt.Sprint("http://", l.Fields["address"])
			}
		}
		return url != "" && beside != ""
	})
	eventually(t, "all targets are there", func() bool {
		var r shopcommands.EventsReport
		out := cronce(t, args("shop", "events", "-o", "json")...)
		return json.Unmarshal([]byte(out.stdout), &r) == nil && len(r.Targets) == 3
	})
	buy := func(id string) {
		t.Helper()
		order := fmt.Sprintf(`{"id":%q,"receiver":"Ada Lovelace","phone":"+4915112345678","items":[{"sku":"tea","quantity":2}]}`, id)
		if status, answer := ask(t, "POST", url+"/orders", order); status != 201 || answer["phone"] != "+***678" {
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
	lag := func() (n int64) { // of all targets; of less than two events too many
		var r shopcommands.EventsReport
		out := cronce(t, args("shop", "events", "-o", "json")...)
		if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
			t.Fatal(err)
		}
		n = int64(2 - min(2, len(r.Events)))
		for _, target := range r.Targets {
			n += target.Lag
		}
		return n
	}
	eventually(t, "all targets have both events", func() bool { return lag() == 0 })
	if n := posted.Load(); n != 2 {
		t.Errorf("%d events were posted", n)
	}
	wantMetrics(t, beside, "cronce_shop_database_up 1", `cronce_shop_events_waiting{target="stream"} 0`, `cronce_shop_events_waiting{target="sms"} 0`,
		`cronce_shop_events_lag_seconds{target="webhook"} 0`, `cronce_shop_events_aside{target="webhook"} 0`)
	cronce(t, args("shop", "events")...).want(t, exit.Fine, "2    paid      o-1", "1    reserved  o-1", "stream   2    0", "webhook  2    0", "sms      2    0")
	cronce(t, args("shop", "events", "--failed")...).want(t, exit.Fine)
	cronce(t, "sms", "list", "--redis", redis).want(t, exit.Fine, "paid-", "+49151****5678", "1 queued")

	refuse.Store(http.StatusUnprocessableEntity)
	buy("o-2")
	eventually(t, "two events are put aside", func() bool {
		return strings.Count(cronce(t, args("shop", "events", "--failed")...).stdout, "HTTP status 422") == 2
	})
	cronce(t, args("shop", "events", "--failed")...).want(t, exit.Failed, "webhook  3    reserved  o-2", "webhook  4    paid      o-2")
	wantMetrics(t, beside, `cronce_shop_events_aside{target="webhook"} 2`, `cronce_shop_events_aside{target="sms"} 0`)
	cronce(t, args("shop", "events", "drop", "webhook", "3", "--reason", "a test", "--who", "Ada")...).want(t, exit.Fine, "webhook: event 3 dropped, recorded for Ada")
	cronce(t, args("shop", "events", "drop", "webhook", "3", "--reason", "a test")...).want(t, exit.Refused, "is not put aside")
	cronce(t, args("shop", "events", "drop", "webhook", "4")...).want(t, exit.WrongUsage, "reason is")
	refuse.Store(0)
	cronce(t, args("shop", "events", "retry", "webhook", "--all")...).want(t, exit.Fine, "webhook: 1 event to be tried again")
	eventually(t, "it is delivered", func() bool { return posted.Load() == 3 })
	eventually(t, "none is put aside", func() bool { return cronce(t, args("shop", "events", "--failed", "-o", "json")...).stdout == "[]\n" })

	refuse.Store(http.StatusServiceUnavailable)
	buy("o-3")
	eventually(t, "two events wait for the webhook", func() bool { return lag() == 2 })
	wantMetrics(t, beside, `cronce_shop_events_waiting{target="webhook"} 2`, `cronce_shop_events_waiting{target="stream"} 0`)
	cronce(t, args("shop", "events", "skip", "webhook", "6", "--reason", "a test")...).want(t, exit.Refused, "that is 5: the event is not the next one")
	cronce(t, args("shop", "events", "skip", "webhook", "5", "--reason", "its handler fails", "--who", "Ada")...).want(t, exit.Fine, "webhook: event 5 put aside, recorded for Ada")
	cronce(t, args("shop", "events", "--failed")...).want(t, exit.Failed, "webhook  5    reserved  o-3", "skipped: its handler fails")
	refuse.Store(0)
	cronce(t, args("shop", "events", "retry", "webhook", "5")...).want(t, exit.Fine)
	eventually(t, "both are delivered", func() bool { return posted.Load() == 5 })
	for _, wrong := range [][]string{{"retry", "webhook"}, {"retry", "webhook", "x"}, {"drop", "webhook"}, {"skip", "webhook"}, {"-n", "0"}} {
		cronce(t, args(append([]string{"shop", "events"}, wrong...)...)...).want(t, exit.WrongUsage)
	}
	if text := shop.stderr.String(); strings.Contains(text, "4915112345678") || strings.Contains(text, "Lovelace") {
		t.Error("the log names the buyer")
	}
}

// wantMetrics checks lines of a scrape.
func wantMetrics(t *testing.T, url string, lines ...string) {
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
	for _, line := range lines {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
}
