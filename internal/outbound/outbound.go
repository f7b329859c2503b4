// Package outbound supports requests that are posted over HTTP to programs of other parties: it
// reads when such a program accepts requests again, and removes secrets from errors.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the largest value that RetryAfter returns.
const MaxRetryAfter = 24 * time.Hour

// RetryAfter reads Retry-After of a reply that came at now: seconds, or a date, which is compared
// with the reply's own Date, so that the local clock does not matter. It returns zero if there is
// no usable value.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(MaxRetryAfter/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(0, until.Sub(now)), MaxRetryAfter)
}

// These errors replace errors whose text may repeat the URL or the reply: net/http quotes a status
// or a Location that it cannot read.
var (
	ErrNoTLS  = errors.New("the server does not speak TLS on this port")
	ErrLong   = errors.New("the headers of the reply are too long")
	ErrNoHTTP = errors.New("the reply is not HTTP, or is malformed")
	ErrFailed = errors.New("the exchange failed")
)

// Bare returns the error of an exchange without the URL, which may contain a key, and without the
// reply, which may repeat the request. Only errors of kinds that contain neither keep their text.
func Bare(err error) error {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return ErrNoTLS
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e
	}
	for _, plain := range []error{context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, plain) {
			return plain
		}
	}
	switch text := fmt.Sprint(err); { // net/http has no types for these
	case strings.Contains(text, "response headers exceeded"):
		return ErrLong
	case strings.Contains(text, "malformed"):
		return ErrNoHTTP
	}
	return ErrFailed
}
