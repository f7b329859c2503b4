package bearer_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/cronce/cronce/internal/bearer"
)

func Example() {
	r := httptest.NewRequest("GET", "/orders", nil)
	w := httptest.NewRecorder()
	bearer.Demand(w, r, "shop")
	fmt.Println(w.Header().Get("WWW-Authenticate"))
	r.Header.Set("Authorization", "Bearer new")
	fmt.Println(bearer.Is(r, "old", "new"))
	// Output:
	// Bearer realm="shop"
	// true
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		header string
		known  []string
		want   bool
	}{
		{"Bearer one", []string{"one"}, true},
		{"Bearer two", []string{"one", "two", "three"}, true},
		{"bearer one", []string{"one"}, true}, // the scheme is not case-sensitive
		{"Bearer  one ", []string{"one"}, true},
		{"Bearer on", []string{"one"}, false},
		{"Bearer onetwo", []string{"one", "two"}, false},
		{"Bearer one two", []string{"one", "two"}, false},
		{"Bearer one", nil, false},
		{"Bearer one", []string{""}, false},
		{"Bearer one", []string{"one\r\n"}, true},
		{"Bearer ", []string{""}, false},
		{"Bearer ", []string{"\n"}, false},
		{"Bearer", []string{"", "one"}, false},
		{"", []string{"", "one"}, false},
		{"one", []string{"one"}, false},
		{"Basic one", []string{"one"}, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		if got := bearer.Is(r, c.known...); got != c.want {
			t.Errorf("%q of %q: %t, want %t", c.header, c.known, got, c.want)
		}
	}
}

func TestDemand(t *testing.T) {
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer stale")
	bearer.Demand(w, r, "shop")
	if got := w.Header().Get("WWW-Authenticate"); got != `Bearer realm="shop", error="invalid_token"` {
		t.Error(got)
	}
}
