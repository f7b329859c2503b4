package http

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/outbound"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler"
)

var theRun = &scheduler.Run{ID: "ns/report@2026-03-01T12:00:00Z", Job: "report", Tick: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Fence: 1772366400000001, Attempt: 2}

// serve starts a server, and returns its URL.
func serve(t *testing.T, h nethttp.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// try sends a request once. Private addresses are allowed.
func try(t *testing.T, ctx context.Context, r Request) error {
	t.Helper()
	r.AllowPrivate = true
	f, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	return f(ctx, theRun)
}

// class returns how the node treats an error.
func class(err error) string {
	kind := fmt.Sprintf("%T", err)
	switch {
	case err == nil:
		return "ok"
	case strings.HasSuffix(kind, ".permanentError"):
		return "final"
	case strings.HasSuffix(kind, ".retryError"):
		return "later"
	}
	return "retry"
}

func TestRequest(t *testing.T) {
	var got *nethttp.Request
	var body []byte
	url := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	err := try(t, t.Context(), Request{Method: "POST", URL: url + "/x?y=z", Headers: map[string]string{"x-mine": "yes"},
		SecretHeaders: map[string]func() string{"Authorization": func() string { return "Bearer token" }},
		Body:          `{"job":"{{.Job}}","tick":"{{.Tick}}","day":"{{.Tick.Format "02.01."}}","run":"{{.RunID}}","fence":{{.Fence}},"attempt":{{.Attempt}}}`})
	if err != nil {
		t.Fatal(err)
	}
	if got.Method != "POST" || got.URL.String() != "/x?y=z" || !got.Close {
		t.Errorf("%s %s, the connection ends %v", got.Method, got.URL, got.Close)
	}
	if want := `{"job":"report","tick":"2026-03-01T12:00:00.000Z","day":"01.03.","run":"ns/report@2026-03-01T12:00:00Z","fence":1772366400000001,"attempt":2}`; string(body) != want {
		t.Errorf("body %s", body)
	}
	if host := strings.TrimPrefix(url, "http://"); got.Host != host {
		t.Errorf("host %s, want %s", got.Host, host)
	}
	for name, want := range map[string]string{"Idempotency-Key": "ns/report@2026-03-01T12:00:00Z", "Cronce-Job": "report", "Cronce-Tick": "2026-03-01T12:00:00.000Z",
		"Cronce-Attempt": "2", "Cronce-Fence": "1772366400000001", "X-Mine": "yes", "Authorization": "Bearer token", "Content-Type": "application/json",
		"Accept-Encoding": "", "User-Agent": "cronce"} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	err = try(t, t.Context(), Request{URL: url})
	if _, typed := got.Header["Content-Type"]; err != nil || got.Method != "GET" || got.ContentLength != 0 || typed {
		t.Errorf("%s with %d bytes and %v: %v", got.Method, got.ContentLength, got.Header, err)
	}
}

// A server that gets a request and does not answer leaves doubt: only an idempotent request may be
// sent again, and the client itself sends none twice.
func TestDoubt(t *testing.T) {
	for name, h := range map[string]nethttp.HandlerFunc{
		"closed": func(nethttp.ResponseWriter, *nethttp.Request) { panic(nethttp.ErrAbortHandler) },
		"broken off": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("half"))
		},
		"broken off late": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Length", "100001")
			_, _ = w.Write(make([]byte, 100_000))
		},
		"long headers": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", maxHeader+8<<10))
		},
		"no HTTP": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			c, _, _ := w.(nethttp.Hijacker).Hijack()
			_, _ = c.Write([]byte("hello\r\n\r\n"))
			_ = c.Close()
		},
	} {
		for _, r := range []struct {
			Request
			want string
		}{
			{Request{Method: "POST", Body: "{}"}, "final"}, {Request{Method: "POST"}, "final"}, {Request{Method: "PATCH"}, "final"}, {Request{Method: "POST", Idempotent: true}, "retry"},
			{Request{}, "retry"}, {Request{Method: "GET"}, "retry"}, {Request{Method: "PUT", Body: "{}"}, "retry"}, {Request{Method: "DELETE"}, "retry"}, {Request{Method: "OPTIONS"}, "retry"},
		} {
			var requests atomic.Int32
			r.URL = serve(t, func(w nethttp.ResponseWriter, q *nethttp.Request) {
				requests.Add(1)
				h(w, q)
			})
			err := try(t, t.Context(), r.Request)
			if got := class(err); got != r.want || errors.Is(err, ErrUnknown) != (r.want == "final") || requests.Load() != 1 {
				t.Errorf("%s, %s: %s after %d requests: %v", name, r.Method, got, requests.Load(), err)
			}
		}
	}
}

