package sms_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/sms"
)

var hello = sms.Message{ID: "hello-1", To: "+12025550123", Text: "Hello, “world”\n✓"}

func newHTTP(t *testing.T, config sms.HTTPConfig) *sms.HTTP {
	t.Helper()
	g, err := sms.NewHTTP(config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHTTPRequest(t *testing.T) {
	var got *http.Request
	var content map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		if err := json.NewDecoder(r.Body).Decode(&content); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	if err := newHTTP(t, sms.HTTPConfig{URL: server.URL + "/v1/messages", Token: "s3cret"}).Send(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/v1/messages" {
		t.Errorf("%s %s, want POST /v1/messages", got.Method, got.URL)
	}
	for name, want := range map[string]string{"Idempotency-Key": "hello-1", "Content-Type": "application/json", "Authorization": "Bearer s3cret"} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %s, want %s", name, v, want)
		}
	}
	if len(content) != 3 || content["id"] != hello.ID || content["to"] != hello.To || content["text"] != hello.Text {
		t.Errorf("content %v, want id, to and text", content)
	}
	m := hello
	m.Until = time.Date(2026, 3, 1, 9, 30, 0, 250e6, time.FixedZone("", 3600))
	source := sms.HTTPConfig{URL: server.URL, Token: "s3cret", TokenSource: func() sms.Secret { return "newer\r\n" }}
	if err := newHTTP(t, source).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if v := got.Header.Get("Authorization"); v != "Bearer newer" || content["until"] != "2026-03-01T08:30:00.25Z" {
		t.Errorf("%s, until %s, want the token of the source, and the millisecond", v, content["until"])
	}
}

func TestHTTPStatus(t *testing.T) {
	const retry, retryUnsure, never = "retry", "retry, unsure", "never"
	for status, want := range map[int]string{
		200: "", 201: "", 202: "", 204: "",
		301: retry, 307: retry, 401: retry, 402: retry, 403: retry, 405: retry, 407: retry, 408: retry, 425: retry, 429: retry, 404: retry, 406: retry, 410: retry, 415: retry, 503: retry, 599: retry,
		500: retryUnsure, 502: retryUnsure, 504: retryUnsure,
		400: never, 409: never, 413: never, 422: never, 451: never,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var requests int
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			defer server.Close()
			err := newHTTP(t, sms.HTTPConfig{URL: server.URL}).Send(t.Context(), hello)
			if got := judged(t, err); got != want {
				t.Errorf("%v is %q, want %q", err, got, want)
			}
			if requests != 1 {
				t.Errorf("%d requests, want 1", requests)
			}
		})
	}
}

// judged describes an error of a gateway in a word.
func judged(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*sms.GatewayError](err)
	switch {
	case !ok:
		t.Fatalf("%v is no GatewayError", err)
	case e.Permanent:
		return "never"
	case e.Unsure:
		return "retry, unsure"
	}
	return "retry"
}

// There is no answer: no server listens, the connection breaks, or it takes too long.
// Only of the first is it sure that nothing arrived.
func TestHTTPNoAnswer(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer broken.Close()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "http://portal/%zz?"+r.Header.Get("Authorization")+url.QueryEscape(string(body))) // which net/http quotes
		w.WriteHeader(http.StatusFound)
	}))
	defer echo.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct{ url, want string }{
		"slow": {slow.URL, "retry, unsure"}, "broken": {broken.URL, "retry, unsure"}, "closed": {closed.URL, "retry"},
		"repeats the request": {echo.URL, "retry, unsure"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newHTTP(t, sms.HTTPConfig{URL: c.url + "/?key=s3cret", Timeout: 100 * time.Millisecond, Token: "s3cret"}).Send(t.Context(), hello)
			if got := judged(t, err); got != c.want {
				t.Errorf("%v is %q, want %q", err, got, c.want)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), hello.To) {
				t.Errorf("%v shows a secret or the recipient", err)
			}
		})
	}
}

