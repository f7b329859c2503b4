package stockhttp_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// Pages of products by cursor, and parameters that are not known or not allowed.
func TestHTTPLists(t *testing.T) {
	t.Parallel()
	db := sqlserver.Connect(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	book, err := stock.NewDatabase(db, stock.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	sale := newSale(t, connect(t, miniredis.RunT(t).Addr()), stock.Options{Book: book})
	if err := sale.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := shop{sale, stockhttp.NewHandler(sale, stockhttp.Options{Timeout: patience})}
	put(t, sale, "cup", 10)
	put(t, sale, "tea", 10)
	names := func(answer map[string]any, list, name string) (all string) {
		ones, _ := answer[list].([]any)
		for _, one := range ones {
			fields, _ := one.(map[string]any)
			all += fmt.Sprint(fields[name], " ")
		}
		return all
	}
	next := func(answer map[string]any) string { return url.QueryEscape(fmt.Sprint(answer["next"])) }
	status, answer, _ := s.send("GET", "/products?limit=1", "")
	if status != 200 || names(answer, "products", "sku") != "cup " {
		t.Error(status, answer)
	}
	status, answer, _ = s.send("GET", "/products?limit=1&cursor="+next(answer), "")
	if status != 200 || names(answer, "products", "sku") != "tea " || answer["next"] != nil {
		t.Error(status, answer)
	}
	for _, c := range []struct{ method, path, body, field string }{
		{"GET", "/products?limit=ten", "", "limit"},
		{"GET", "/products?limit=501", "", "limit"},
		{"GET", "/products?state=paid", "", "state"},
		{"GET", "/products?limit=1&limit=2", "", "limit"},
		{"GET", "/products?Limit=1", "", "Limit"},
		{"GET", "/products?cursor=+", "", "cursor"},
		{"GET", "/products?a=%zz", "", "query"},
	} {
		status, answer, _ := s.send(c.method, c.path, c.body)
		if status != 422 || names(answer, "fields", "field") != c.field+" " {
			t.Errorf("%s %s: %d %v, want %s", c.method, c.path, status, answer, c.field)
		}
	}
}

// The requests of a buyer, and their answers.
func TestBuyersOverHTTP(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.SetTime(time.Date(2026, 11, 27, 8, 59, 58, 1e6, time.UTC))
	s := newShop(t, m.Addr())
	ask := func(method, path, body string, status int, want string) http.Header {
		t.Helper()
		got, answer, header := s.send(method, path, body)
		for name, value := range pairs(want) {
			if fmt.Sprint(answer[name]) != value {
				t.Errorf("%s %s %s: %v, want %s", method, path, body, answer, want)
			}
		}
		if got != status {
			t.Errorf("%s %s %s: %d %v, want %d", method, path, body, got, answer, status)
		}
		return header
	}
	const offer = `{"price":350,"currency":"EUR","buyer_limit":3,"starts_at":"2026-11-27T10:00:00+01:00","ends_at":"2026-11-27T10:00:00Z"}`
	ask("PUT", "/products/tea/stock", `{"total":9}`, 200, "")
	ask("PUT", "/products/tea", offer, 200, "buyer_limit 3 starts_at 2026-11-27T09:00:00.000Z ends_at 2026-11-27T10:00:00.000Z")
	ada := `{"id":"o-1","receiver":"Ada Lovelace","buyer":"ada","items":[{"sku":"tea","quantity":2}]}`
	if after := ask("POST", "/orders", ada, 409, "type urn:cronce:stock:not-begun starts_at 2026-11-27T09:00:00.000Z sku tea").Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After %q, want 2", after)
	}
	m.SetTime(time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
	if fields, answer, _ := s.send("POST", "/orders", teaForTwo); fields != 422 || !strings.Contains(fmt.Sprint(answer["fields"]), "field:buyer value:missing") {
		t.Errorf("without a buyer: %d %v", fields, answer)
	}
	ask("POST", "/orders", ada, 201, "buyer ada")
	ask("GET", "/orders/o-1", "", 200, "buyer ada")
	ask("POST", "/orders", strings.Replace(ada, "o-1", "o-2", 1), 409, "type urn:cronce:stock:buyer-limit sku tea left 1 limit 3")
	ask("POST", "/orders", strings.Replace(ada, `"ada"`, `"a@b"`, 1), 422, "type urn:cronce:stock:invalid")
	ask("PUT", "/products/tea", strings.Replace(offer, "+01:00", "", 1), 422, "type urn:cronce:stock:invalid")
	ask("PUT", "/products/tea", strings.Replace(offer, "T10:00:00Z", "T09:00:00Z", 1), 422, "type urn:cronce:stock:invalid")
	m.SetTime(time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC))
	ask("POST", "/orders", strings.Replace(ada, "o-1", "o-3", 1), 409, "type urn:cronce:stock:ended")
}

// pairs reads name value name value ….
func pairs(text string) map[string]string {
	words, all := strings.Fields(text), map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		all[words[i]] = words[i+1]
	}
	return all
}
