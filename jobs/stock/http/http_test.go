package stockhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
	"github.com/cronce/cronce/scheduler"
)

// A shop is a handler on a store, and how tests talk to it.
type shop struct {
	*stock.Sale
	http.Handler
}

// patience is how long a request may take whose test is not about time: a machine that runs all
// tests at once is slow.
const patience = time.Minute

func newShop(t *testing.T, addr string) shop {
	t.Helper()
	s := newSale(t, connect(t, addr), stock.Options{})
	return shop{s, stockhttp.NewHandler(s, stockhttp.Options{Timeout: patience})}
}

// send returns the status and the body of the answer; header is name: value.
func (s shop) send(method, path, body string, header ...string) (int, map[string]any, http.Header) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if known := statusesOf(method, path); known != nil && !slices.Contains(known, w.Code) {
		panic(fmt.Sprintf("%s %s is answered with %d, which openapi.json does not have", method, path, w.Code))
	}
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return w.Code, answer, w.Header()
}

const teaForTwo = `{"id":"o-1","receiver":"Ada Lovelace","items":[{"sku":"tea","quantity":2}]}`

const payTea = `{"reference":"p-1","amount":700,"currency":"EUR"}`

// The whole life of a sale, as the documentation describes it.
func TestHTTP(t *testing.T) {
	s := newShop(t, miniredis.RunT(t).Addr())
	teaForAll := strings.Replace(teaForTwo, `"o-1"`, `"o-2"`, 1)
	for i, c := range []struct {
		method, path, body string
		status             int
		want               string // of the answer's fields, some
	}{
		{"GET", "/products/tea", "", 404, "type urn:cronce:stock:unknown-product status 404"},
		{"PUT", "/products/tea/stock", `{"total":3}`, 200, "sku tea total 3 stock 3 reserved 0 sold 0 price <nil>"},
		{"POST", "/orders", teaForTwo, 409, "type urn:cronce:stock:no-price"},
		{"PUT", "/products/tea", `{"price":350,"currency":"EUR"}`, 200, "sku tea total 3 stock 3 reserved 0 sold 0 price 350 currency EUR"},
		{"POST", "/orders", teaForTwo, 201, "id o-1 state reserved receiver A*** amount 700 currency EUR"},
		{"POST", "/orders", teaForTwo, 200, "id o-1 state reserved"},
		{"POST", "/orders", strings.Replace(teaForTwo, ":2}", ":1}", 1), 409, "type urn:cronce:stock:id-taken"},
		{"POST", "/orders", teaForAll, 409, "type urn:cronce:stock:sold-out sku tea left 1 title sold out"},
		{"POST", "/orders", strings.Replace(teaForAll, "tea", "pot", 1), 422, "type urn:cronce:stock:unknown-product status 422"},
		{"GET", "/orders/o-1", "", 200, "id o-1 state reserved items [map[amount:700 price:350 quantity:2 sku:tea]]"},
		{"GET", "/orders/o-2", "", 404, "type urn:cronce:stock:unknown-order"},
		{"PUT", "/products/tea/stock", `{"total":1}`, 409, "type urn:cronce:stock:too-low"},
		{"POST", "/orders/o-1/pay", strings.Replace(payTea, "700", "699", 1), 422, "type urn:cronce:stock:invalid fields [map[allowed:exactly 700 EUR field:amount value:another than the order's]]"},
		{"POST", "/orders/o-1/return", `{"reference":"r-1"}`, 409, "type urn:cronce:stock:unpaid"},
		{"POST", "/orders/o-1/pay", payTea, 200, "id o-1 state paid"},
		{"POST", "/orders/o-1/pay", payTea, 200, "id o-1 state paid"},
		{"POST", "/orders/o-1/pay", strings.Replace(payTea, "p-1", "p-2", 1), 409, "type urn:cronce:stock:closed state paid to_refund p-2"},
		{"GET", "/orders/o-1", "", 200, "id o-1 state paid to_refund [p-2]"},
		{"POST", "/orders/o-1/refund", `{"reference":"f-1","payment":"p-2"}`, 200, "id o-1 state paid to_refund <nil>"},
		{"POST", "/orders/o-1/refund", `{"reference":"f-2","payment":"p-2"}`, 409, "type urn:cronce:stock:refunded"},
		{"POST", "/orders/o-1/refund", `{"reference":"p-1","payment":"p-1"}`, 409, "type urn:cronce:stock:reference-taken"},
		{"DELETE", "/orders/o-1", "", 409, "type urn:cronce:stock:closed state paid"},
		{"PUT", "/products/tea/stock", `{"total":4}`, 200, "total 4 stock 2 sold 2"},
		{"POST", "/orders", teaForAll, 201, "id o-2"},
		{"DELETE", "/orders/o-2", "", 200, "id o-2 state cancelled"},
		{"DELETE", "/orders/o-2", "", 200, "id o-2 state cancelled"},
		{"POST", "/orders/o-2/pay", payTea, 409, "type urn:cronce:stock:reference-taken"},
		{"POST", "/orders/o-2/pay", strings.Replace(payTea, "p-1", "p-3", 1), 409, "type urn:cronce:stock:closed state cancelled to_refund p-3"},
		{"POST", "/orders/nobody/pay", payTea, 404, "type urn:cronce:stock:unknown-order"},
		{"GET", "/products/tea", "", 200, "total 4 stock 2 reserved 0 sold 2"},
		{"POST", "/orders/o-1/return", `{"reference":"r-1"}`, 200, "id o-1 state returned"},
		{"POST", "/orders/o-1/return", `{"reference":"r-1"}`, 200, "id o-1 state returned"},
		{"POST", "/orders/o-1/refund", `{"reference":"f-3","payment":"p-1"}`, 200, "id o-1 state refunded"},
		{"GET", "/products/tea", "", 200, "total 4 stock 4 reserved 0 sold 0"},
	} {
		status, answer, header := s.send(c.method, c.path, c.body)
		if status != c.status {
			t.Errorf("%d: %s %s: %d %v, want %d", i, c.method, c.path, status, answer, c.status)
		}
		wantFields(t, answer, c.want)
		kind := "application/json"
		if status >= 400 {
			kind = "application/problem+json"
		}
		if header.Get("Content-Type") != kind || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d: header %v", i, header)
		}
	}
}

