package stockhttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

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
