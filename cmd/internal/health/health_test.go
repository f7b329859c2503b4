package health

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// No proxy keeps an answer about health, and no browser takes it for a page. An outage of the store
// makes a process unready, but leaves it healthy.
func TestHandler(t *testing.T) {
	outage := errors.New("the store is \x1bsilent")
	for _, c := range []struct {
		path string
		err  error
		code int
		body string
	}{
		{"/healthz", nil, http.StatusOK, "ok\n"},
		{"/healthz", outage, http.StatusOK, "ok\n"},
		{"/readyz", nil, http.StatusOK, "ok\na remark\n"},
		{"/readyz", outage, http.StatusServiceUnavailable, "the store is \\x1bsilent\n"},
	} {
		w := httptest.NewRecorder()
		h := Handler(func() error { return c.err }, func() []string { return []string{"a remark"} }, http.NotFoundHandler())
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, http.NoBody))
		r := w.Result() // it has only the fields that were set before the status
		if r.StatusCode != c.code || w.Body.String() != c.body {
			t.Errorf("%s, %v: %d %q", c.path, c.err, r.StatusCode, w.Body.String())
		}
		for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s, %v: %s is %q, want %q", c.path, c.err, name, got, want)
			}
		}
	}
}
