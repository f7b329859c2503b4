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

// Whatever the text of an error, the URL and the reply are not part of the error that Bare returns.
func TestBare(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	untrusted := &tls.CertificateVerificationError{Err: errors.New("certificate signed by unknown authority")}
	for _, c := range []struct{ err, want error }{
		{refused, refused}, {untrusted, untrusted}, {context.DeadlineExceeded, context.DeadlineExceeded}, {fmt.Errorf("body: %w", context.Canceled), context.Canceled},
		{io.EOF, io.EOF}, {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF}, {errors.New(`malformed HTTP status code "secret"`), outbound.ErrFailed},
	} {
		got := outbound.Bare(&url.Error{Op: "Post", URL: "https://portal/?key=secret", Err: c.err})
		if !errors.Is(got, c.want) || strings.Contains(got.Error(), "secret") {
			t.Errorf("%v is shown as %v, want %v", c.err, got, c.want)
		}
	}
}
