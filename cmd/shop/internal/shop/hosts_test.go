package shop

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cronce/cronce/cmd/shop/internal/settings"
)

// A browser that a page of another site directs here by its own name is refused.
func TestOnlyHosts(t *testing.T) {
	s := settings.Shop{Address: "shop.internal:8081", Hosts: []string{"Shop.Example.com", "dotted.example."}}
	fine := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for host, want := range map[string]int{
		"127.0.0.1:8081": 200, "[::1]:8081": 200, "[::1]": 200, "10.1.2.3": 200, "localhost:8081": 200, "LOCALHOST": 200, "localhost.": 200,
		"shop.internal:1": 200, "dotted.example": 200, "shop.example.com": 200, "shop.example.com.:443": 200,
		"evil.example:8081": 421, "": 421, "shop.example.com.evil.example": 421, "127.0.0.1.evil.example:8081": 421, "localhost.evil.example": 421, "*": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/products/tea", nil)
		r.Host = host
		w := httptest.NewRecorder()
		onlyHosts(s.ServedAs(), fine).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
	if !hostAllowed([]string{anyHost}, "evil.example") {
		t.Error("* does not allow any")
	}
}
