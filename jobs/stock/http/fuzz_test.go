package stockhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// Whatever is sent, the answer is a problem that does not repeat it, or the store
// is asked, which is not there.
func FuzzBody(f *testing.F) {
	f.Add(teaForTwo)
	f.Add(`{"total":1}`)
	f.Add(`{"id":1}`)
	f.Add(`[[[[`)
	s, err := stock.NewSale(connect(f, "127.0.0.1:1"), stock.Options{})
	if err != nil {
		f.Fatal(err)
	}
	h := stockhttp.NewHandler(s, stockhttp.Options{Timeout: patience})
	f.Fuzz(func(t *testing.T, body string) {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond) // the server is away
		defer stop()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 400, 413, 422, 503:
		default:
			t.Errorf("%q is answered with %d", body, w.Code)
		}
		if kind := w.Header().Get("Content-Type"); kind != "application/problem+json" {
			t.Errorf("%q is answered with %s", body, kind)
		}
	})
}