// The server takes a request on a connection that was kept, and closes it before it replies. The request
// may have been accepted, so the client does not repeat it by itself, although it has a key.
func TestHTTPGoneAfterTheRequest(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	g := newHTTP(t, sms.HTTPConfig{URL: server.URL})
	if err := g.Send(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	err := g.Send(t.Context(), hello)
	if err == nil || requests.Load() != 2 {
		t.Fatalf("Send = %v after %d requests, want it unsure after 2", err, requests.Load())
	}
	if got := judged(t, err); got != "retry, unsure" {
		t.Errorf("%v is %q, want it unsure", err, got)
	}
}

// Without a connection nothing was sent, however the client fails to get one: that pauses the gateway.
// A transport that does not follow httptrace leaves it in doubt.
func TestHTTPUnreachable(t *testing.T) {
	silent := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	for name, c := range map[string]struct {
		transport http.RoundTripper
		unsent    bool
	}{
		"no answer to a dial":    {&http.Transport{DialContext: silent}, true},
		"no proxy":               {&http.Transport{Proxy: proxy}, true},
		"a transport of its own": {roundTripper(func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }), false},
	} {
		t.Run(name, func(t *testing.T) {
			err := newHTTP(t, sms.HTTPConfig{URL: "https://gateway.example", Timeout: 50 * time.Millisecond, Client: &http.Client{Transport: c.transport}}).Send(t.Context(), hello)
			if e, ok := errors.AsType[*sms.GatewayError](err); !ok || e.Unsure == c.unsent || e.Pause != c.unsent {
				t.Errorf("Send = %+v, want it unsent: %v", err, c.unsent)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A run ends while its gateway is dialled: the message was not sent, and nothing is known about the gateway.
func TestHTTPEndsBeforeTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := func(dial context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-dial.Done()
		return nil, dial.Err()
	}
	g := newHTTP(t, sms.HTTPConfig{URL: "https://gateway.example", Client: &http.Client{Transport: &http.Transport{DialContext: ended}}})
	err := g.Send(ctx, hello)
	if e, ok := errors.AsType[*sms.GatewayError](err); !ok || e.Unsure || e.Pause {
		t.Errorf("Send = %+v, want it unsent, without a pause", err)
	}
}

func TestHTTPEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := newHTTP(t, sms.HTTPConfig{URL: server.URL}).Send(ctx, hello); !errors.Is(err, context.Canceled) {
		t.Errorf("Send = %v, want context.Canceled", err)
	}
}

// A reply of 64 MiB is not read to its end: Send breaks off, and its status counts.
func TestHTTPLongReply(t *testing.T) {
	written := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 64<<20)))
		written <- err
	}))
	defer server.Close()
	if err := newHTTP(t, sms.HTTPConfig{URL: server.URL}).Send(t.Context(), hello); err != nil {
		t.Errorf("Send = %v, want nil: the status was 200", err)
	}
	if err := <-written; err == nil {
		t.Error("the whole reply was read")
	}
}

func TestNewHTTPRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"":                           "url is of another scheme, or without a host",
		"gateway:8080/send":          "url is of another scheme, or without a host",
		"ftp://gateway/send":         "url is of another scheme, or without a host",
		"https:///send":              "url is of another scheme, or without a host",
		"https://me:s3cret@gateway":  "url is one with a user or password",
		"http://s3cret\x7f":          "url is not a URL",
		"https://h:1/s3cret@gateway": "url is one with an @ behind its host",
	} {
		_, err := sms.NewHTTP(sms.HTTPConfig{URL: url, Timeout: -1, Token: "s3cret\nmore"})
		for _, part := range []string{want, "timeout is -1ns", "token is hidden"} {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("NewHTTP(%q) = %v, want %q in it and no secret", url, err, part)
			}
		}
	}
}

// A token that no header can have pauses the gateway, and costs no message an attempt.
func TestTokenOfSeveralLines(t *testing.T) {
	for _, token := range []sms.Secret{"s3cret\nmore", "\ns3cret", "s3\x00cret"} {
		g := newHTTP(t, sms.HTTPConfig{URL: "http://127.0.0.1:1", TokenSource: func() sms.Secret { return token }})
		err := g.Send(t.Context(), hello)
		e, ok := errors.AsType[*sms.GatewayError](err)
		if !ok || !e.Pause || e.Unsure || !strings.Contains(err.Error(), "the token is not one line") || strings.Contains(err.Error(), "s3") {
			t.Errorf("Send = %#v, want a pause with its reason and no secret", err)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	config := sms.HTTPConfig{URL: "https://gateway", Token: "s3cret"}
	encoded, err := json.Marshal(config.Token)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(config), fmt.Sprintf("%+v %#v %q", config, config, config.Token), string(encoded)} {
		if strings.Contains(s, "s3cret") {
			t.Errorf("shows the token: %s", s)
		}
	}
	if sms.Secret("").String() != "" {
		t.Error("no secret prints as one")
	}
}
