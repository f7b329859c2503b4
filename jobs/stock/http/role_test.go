package stockhttp_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// tokensOf makes a role's own name, as often as needed, its token.
func tokensOf(role stockhttp.Role) []string {
	return []string{"old-" + string(role), "new-" + string(role)}
}

// What each role may do, it may with either of its tokens, and the others may not; without a
// token a request is answered with what it needs, and nothing else about the shop.
func TestHTTPRoles(t *testing.T) {
	t.Parallel()
	sale := newSale(t, connect(t, miniredis.RunT(t).Addr()), stock.Options{})
	s := shop{sale, stockhttp.NewHandler(sale, stockhttp.Options{Timeout: patience, Tokens: tokensOf})}
	put(t, sale, "tea", 100)
	if status, answer, _ := s.send("POST", "/orders", teaForTwo, "Authorization: Bearer old-buyer"); status != 201 {
		t.Fatal(status, answer)
	}
	for _, c := range []struct{ method, path, body, roles string }{
		{"GET", "/products/tea", "", "buyer seller payment"},
		{"PUT", "/products/tea", `{"price":350,"currency":"EUR"}`, "seller"},
		{"PUT", "/products/tea/stock", `{"total":100}`, "seller"},
		{"POST", "/orders", teaForTwo, "buyer"},
		{"GET", "/orders/o-1", "", "buyer seller payment"},
		{"POST", "/orders/o-1/pay", payTea, "payment"},
		{"DELETE", "/orders/o-9", "", "buyer"},
		{"POST", "/orders/o-1/return", `{"reference":"r-1"}`, "seller"},
		{"POST", "/orders/o-1/refund", `{"reference":"f-1","payment":"p-1"}`, "payment"},
	} {
		for _, role := range stockhttp.Roles() {
			may := strings.Contains(c.roles, string(role))
			for _, token := range tokensOf(role) {
				status, answer, _ := s.send(c.method, c.path, c.body, "Authorization: Bearer "+token)
				if refused := status == 403; refused == may || refused && answer["type"] != "urn:cronce:stock:role" {
					t.Errorf("%s %s by %s: %d %v", c.method, c.path, token, status, answer)
				}
			}
		}
		for _, header := range []string{"Authorization: Bearer old", "Authorization: Bearer ", "Authorization: Basic old-buyer", "X-None: 1"} {
			status, answer, headers := s.send(c.method, c.path, c.body, header)
			if status != 401 || answer["type"] != "urn:cronce:stock:token" || !strings.HasPrefix(headers.Get("WWW-Authenticate"), `Bearer realm="shop"`) {
				t.Errorf("%s %s with %s: %d %v %v", c.method, c.path, header, status, answer, headers)
			}
		}
	}
	wantProduct(t, sale, "tea", 100, 98, 2, 0)
}

// A token that two roles have, by a mistake in a file, proves neither: it is refused as one that is
// not known, and logged once, without the token. The others count.
func TestHTTPTokenOfTwoRoles(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	tokens := map[stockhttp.Role][]string{stockhttp.Buyer: {"both", "buyer"}, stockhttp.Seller: {"seller", "both"}, stockhttp.PaymentService: {"payment"}}
	sale := newSale(t, connect(t, miniredis.RunT(t).Addr()), stock.Options{})
	s := shop{sale, stockhttp.NewHandler(sale, stockhttp.Options{Timeout: patience, Log: slog.New(zapslog.NewHandler(core)), Tokens: func(r stockhttp.Role) []string { return tokens[r] }})}
	put(t, sale, "tea", 9)
	for _, c := range []struct {
		method, path, body, token string
		want                      int
	}{
		{"POST", "/orders", teaForTwo, "both", 401}, {"PUT", "/products/tea/stock", `{"total":9}`, "both", 401}, {"GET", "/products/tea", "", "both", 401},
		{"POST", "/orders", teaForTwo, "buyer", 201}, {"PUT", "/products/tea/stock", `{"total":9}`, "seller", 200}, {"GET", "/products/tea", "", "payment", 200},
	} {
		if status, answer, _ := s.send(c.method, c.path, c.body, "Authorization: Bearer "+c.token); status != c.want {
			t.Errorf("%s %s by %s: %d %v", c.method, c.path, c.token, status, answer)
		}
	}
	if all := logs.All(); len(all) != 1 || all[0].Message != "token of several roles" || fmt.Sprint(all[0].ContextMap()) != "map[roles:buyer, seller text:it proves none of them]" {
		t.Errorf("logged %v", all)
	}
}

// A token counts from when it is there until it is taken away; a role without one admits no request.
func TestHTTPTokensChange(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tokens := map[stockhttp.Role][]string{stockhttp.Seller: {"first"}}
	sale := newSale(t, connect(t, miniredis.RunT(t).Addr()), stock.Options{})
	s := shop{sale, stockhttp.NewHandler(sale, stockhttp.Options{Timeout: patience, Tokens: func(r stockhttp.Role) []string {
		mu.Lock()
		defer mu.Unlock()
		return tokens[r]
	}})}
	put(t, sale, "tea", 1)
	status := func(token string) int {
		r := httptest.NewRequest("GET", "/products/tea", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		now           []string
		first, second int
	}{{[]string{"first"}, 200, 401}, {[]string{"first", "second"}, 200, 200}, {[]string{"second"}, 401, 200}, {nil, 401, 401}} {
		mu.Lock()
		tokens[stockhttp.Seller] = c.now
		mu.Unlock()
		if first, second := status("first"), status("second"); first != c.first || second != c.second {
			t.Errorf("with %q: %d and %d, want %d and %d", c.now, first, second, c.first, c.second)
		}
	}
}
