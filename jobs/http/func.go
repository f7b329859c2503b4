package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	nethttp "net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/outbound"
	"github.com/cronce/cronce/internal/redact"
	"github.com/cronce/cronce/scheduler"
)

const (
	maxAnswer = 1 << 20 // bytes of a response that are read
	maxKept   = 4 << 10 // bytes of a response that are kept
	maxHeader = 64 << 10

	maxRetryAfter = time.Hour // if the request has no MaxRetryAfter
)

// New returns the function of a job that sends the request, and reads up to 1 MiB of the response.
// It is safe for concurrent use. The error joins the faults of the request, each a *FieldError.
//
// The function returns a *StatusError for an unexpected status, and an error that wraps ErrUnknown
// if it is not known whether the server has done its work. The end of the context closes the
// connection.
func New(r Request) (scheduler.Func, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return newCall(r).run, nil
}

// A call sends a request.
type call struct {
	request   Request
	url       *url.URL
	body      *body
	transport *nethttp.Transport
}

// newCall returns a call of a request without faults.
func newCall(r Request) *call {
	if r.Timeout == 0 {
		r.Timeout = DefaultTimeout
	}
	if r.MaxRetryAfter == 0 {
		r.MaxRetryAfter = maxRetryAfter
	}
	r.Headers, r.SecretHeaders, r.Secrets, r.Expect = maps.Clone(r.Headers), maps.Clone(r.SecretHeaders), slices.Clone(r.Secrets), slices.Clone(r.Expect)
	var dialer net.Dialer
	if !r.AllowPrivate && r.Proxy == "" {
		dialer.ControlContext = outbound.OnlyPublic
	}
	c := &call{request: r, transport: newTransport(&r, dialer.DialContext)}
	c.url, _ = url.Parse(r.URL) // check has already refused a fault, here and below
	c.body, _ = parseBody(r.Body)
	return c
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns a transport without the defaults of its zero value. It uses no connection
// twice, so it does not repeat a request either. It uses HTTP/1.1, in which a request that ends
// early ends its connection.
func newTransport(r *Request, dial dialFunc) *nethttp.Transport {
	t := &nethttp.Transport{DialContext: bound(dial), DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(1)}}
	if r.Proxy != "" {
		proxy, _ := url.Parse(r.Proxy)
		t.Proxy = nethttp.ProxyURL(proxy)
	}
	return t
}

// requestKey is the key under which the context of a request is stored among its own values.
type requestKey struct{}

// bound ends a connection, or the attempt to make one, with the context of its request. The
// transport passes a context that does not end, because another request could use the connection.
func bound(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx = ctx.Value(requestKey{}).(context.Context)
		conn, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
}

// run sends the request for a run.
func (c *call) run(ctx context.Context, run *scheduler.Run) error {
	ctx, stop := context.WithTimeoutCause(ctx, c.request.Timeout, fmt.Errorf("the timeout of %v is over", c.request.Timeout))
	defer stop()
	var sent atomic.Bool // whether the request was, or may have been, sent
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	ctx = context.WithValue(ctx, requestKey{}, ctx)
	request, secrets, err := c.make(ctx, run)
	if err != nil {
		return final(err)
	}
	if err := run.Check(); err != nil {
		return err
	}
	answer, err := c.transport.RoundTrip(request)
	if err != nil {
		return c.failed(ctx, sent.Load(), err)
	}
	defer answer.Body.Close()
	return c.judge(ctx, run, answer, secrets)
}

// make returns the request for a run, and its secrets.
func (c *call) make(ctx context.Context, run *scheduler.Run) (*nethttp.Request, redact.Secrets, error) {
	text, err := c.body.render(fieldsOf(run))
	if err != nil {
		return nil, nil, fmt.Errorf("http: rendering the body: %w", err)
	}
	header := c.request.header()
	secrets := slices.Clone(c.request.Secrets)
	for name, value := range c.request.SecretHeaders {
		v := value()
		if !isValue(v) {
			return nil, nil, fmt.Errorf("http: the value of the header %s is not one line of printable characters", name)
		}
		header.Set(name, v)
		_, token, _ := strings.Cut(v, " ") // the part after a word such as Bearer
		secrets = append(secrets, v, token)
	}
	header.Set("Idempotency-Key", run.ID)
	header.Set("Cronce-Job", run.Job)
	header.Set("Cronce-Tick", run.Tick.UTC().Format(tickLayout))
	header.Set("Cronce-Attempt", strconv.Itoa(run.Attempt))
	header.Set("Cronce-Fence", strconv.FormatInt(run.Fence, 10))
	request := &nethttp.Request{Method: c.request.Method, URL: c.url, Header: header}
	if text != "" {
		request.Body, request.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
	return request.WithContext(ctx), redact.New(secrets...), nil
}

// failed returns the error of a request without a complete response.
func (c *call) failed(ctx context.Context, sent bool, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = outbound.Bare(err)
	}
	switch {
	case !sent:
		err = fmt.Errorf("http: connecting, nothing was sent: %w", cause)
		if _, refused := errors.AsType[*outbound.AddressError](err); refused {
			return final(err)
		}
		return err
	case c.request.Repeatable():
		return fmt.Errorf("http: the request was sent, and no answer came: %w", cause)
	}
	return final(fmt.Errorf("http: %w: %w", ErrUnknown, cause))
}

// judge reads a response, keeps its beginning as the output of the run, and returns the error of
// the run.
func (c *call) judge(ctx context.Context, run *scheduler.Run, answer *nethttp.Response, secrets redact.Secrets) error {
	if answer.StatusCode == nethttp.StatusSwitchingProtocols { // the following bytes are no response, and have no end
		return final(&StatusError{Status: answer.StatusCode})
	}
	kept, err := io.ReadAll(io.LimitReader(answer.Body, maxKept+redact.MaxSecret))
	body := secrets.Text(string(kept), maxKept)
	run.KeepOutput(body)
	if c.expected(answer.StatusCode) {
		if err == nil { // the server may still be at work until its response ends
			_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer-int64(len(kept))))
		}
		if err != nil {
			return c.failed(ctx, true, err)
		}
		return nil
	}
	failed := &StatusError{Status: answer.StatusCode, Body: body}
	if !slices.Contains(retried, answer.StatusCode) {
		return final(failed)
	}
	switch wait := outbound.RetryAfter(answer.Header, time.Now()); {
	case wait > c.request.MaxRetryAfter:
		return final(fmt.Errorf("http: the server's Retry-After is %v, and a run waits %v at most: %w", wait, c.request.MaxRetryAfter, failed))
	case wait > 0:
		return later(wait, failed)
	}
	return failed
}

func (c *call) expected(status int) bool {
	if len(c.request.Expect) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(c.request.Expect, status)
}