// wantFields checks fields of an answer: name value name value, where a value may
// have spaces if it is the last.
func wantFields(t *testing.T, answer map[string]any, want string) {
	t.Helper()
	for name, rest := "", want; rest != ""; {
		name, rest, _ = strings.Cut(rest, " ")
		value := fmt.Sprint(answer[name])
		if !strings.HasPrefix(rest, value) {
			t.Errorf("%s is %q in %v, want %s", name, value, answer, want)
			return
		}
		rest = strings.TrimPrefix(rest[len(value):], " ")
	}
}

func TestHTTPRefuses(t *testing.T) {
	s := newShop(t, miniredis.RunT(t).Addr())
	put(t, s.Sale, "tea", 100)
	change := func(from, to string) string { return strings.Replace(teaForTwo, from, to, 1) }
	for _, c := range []struct {
		name, method, path, body, header string
		status                           int
		kind, fields                     string
	}{
		{name: "no id", method: "POST", path: "/orders", body: change(`"o-1"`, `""`), status: 422, kind: "invalid", fields: "id"},
		{name: "a long id", method: "POST", path: "/orders", body: change("o-1", strings.Repeat("x", 65)), status: 422, kind: "invalid", fields: "id"},
		{name: "nothing", method: "POST", path: "/orders", body: "{}", status: 422, kind: "invalid", fields: "id receiver items"},
		{name: "no quantity", method: "POST", path: "/orders", body: change(":2}", ":0}"), status: 422, kind: "invalid", fields: "items[0].quantity"},
		{name: "half a tea", method: "POST", path: "/orders", body: change(":2}", ":0.5}"), status: 422, kind: "invalid", fields: "items.quantity"},
		{name: "a word for a number", method: "POST", path: "/orders", body: change(":2}", `:"2"}`), status: 422, kind: "invalid", fields: "items.quantity"},
		{name: "too large a number", method: "POST", path: "/orders", body: change(":2}", `:99999999999999999999}`), status: 422, kind: "invalid", fields: "items.quantity"},
		{name: "an amount", method: "POST", path: "/orders", body: change(`"id"`, `"amount":0,"id"`), status: 422, kind: "invalid", fields: "amount"},
		{name: "a price of one's own", method: "POST", path: "/orders", body: change(`"quantity"`, `"price":0,"quantity"`), status: 422, kind: "invalid", fields: "price"},
		{name: "no price", method: "PUT", path: "/products/tea", body: `{}`, status: 422, kind: "invalid", fields: "price currency"},
		{name: "a negative price", method: "PUT", path: "/products/tea", body: `{"price":-1,"currency":"EUR"}`, status: 422, kind: "invalid", fields: "price"},
		{name: "no payment", method: "POST", path: "/orders/o-1/pay", body: `{"reference":"p-1","currency":"EUR"}`, status: 422, kind: "invalid", fields: "amount"},
		{name: "nothing of a payment", method: "POST", path: "/orders/o-1/pay", body: `{"amount":0}`, status: 422, kind: "invalid", fields: "reference currency"},
		{name: "nothing of a refund", method: "POST", path: "/orders/o-1/refund", body: `{}`, status: 422, kind: "invalid", fields: "reference payment"},
		{name: "nothing of a return", method: "POST", path: "/orders/o-1/return", body: `{}`, status: 422, kind: "invalid", fields: "reference"},
		{name: "an unknown field", method: "POST", path: "/orders", body: change(`"id"`, `"price":1,"id"`), status: 422, kind: "invalid", fields: "price"},
		{name: "a field that none could be", method: "POST", path: "/orders", body: change(`"id"`, `"a b":0,"id"`), status: 422, kind: "invalid", fields: `"a b"`},
		{name: "the second item", method: "POST", path: "/orders", body: change(`[{`, `[{"sku":"cup","quantity":1},{"sku":5,`), status: 422, kind: "invalid", fields: "items.sku"},
		{name: "null", method: "POST", path: "/orders", body: "null", status: 422, kind: "invalid", fields: "id receiver items"},
		{name: "a comma too many", method: "POST", path: "/orders", body: change(`"items"`, `,"items"`), status: 400, kind: "malformed"},
		{name: "not UTF-8", method: "POST", path: "/orders", body: change("Ada", "Zo\xeb"), status: 422, kind: "invalid", fields: "receiver"},
		{name: "half a character", method: "POST", path: "/orders", body: change("Ada", `\ud83d`), status: 422, kind: "invalid", fields: "receiver"},
		{name: "no JSON", method: "POST", path: "/orders", body: "id=o-1", status: 400, kind: "malformed"},
		{name: "half of it", method: "POST", path: "/orders", body: teaForTwo[:50], status: 400, kind: "malformed"},
		{name: "two of it", method: "POST", path: "/orders", body: teaForTwo + teaForTwo, status: 400, kind: "malformed"},
		{name: "too much", method: "POST", path: "/orders", body: change("Ada", strings.Repeat("A", 70_000)), status: 413, kind: "too-large"},
		{name: "a form", method: "POST", path: "/orders", body: teaForTwo, header: "Content-Type: text/plain", status: 415, kind: "media-type"},
		{name: "another site", method: "POST", path: "/orders", body: teaForTwo, header: "Origin: https://evil.example", status: 403, kind: "cross-origin"},
		{name: "a bad sku", method: "PUT", path: "/products/a=b/stock", body: `{"total":1}`, status: 422, kind: "invalid", fields: "sku"},
		{name: "no total", method: "PUT", path: "/products/tea/stock", body: `{}`, status: 422, kind: "invalid", fields: "total"},
		{name: "a negative total", method: "PUT", path: "/products/tea/stock", body: `{"total":-1}`, status: 422, kind: "invalid", fields: "total"},
		{name: "a bad id", method: "GET", path: "/orders/a%20b", status: 422, kind: "invalid", fields: "id"},
		{name: "the wrong method", method: "PATCH", path: "/orders/o-1", status: 405, kind: "method"},
		{name: "nowhere", method: "GET", path: "/customers", status: 404, kind: "not-found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var headers []string
			if c.header != "" {
				headers = append(headers, c.header)
			}
			status, answer, header := s.send(c.method, c.path, c.body, headers...)
			var fields []string
			list, _ := answer["fields"].([]any)
			for _, f := range list {
				fields = append(fields, fmt.Sprint(f.(map[string]any)["field"]))
			}
			if status != c.status || answer["type"] != "urn:cronce:stock:"+c.kind || strings.Join(fields, " ") != c.fields {
				t.Errorf("%d %v, want %d %s, fields %q", status, answer, c.status, c.kind, c.fields)
			}
			if strings.Contains(fmt.Sprint(answer), "Ada") {
				t.Errorf("%v names the receiver", answer)
			}
			if c.status == 405 && header.Get("Allow") != "DELETE, GET" {
				t.Errorf("Allow: %q", header.Get("Allow"))
			}
		})
	}
	wantProduct(t, s.Sale, "tea", 100, 100, 0, 0)
}

