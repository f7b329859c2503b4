package sms

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/cronce/cronce/internal/outbound"
)

// Defaults and bounds of the HTTP gateway.
const (
	DefaultTimeout = 10 * time.Second
	maxReply       = 64 << 10 // bytes read of a reply, so that its connection can be used again
)

// A Secret is a string that prints as ***. Convert it to string to use it.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the secret.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText hides the secret from JSON, YAML and logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// line returns the secret without the line break with which a file ends, and whether a header can have it.
func (s Secret) line() (text string, ok bool) {
	text = strings.TrimRight(string(s), "\r\n")
	return text, !strings.ContainsFunc(text, unicode.IsControl)
}

// HTTPConfig has the options of an HTTP gateway. Only URL is required.
type HTTPConfig struct {
	// URL receives the messages: http or https, without a password.
	URL string
	// Token is sent as Authorization: Bearer, without the line break at its end. Empty: none. It is never logged.
	Token Secret
	// TokenSource, if not nil, returns the token before each request instead, so that it can be
	// replaced at run time. It may be called concurrently. A token of several lines pauses the gateway.
	TokenSource func() Secret
	// Timeout bounds one request and its reply. Zero: DefaultTimeout.
	Timeout time.Duration
	// Client makes the requests. Nil: one of its own. Redirects are not followed.
	Client *http.Client
}

// HTTP is a gateway that posts each message as JSON:
//
//	POST <URL>
//	Content-Type: application/json
//	Idempotency-Key: <id>
//
//	{"id":"…","to":"+…","text":"…"}
//
// with "until" (RFC 3339) if the message expires, so that the gateway can drop it later.
//
// Status 2xx accepts the message. 401, 402, 405, 407 and 429 concern the sender (credentials,
// credit, URL, rate), and so does an unreachable server: they pause the gateway, for
// Retry-After if the reply has one. 403, 408, 425, 3xx, 5xx and a missing reply pause it
// unless other messages get through. The same holds for 404, 406, 410 and 415, which a wrong
// URL replies to every message; if others get through in three runs, the message fails. Any
// other 4xx fails the message at once. It may be used concurrently.
type HTTP struct {
	config HTTPConfig
	client http.Client
}

// NewHTTP returns an HTTP gateway, or an error that joins a *FieldError for each
// setting that is not allowed.
func NewHTTP(config HTTPConfig) (*HTTP, error) {
	var faults []error
	if err := checkURL(config.URL); err != nil {
		faults = append(faults, err)
	}
	if config.Timeout < 0 {
		faults = append(faults, &FieldError{"timeout", config.Timeout.String(), "0 for the default, or more"})
	}
	if _, ok := config.Token.line(); !ok {
		faults = append(faults, &FieldError{"token", "hidden", "one line"})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("sms: new HTTP gateway: %w", err)
	}
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	g := &HTTP{config: config}
	if config.Client != nil {
		g.client = *config.Client
	} else {
		g.client.Transport = transport()
	}
	// A redirect would send the token to another server, or turn the POST into a GET.
	g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return g, nil
}

// transport returns a transport that keeps one connection per concurrent request.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = maxConcurrency
	// A server closes idle connections, many after five seconds. A request that meets that is in doubt.
	t.IdleConnTimeout = 2 * time.Second
	return t
}

func checkURL(raw string) error {
	// The errors repeat no part of the URL, which may contain a secret, even in its query.
	const allowed = "an http or https URL with a host and without user or password"
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return &FieldError{"url", "not a URL", allowed}
	case u.User != nil:
		return &FieldError{"url", "one with a user or password", allowed}
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return &FieldError{"url", "of another scheme, or without a host", allowed}
	case strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@"): // the host may be the first part of a password with a / in it
		return &FieldError{"url", "one with an @ behind its host", allowed + "; %40 for an @ in its path"}
	}
	return nil
}

// Send posts one message. Its error is a *GatewayError that contains neither the recipient nor the
// token, and only the status of the reply.
func (g *HTTP) Send(ctx context.Context, m Message) error {
	secret := g.config.Token
	if g.config.TokenSource != nil {
		secret = g.config.TokenSource()
	}
	token, ok := secret.line()
	if !ok { // no message is the reason
		return &GatewayError{Err: errors.New("no request was made: the token is not one line"), Pause: true}
	}
	sending, cancel := context.WithTimeout(ctx, g.config.Timeout)
	defer cancel()
	var asked, got atomic.Bool // a connection
	sending = httptrace.WithClientTrace(sending, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) }, GotConn: func(httptrace.GotConnInfo) { got.Store(true) }})
	request, err := g.request(sending, m, token)
	if err != nil {
		return &GatewayError{Err: outbound.Bare(err), Permanent: true}
	}
	reply, err := g.client.Do(request)
	if err != nil {
		unsent := asked.Load() && !got.Load() // no server was reached
		// The end of the run is no fault of the gateway.
		return &GatewayError{Err: outbound.Bare(err), Unsure: !unsent, Pause: unsent && ctx.Err() == nil}
	}
	defer reply.Body.Close()
	// The body of the reply is not used, and may repeat the request.
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReply))
	return judge(reply)
}

func (g *HTTP) request(ctx context.Context, m Message, token string) (*http.Request, error) {
	until := ""
	if !m.Until.IsZero() {
		until = m.Until.UTC().Format(time.RFC3339Nano)
	}
	content, err := json.Marshal(struct {
		ID   string `json:"id"`
		To   string `json:"to"`
		Text string `json:"text"`

		Until string `json:"until,omitempty"`
	}{m.ID, m.To, m.Text, until})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.config.URL, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	// With a body to repeat, the client would repeat a request with a key by itself after a lost connection: without
	// a check of the lease, of the rate and of Message.Until, and without being counted.
	request.GetBody = nil
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", m.ID)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

// judge turns a reply into an error, or nil.
func judge(reply *http.Response) error {
	code := reply.StatusCode
	if code >= 200 && code <= 299 {
		return nil
	}
	e := &GatewayError{Status: code, After: outbound.RetryAfter(reply.Header, time.Now())}
	switch code {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		e.Pause = true
	case http.StatusNotFound, http.StatusGone, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		e.Route = true // a wrong URL gives this reply to every message
	case http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooEarly:
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		e.Unsure = true // a server behind the one that replied may have accepted it
	default:
		e.Permanent = code >= 400 && code <= 499
	}
	return e
}