// The server closes a connection when a second request comes over it. An HTTP client that uses a
// connection twice would send that request again, because it has an Idempotency-Key.
func TestNoRequestIsRepeated(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var requests atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					r, err := nethttp.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if requests.Add(1) > 1 {
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()
	f, err := New(Request{Method: "POST", URL: "http://" + l.Addr().String(), AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f(t.Context(), theRun); err != nil {
		t.Fatal(err)
	}
	if err := f(t.Context(), theRun); !errors.Is(err, ErrUnknown) || requests.Load() != 2 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

// The end of the context ends the connection, before the response and in the middle of it.
func TestContextEnds(t *testing.T) {
	for _, part := range []string{"", "some"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := make(chan struct{})
		url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if part != "" {
				_, _ = io.WriteString(w, part)
				_ = nethttp.NewResponseController(w).Flush()
			}
			cancel(lock.ErrLost)
			<-r.Context().Done()
			close(gone)
		})
		err := try(t, ctx, Request{Method: "POST", URL: url})
		if class(err) != "final" || !errors.Is(err, ErrUnknown) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("%q: %v", part, err)
		}
		<-gone
	}
}

// A timeout before the connection is made is no doubt, a later one is. There is one by default.
func TestTimeout(t *testing.T) {
	for connected, timeout := range map[bool]time.Duration{false: 0, true: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newCall(Request{Method: "POST", URL: "http://example.com", Timeout: timeout})
			ours, theirs := net.Pipe()
			c.transport = newTransport(&c.request, func(ctx context.Context, _, _ string) (net.Conn, error) {
				if connected {
					return ours, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if !connected {
				defer ours.Close()
			}
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			began := time.Now()
			err := c.run(t.Context(), theRun)
			timeout = cmp.Or(timeout, DefaultTimeout)
			if time.Since(began) != timeout || errors.Is(err, ErrUnknown) != connected || !strings.Contains(err.Error(), "the timeout of "+timeout.String()+" is over") {
				t.Errorf("connected %v: %v after %v", connected, err, time.Since(began))
			}
			if want := map[bool]string{false: "retry", true: "final"}[connected]; class(err) != want {
				t.Errorf("connected %v: %s", connected, class(err))
			}
		})
	}
}

// A server that does not complete a TLS handshake holds no connection beyond the run.
func TestHandshakeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			closed <- err
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 1))
		cancel()
		_, err = io.Copy(io.Discard, c)
		closed <- err
	}()
	if err := try(t, ctx, Request{Method: "POST", URL: "https://" + l.Addr().String()}); class(err) != "retry" || !errors.Is(err, context.Canceled) {
		t.Errorf("%s: %v", class(err), err)
	}
	<-closed
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, url := range []string{"http://" + l.Addr().String() + "/secret", "http://name.invalid/secret"} {
		err = try(t, t.Context(), Request{Method: "POST", URL: url})
		if class(err) != "retry" || errors.Is(err, ErrUnknown) || !strings.HasPrefix(err.Error(), "http: connecting, nothing was sent: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

func TestRedirect(t *testing.T) {
	var followed atomic.Bool
	there := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { followed.Store(true) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) { nethttp.Redirect(w, r, there, status) })
		if err := try(t, t.Context(), Request{URL: url}); class(err) != "final" || followed.Load() {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A name that resolves to an address of this machine gets no connection.
func TestPrivateAddress(t *testing.T) {
	var connected atomic.Bool
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
	s.Config.ConnState = func(net.Conn, nethttp.ConnState) { connected.Store(true) }
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	f, err := New(Request{URL: "http://localhost:" + port})
	if err != nil {
		t.Fatal(err)
	}
	err = f(t.Context(), theRun)
	if _, refused := errors.AsType[*outbound.AddressError](err); !refused || class(err) != "final" || connected.Load() {
		t.Errorf("%s: %v", class(err), err)
	}
}

func TestProxy(t *testing.T) {
	var asked string
	proxy := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { asked = r.URL.String() })
	f, err := New(Request{URL: "http://service.invalid/x", Proxy: proxy})
	if err != nil {
		t.Fatal(err)
	}
	if err := f(t.Context(), theRun); err != nil || asked != "http://service.invalid/x" {
		t.Errorf("%q: %v", asked, err)
	}
}

// A proxy that makes no connection has forwarded nothing.
func TestProxyRefuses(t *testing.T) {
	proxy := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(502) })
	f, err := New(Request{Method: "POST", URL: "https://service.invalid/x", Proxy: proxy})
	if err != nil {
		t.Fatal(err)
	}
	if err := f(t.Context(), theRun); class(err) != "retry" || errors.Is(err, ErrUnknown) {
		t.Errorf("%s: %v", class(err), err)
	}
}

// TLS 1.1 is refused, and so is a certificate of an unknown authority. Nothing is sent.
func TestTLS(t *testing.T) {
	for _, c := range []struct {
		max     uint16
		known   bool
		request int32
	}{{tls.VersionTLS11, true, 0}, {tls.VersionTLS12, true, 1}, {tls.VersionTLS13, true, 1}, {tls.VersionTLS13, false, 0}} {
		var requests atomic.Int32
		s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { requests.Add(1) }))
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: c.max}
		s.Config.ErrorLog = nil
		s.StartTLS()
		call := newCall(Request{Method: "POST", URL: s.URL, AllowPrivate: true})
		if c.known {
			call.transport.TLSClientConfig.RootCAs = x509.NewCertPool()
			call.transport.TLSClientConfig.RootCAs.AddCert(s.Certificate())
		}
		err := call.run(t.Context(), theRun)
		if (err == nil) != (c.request == 1) || requests.Load() != c.request || errors.Is(err, ErrUnknown) {
			t.Errorf("TLS %#x, known %v: %d requests: %v", c.max, c.known, requests.Load(), err)
		}
		s.Close()
	}
}

// A value with a line break, as in a file that was just rewritten, is neither sent nor repeated.
func TestSecretValue(t *testing.T) {
	err := try(t, t.Context(), Request{URL: "http://127.0.0.1:1", SecretHeaders: map[string]func() string{"X-Token": func() string { return "hunter\r\nX: y" }}})
	if class(err) != "final" || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "X-Token") {
		t.Errorf("%v", err)
	}
}

// A template may fail for a run, although it did not for the sample. Then nothing is sent.
func TestBodyOfARun(t *testing.T) {
	url := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("a request was sent") })
	if err := try(t, t.Context(), Request{Method: "POST", URL: url, Body: `"{{slice .RunID 32}}"`}); class(err) != "final" || !strings.HasPrefix(err.Error(), "http: rendering the body: ") {
		t.Errorf("%s: %v", class(err), err)
	}
}