// A value of the wrong kind is reported in the words of JSON, and not repeated.
func TestHTTPNamesKinds(t *testing.T) {
	s := newShop(t, miniredis.RunT(t).Addr())
	for body, want := range map[string]string{
		`[]`:                             "body is an array, must be an object",
		`"Ada"`:                          "body is a string, must be an object",
		`{"id":5}`:                       "id is a number, must be a string",
		`{"receiver":{"name":"A"}}`:      "receiver is an object, must be a string",
		`{"items":[{"quantity":"Ada"}]}`: "items.quantity is a string, must be a whole number",
		`{"items":[{"quantity":7.5}]}`:   "items.quantity is a number, must be a whole number",
		`{"items":[{"quantity":true}]}`:  "items.quantity is true or false, must be a whole number",
		`{"items":{}}`:                   "items is an object, must be an array",
		`{"items":[7]}`:                  "items is a number, must be an object",
	} {
		status, answer, _ := s.send("POST", "/orders", body)
		list, _ := answer["fields"].([]any)
		if status != 422 || len(list) != 1 {
			t.Errorf("%s: %d %v", body, status, answer)
			continue
		}
		f, _ := list[0].(map[string]any)
		if got := fmt.Sprintf("%v is %v, must be %v", f["field"], f["value"], f["allowed"]); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// Without a store the client learns that it does not know, and nothing about us:
// the log does, and nothing about the client.
func TestHTTPDoubt(t *testing.T) {
	server := miniredis.RunT(t)
	client := connect(t, server.Addr())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	client.AddHook(refused(stop))
	s := shop{Sale: newSale(t, client, stock.Options{})}
	core, logs := observer.New(zap.InfoLevel)
	s.Handler = stockhttp.NewHandler(s.Sale, stockhttp.Options{Log: slog.New(zapslog.NewHandler(core))})
	server.SetError("LOADING Redis is loading the dataset in memory")
	r := httptest.NewRequestWithContext(ctx, "POST", "/orders", strings.NewReader(teaForTwo))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Body)
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || !strings.Contains(string(body), "urn:cronce:stock:doubt") || strings.Contains(string(body), "LOADING") {
		t.Errorf("%d %s", w.Code, body)
	}
	reported := logs.FilterMessage("request in doubt").All()
	if len(reported) != 1 || !strings.Contains(fmt.Sprint(reported[0].ContextMap()["err"]), "LOADING") || strings.Contains(fmt.Sprint(reported), "Ada") {
		t.Errorf("the log has %v", reported)
	}
}

// refused is a hook that calls a function when the server has refused a command.
type refused func()

func (refused) DialHook(next redis.DialHook) redis.DialHook { return next }

func (refused) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (stop refused) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil {
			stop()
		}
		return err
	}
}

