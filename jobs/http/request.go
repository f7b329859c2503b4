package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	nethttp "net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/outbound"
)

// DefaultTimeout bounds a request and its response if Request.Timeout is zero.
const DefaultTimeout = 30 * time.Second

// A Request is the work of a job. Only URL is required. A function made from it keeps a copy.
type Request struct {
	// Method is GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS. Empty: GET.
	Method string
	// URL is an http or https URL, without user and password. Errors do not repeat it.
	URL string
	// Headers are sent unchanged. The headers in the comment of the package, and headers that
	// belong to the connection, such as Host and Content-Length, are refused.
	Headers map[string]string
	// SecretHeaders has functions that return the values of further headers. They are called for
	// each request, possibly concurrently, so that a value can be replaced at run time. The values
	// are masked in responses.
	SecretHeaders map[string]func() string
	// Secrets are further texts to mask in responses, such as a token in URL.
	Secrets []string
	// Body is a template of package text/template, up to 64 KiB when rendered. It has the fields
	// Job, Tick, RunID, Fence and Attempt. Tick prints as RFC 3339 with milliseconds, in UTC, and
	// has the methods of time.Time. All fields are escaped for a JSON string, and the Content-Type
	// is application/json unless Headers set another. Empty: the request has no body.
	Body string
	// Expect lists the statuses that count as success. Empty: 200 to 299.
	Expect []int
	// Timeout bounds a request and its response. The request also ends when the lease of the run
	// can no longer be trusted. Zero: DefaultTimeout.
	Timeout time.Duration
	// MaxRetryAfter bounds the time in Retry-After for which a run waits before its next try. A longer
	// one ends the run as failed. It is apart from scheduler.Retry.Max. Zero: an hour.
	MaxRetryAfter time.Duration
	// Idempotent declares that the server does the work of one Idempotency-Key once, however often
	// the request is sent. Then a request without a response may be sent again.
	Idempotent bool
	// AllowPrivate allows addresses that are not public: loopback, private, link-local (with the
	// metadata of a cloud), shared, multicast, and others that are reserved.
	AllowPrivate bool
	// Proxy is the URL of an http or https proxy, without user and password. The proxy resolves the
	// host of URL, so only the proxy can refuse addresses. Empty: no proxy, also if variables of
	// the environment name one.
	Proxy string
}

// A FieldError is a fault in a Request. It contains neither a URL nor the value of a header.
type FieldError struct {
	Field, Value, Allowed string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("http: %s is %s, must be %s", e.Field, e.Value, e.Allowed)
}

// methods are the allowed methods; the value reports whether a request can be repeated.
var methods = map[string]bool{"GET": true, "HEAD": true, "PUT": true, "DELETE": true, "OPTIONS": true, "POST": false, "PATCH": false}

// Repeatable reports whether the request may be sent again if it is not known whether the server
// has done its work: its method is idempotent, or Idempotent is set.
func (r *Request) Repeatable() bool { return r.Idempotent || r.Method == "" || methods[r.Method] }

// check returns the faults of a request.
func (r *Request) check() error {
	var errs []error
	bad := func(field, allowed, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Sprintf(format, args...), allowed})
	}
	if _, ok := methods[r.Method]; !ok && r.Method != "" {
		bad("method", strings.Join(slices.Sorted(maps.Keys(methods)), ", "), "%q", r.Method)
	}
	u, err := checkURL("url", r.URL)
	errs = append(errs, err)
	if u != nil && r.Proxy == "" && !r.AllowPrivate {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !outbound.Public(ip) {
			bad("url", "one with a public address, unless AllowPrivate is true", "one with the address %v", ip)
		}
	}
	if r.Proxy != "" {
		_, err := checkURL("proxy", r.Proxy)
		errs = append(errs, err)
	}
	errs = append(errs, r.checkHeaders()...)
	errs = append(errs, r.checkBody())
	for i, status := range r.Expect {
		if status < 200 || status > 599 {
			bad(fmt.Sprintf("expect[%d]", i), "200 to 599", "%d", status)
		}
	}
	if r.Timeout < 0 {
		bad("timeout", "0 or more", "%v", r.Timeout)
	}
	if r.MaxRetryAfter < 0 {
		bad("max_retry_after", "0 or more", "%v", r.MaxRetryAfter)
	}
	return errors.Join(errs...)
}

// checkURL returns a parsed URL, or a *FieldError.
func checkURL(field, raw string) (*url.URL, error) {
	u, fault := outbound.ParseURL(raw)
	if fault != "" {
		return nil, &FieldError{field, fault, outbound.AllowedURL}
	}
	return u, nil
}

// reserved are headers that the client or this package sets.
var reserved = []string{"Connection", "Content-Length", "Expect", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade"}

func (r *Request) checkHeaders() (errs []error) {
	seen := map[string]bool{}
	names := append(slices.Sorted(maps.Keys(r.Headers)), slices.Sorted(maps.Keys(r.SecretHeaders))...)
	for _, name := range names {
		canonical := nethttp.CanonicalHeaderKey(name)
		value, secret := r.SecretHeaders[name]
		switch {
		case !token.MatchString(name):
			errs = append(errs, &FieldError{"headers", strconv.Quote(name), "names of headers"})
		case slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, "Cronce-"):
			errs = append(errs, &FieldError{"headers." + name, "set", "left out: the client sets it, or it belongs to the connection"})
		case seen[canonical]:
			errs = append(errs, &FieldError{"headers." + name, "there twice", "there once, in any case of its letters"})
		case !isValue(r.Headers[name]):
			errs = append(errs, &FieldError{"headers." + name, "not printable", "one line of printable characters"})
		case secret && value == nil:
			errs = append(errs, &FieldError{"headers." + name, "nil", "a function that returns its value"})
		}
		seen[canonical] = true
	}
	return errs
}

// token matches a text that is valid as the name of a header (RFC 9110, 5.6.2).
var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// isValue reports whether a text is valid as the value of a header (RFC 9110, 5.5).
func isValue(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// checkBody renders the body for a sample run.
func (r *Request) checkBody() error {
	b, err := parseBody(r.Body)
	if err != nil {
		return &FieldError{"body", "a template with a fault (" + templateFault(err) + ")", bodyAllowed}
	}
	text, err := b.render(sample())
	switch {
	case errors.Is(err, errTooLong):
		return &FieldError{"body", "longer when it is rendered", fmt.Sprintf("up to %d bytes", maxBody)}
	case err != nil:
		return &FieldError{"body", "a template with a fault (" + templateFault(err) + ")", bodyAllowed}
	case r.Body != "" && isJSON(r.header().Get("Content-Type")) && !json.Valid([]byte(text)):
		return &FieldError{"body", "no JSON when it is rendered", "JSON, or have another Content-Type in headers"}
	}
	return nil
}

const bodyAllowed = "a template with the fields .Job, .Tick, .RunID, .Fence and .Attempt"

// isJSON reports whether a Content-Type is a JSON type.
func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// header returns the headers of all requests.
func (r *Request) header() nethttp.Header {
	h := nethttp.Header{"User-Agent": {"cronce"}}
	if r.Body != "" {
		h.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return h
}
