package outbound_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/outbound"
)

func ExampleRetryAfter() {
	reply := http.Header{"Retry-After": {"120"}}
	fmt.Println(outbound.RetryAfter(reply, time.Now()))
	// Output: 2m0s
}

func ExampleBare() {
	err := &url.Error{Op: "Post", URL: "https://portal.example/?key=secret", Err: io.EOF}
	fmt.Println(outbound.Bare(err))
	// Output: EOF
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0}, {"7", "", 7 * time.Second}, {" 7 ", "", 7 * time.Second}, {"0", "", 0}, {"-7", "", 0}, {"soon", "", 0},
		{"86399", "", 86399 * time.Second}, {"86401", "", 24 * time.Hour}, {"2147483648", "", 24 * time.Hour}, {"99999999999999999999", "", 24 * time.Hour},
		{at(time.Minute), "", time.Minute}, {at(-time.Minute), "", 0}, {at(100 * time.Hour), "", 24 * time.Hour},
		{at(time.Hour), at(59 * time.Minute), time.Minute}, // the other server's clock, not ours
	} {
		header := http.Header{"Retry-After": {c.after}, "Date": {c.date}}
		if got := outbound.RetryAfter(header, now); got != c.want {
			t.Errorf("Retry-After %q at %q = %v, want %v", c.after, c.date, got, c.want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add([]byte("7"), []byte(""))
	f.Add([]byte(now.Format(http.TimeFormat)), []byte("Sun, 06 Nov 1994 08:49:37 GMT"))
	f.Fuzz(func(t *testing.T, after, date []byte) {
		header := http.Header{"Retry-After": {string(bytes.TrimSpace(after))}, "Date": {string(date)}}
		if d := outbound.RetryAfter(header, now); d < 0 || d > outbound.MaxRetryAfter {
			t.Errorf("Retry-After %q at %q = %v", after, date, d)
		}
	})
}

// A reply that cannot be read has an error that names its kind, and repeats nothing of it.
func TestBareReplies(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(plain.Close)
	for reply, want := range map[string]error{
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("secret", 20<<10) + "\r\n\r\n": outbound.ErrLong,
		"220 secret ESMTP\r\n\r\n":          outbound.ErrNoHTTP,
		"HTTP/1.1 secret OK\r\n\r\n":        outbound.ErrNoHTTP,
		"HTTP/secret 200 OK\r\n\r\n":        outbound.ErrNoHTTP,
		"HTTP/1.1 200 OK\r\nsecret\r\n\r\n": outbound.ErrNoHTTP,
		"":                                  outbound.ErrNoTLS,
	} {
		url := strings.Replace(plain.URL, "http:", "https:", 1) + "/?key=secret"
		if reply != "" {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c, _, _ := w.(http.Hijacker).Hijack()
				_, _ = io.WriteString(c, reply)
				_ = c.Close()
			}))
			t.Cleanup(s.Close)
			url = s.URL + "/?key=secret"
		}
		client := outbound.NewClient(true)
		for name, exchange := range map[string]func(*http.Request) (*http.Response, error){"client": client.Do, "transport": client.Transport.RoundTrip} {
			r, err := http.NewRequest("GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = exchange(r); err == nil {
				t.Fatalf("%s: %.30q is a reply", name, reply)
			}
			if got := outbound.Bare(err); !errors.Is(got, want) || strings.Contains(got.Error(), "secret") {
				t.Errorf("%s: %.30q: %.100q is shown as %v, want %v", name, reply, err.Error(), got, want)
			}
		}
	}
}

// Whatever the text of an error, the URL and the reply are not part of the error that Bare returns.
func TestBare(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	untrusted := &tls.CertificateVerificationError{Err: errors.New("certificate signed by unknown authority")}
	for _, c := range []struct{ err, want error }{
		{refused, refused}, {untrusted, untrusted}, {context.DeadlineExceeded, context.DeadlineExceeded}, {fmt.Errorf("body: %w", context.Canceled), context.Canceled},
		{io.EOF, io.EOF}, {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF}, {errors.New(`malformed HTTP status code "secret"`), outbound.ErrNoHTTP}, {errors.New("secret"), outbound.ErrFailed},
	} {
		got := outbound.Bare(&url.Error{Op: "Post", URL: "https://portal/?key=secret", Err: c.err})
		if !errors.Is(got, c.want) || strings.Contains(got.Error(), "secret") {
			t.Errorf("%v is shown as %v, want %v", c.err, got, c.want)
		}
	}
}