// An order that is closed has none of what it asks for: asked for again, it is not
// answered as if it had.
func TestHTTPClosedAgain(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	at := time.UnixMilli(1_795_207_852_937)
	m.SetTime(at)
	client := connect(t, m.Addr())
	sale := newSale(t, client, stock.Options{Hold: time.Minute})
	s := shop{sale, stockhttp.NewHandler(sale, stockhttp.Options{Timeout: patience})}
	put(t, sale, "tea", 9)
	ids := map[string]string{"o-1": "expired", "o-2": "cancelled", "o-3": "expired"}
	for id := range ids {
		if status, answer, _ := s.send("POST", "/orders", strings.Replace(teaForTwo, "o-1", id, 1)); status != 201 {
			t.Fatal(status, answer)
		}
	}
	if _, err := sale.Cancel(t.Context(), "o-2"); err != nil {
		t.Fatal(err)
	}
	m.SetTime(at.Add(time.Minute))
	closed := func(id string) {
		t.Helper()
		status, answer, _ := s.send("POST", "/orders", strings.Replace(teaForTwo, "o-1", id, 1))
		if status != 409 || answer["type"] != "urn:cronce:stock:closed" || answer["state"] != ids[id] {
			t.Errorf("%s: %d %v, want 409 closed, %s", id, status, answer, ids[id])
		}
		status, answer, _ = s.send("GET", "/orders/"+id, "")
		if status != 200 || answer["state"] != ids[id] {
			t.Errorf("%s: %d %v, want 200, %s", id, status, answer, ids[id])
		}
	}
	closed("o-3") // which no job has looked at yet
	if err := stock.ReleaseExpired(sale).Func(t.Context(), &scheduler.Run{Fence: 1}); err != nil {
		t.Fatal(err)
	}
	for id := range ids {
		closed(id)
	}
}

// A store that is full has changed nothing, and the answer says so, instead of doubt.
func TestHTTPFullStore(t *testing.T) {
	t.Parallel()
	client := connect(t, redisserver.Start(t, "--maxmemory-policy", "noeviction").Addr())
	sale := newSale(t, client, stock.Options{})
	s := shop{sale, stockhttp.NewHandler(sale, stockhttp.Options{Timeout: patience})}
	put(t, sale, "tea", 5)
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/orders", teaForTwo}, {"PUT", "/products/tea/stock", `{"total":6}`}, {"PUT", "/products/tea", `{"price":1,"currency":"EUR"}`},
	} {
		if status, answer, _ := s.send(c.method, c.path, c.body); status != 507 || answer["type"] != "urn:cronce:stock:store-full" || answer["detail"] != "nothing was changed" {
			t.Errorf("%s %s: %d %v, want 507 store-full", c.method, c.path, status, answer)
		}
	}
	wantProduct(t, sale, "tea", 5, 5, 0, 0)
}
