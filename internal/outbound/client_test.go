package outbound_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/outbound"
)

// A client connects to no private address unless it may, also if a name leads there, follows no
// redirect, and uses no connection twice, no proxy of the environment and no TLS before 1.2.
func TestNewClient(t *testing.T) {
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; !r.Close {
			t.Error("the connection is kept")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, private := range []bool{false, true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:"+port, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		client := outbound.NewClient(private)
		if transport := client.Transport.(*http.Transport); transport.Proxy != nil || transport.TLSClientConfig.MinVersion != tls.VersionTLS12 {
			t.Errorf("%+v", transport)
		}
		reply, err := client.Do(r)
		if _, refused := errors.AsType[*outbound.AddressError](outbound.Bare(err)); refused == private {
			t.Errorf("private addresses allowed: %t: %v", private, err)
		}
		if err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode != http.StatusFound || requests != 1 {
				t.Errorf("%s after %d requests", reply.Status, requests)
			}
		}
	}
}

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example:8443/x?y": "", "http://[::1]:80": "", "https://a.example": "",
		"": "of another scheme", "ftp://a": "of another scheme", "https://": "without a host", "https://me:hunter22@a": "user or password", "https://a:0": "wrong port",
		"https://a:99999": "wrong port", "https://a\x00": "not a URL",
	} {
		if _, fault := outbound.ParseURL(raw); (fault == "") != (want == "") || !strings.Contains(fault, want) {
			t.Errorf("%q: %q, want %q", raw, fault, want)
		}
	}
}
