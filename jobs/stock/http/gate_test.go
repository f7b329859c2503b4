package stockhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

func orderOf(id string) string {
	return strings.Replace(teaForTwo, "o-1", id, 1)
}

// The store is stopped while 300 buyers order. Those without a place are answered at once: the store goes on only when they
// have their answers. The others, and all of them afterwards, can order, each once.
func TestShedding(t *testing.T) {
	t.Parallel()
	const buyers, places = 300, 100
	server := redisserver.Start(t)
	s := newSale(t, connectPatiently(t, server.Addr()), stock.Options{})
	put(t, s, "tea", 1000)
	h := stockhttp.NewHandler(s, stockhttp.Options{InFlight: places, Wait: time.Millisecond, Timeout: patience})
	web := httptest.NewServer(h)
	defer web.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: buyers}}
	defer client.CloseIdleConnections()
	server.Freeze()
	kinds := make(chan string)
	for i := range buyers {
		go func() { kinds <- send(t, client, web.URL, fmt.Sprint("o-", i)) }()
	}
	for range buyers - places {
		if kind := <-kinds; kind != "503overloaded" {
			t.Errorf("an answer of a silent store: %s", kind)
		}
	}
	server.Thaw()
	for range places {
		if kind := <-kinds; kind != "201" {
			t.Errorf("the answer to an order that has a place: %s", kind)
		}
	}
	if n := h.Shed(); n != buyers-places {
		t.Errorf("counted %d", n)
	}
	for i := range buyers {
		if kind := send(t, client, web.URL, fmt.Sprint("o-", i)); kind != "201" && kind != "200" {
			t.Fatalf("o-%d afterwards: %v", i, kind)
		}
	}
	wantProduct(t, s, "tea", 1000, 1000-2*buyers, 2*buyers, 0)
}

// An order ends with its time while the store is silent, though the client of the store would wait for longer than any test.
func TestSilentStoreIsDoubt(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	s := newSale(t, connectPatiently(t, server.Addr()), stock.Options{})
	put(t, s, "tea", 10)
	web := httptest.NewServer(stockhttp.NewHandler(s, stockhttp.Options{Timeout: 500 * time.Millisecond}))
	defer web.Close()
	server.Freeze()
	if kind := send(t, web.Client(), web.URL, "o-1"); kind != "503doubt" {
		t.Errorf("the answer of a silent store: %s", kind)
	}
	server.Thaw()
	await(t, "it sells again", func() bool { kind := send(t, web.Client(), web.URL, "o-1"); return kind == "201" || kind == "200" })
	wantProduct(t, s, "tea", 10, 8, 2, 0)
}

// connectPatiently is connect with a client that waits for an answer for an hour.
func connectPatiently(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Hour, ContextTimeoutEnabled: true, PoolSize: 200})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// send orders tea for two, and returns the status and the kind of the answer.
func send(t *testing.T, client *http.Client, url, id string) string {
	r, err := client.Post(url+"/orders", "application/json", strings.NewReader(orderOf(id)))
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close()
	var p struct{ Type string }
	_ = json.NewDecoder(r.Body).Decode(&p)
	if r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	return fmt.Sprint(r.StatusCode, strings.TrimPrefix(p.Type, "urn:cronce:stock:"))
}

// A stall keeps commands that name a key that ends so, until it is over.
type stall struct {
	suffix  string
	stalled chan struct{} // gets a value for each
	over    chan struct{}
}

func (s *stall) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *stall) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *stall) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		for _, arg := range cmd.Args() {
			if text, ok := arg.(string); ok && strings.HasSuffix(text, s.suffix) {
				s.stalled <- struct{}{}
				<-s.over
				break
			}
		}
		return next(ctx, cmd)
	}
}

// Buyers that have taken all their places delay neither readers nor payments, and a buyer
// that comes then waits for a place for a while.
func TestSharesOfPlaces(t *testing.T) {
	t.Parallel()
	client := connect(t, miniredis.RunT(t).Addr())
	s := newSale(t, client, stock.Options{})
	put(t, s, "tea", 10)
	reserve(t, s, "o-2", stock.Item{SKU: "tea", Quantity: 1})
	hook := &stall{suffix: "order:o-1", stalled: make(chan struct{}, 9), over: make(chan struct{})}
	client.AddHook(hook)
	shop := shop{s, stockhttp.NewHandler(s, stockhttp.Options{InFlight: 1, Wait: 20 * time.Millisecond, Timeout: time.Minute})}
	first := make(chan int)
	go func() {
		status, _, _ := shop.send("POST", "/orders", teaForTwo)
		first <- status
	}()
	<-hook.stalled
	if status, answer, header := shop.send("POST", "/orders", orderOf("o-3")); status != 503 || answer["type"] != "urn:cronce:stock:overloaded" || header.Get("Retry-After") == "" {
		t.Errorf("a second order: %d %v %v", status, answer, header)
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/orders/o-2", ""}, {"GET", "/products/tea", ""}, {"PUT", "/products/tea/stock", `{"total":11}`},
		{"POST", "/orders/o-2/pay", `{"reference":"p","amount":625,"currency":"EUR"}`},
	} {
		if status, answer, _ := shop.send(c.method, c.path, c.body); status != 200 {
			t.Errorf("%s %s: %d %v", c.method, c.path, status, answer)
		}
	}
	close(hook.over)
	if status := <-first; status != 201 {
		t.Errorf("the first order: %d", status)
	}
	if status, answer, _ := shop.send("POST", "/orders", orderOf("o-3")); status != 201 {
		t.Errorf("a second order, later: %d %v", status, answer)
	}
}

// A client that sends its body slowly keeps no place.
func TestSlowBodyKeepsNoPlace(t *testing.T) {
	t.Parallel()
	s := newSale(t, connect(t, miniredis.RunT(t).Addr()), stock.Options{})
	put(t, s, "tea", 10)
	h := stockhttp.NewHandler(s, stockhttp.Options{InFlight: 1, Wait: time.Millisecond, Timeout: patience})
	slow, write := io.Pipe()
	done := make(chan int)
	go func() {
		r := httptest.NewRequest("POST", "/orders", slow)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		done <- w.Code
	}()
	_, _ = write.Write([]byte(teaForTwo[:10])) // it is being read now
	if status, answer, _ := (shop{s, h}).send("POST", "/orders", orderOf("o-2")); status != 201 {
		t.Errorf("beside a slow one: %d %v", status, answer)
	}
	_, _ = write.Write([]byte(teaForTwo[10:]))
	_ = write.Close()
	if status := <-done; status != 201 {
		t.Errorf("the slow one: %d", status)
	}
}
