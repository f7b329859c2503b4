package stock

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/outbound"
)

// Defaults and bounds of a Webhook.
const (
	DefaultWebhookTimeout     = 10 * time.Second
	DefaultWebhookConcurrency = 8
	MaxWebhookConcurrency     = 64
	MaxWebhookSecrets         = 4
	minWebhookSecret          = 16 // bytes
	maxWebhookTimeout         = time.Minute
	maxReplyRead              = 64 << 10
)

// WebhookOptions are the options of a Webhook. URL and Secrets are required.
type WebhookOptions struct {
	// Name is the name of the target. Empty: webhook.
	Name string
	// URL receives the events: https, or http to a loopback address, without a password.
	URL string
	// Plain allows http to other machines. The network can then read the events.
	Plain bool
	// Secrets returns the keys that sign each event: 1 to MaxWebhookSecrets keys of at least 16
	// bytes. Several allow a key to be replaced. It is called before each request, and may be
	// called concurrently.
	Secrets func() []string
	// Timeout bounds one request and its reply, up to a minute. Zero: DefaultWebhookTimeout.
	Timeout time.Duration
	// Concurrency bounds the concurrent requests, which are for different orders: 1 to
	// MaxWebhookConcurrency. Zero: DefaultWebhookConcurrency.
	Concurrency int
	// Receiver adds receiver and phone of the order, which are personal data.
	Receiver bool
}

// A Webhook is a target that posts each event as JSON:
//
//	POST <URL>
//	Content-Type: application/json
//	Idempotency-Key: <id>
//	Cronce-Signature: t=<Unix seconds>,v1=<hex>,v1=<hex>
//
// A v1 is the HMAC-SHA256 of t, a dot and the body, by one of the secrets. Events of one order
// are posted in sequence, those of different orders concurrently. Redirects are not followed.
//
// Status 2xx accepts the event. 401, 403, 407, 408, 425, 429, 3xx, 5xx and a missing reply are faults
// of the webhook: it is retried later, after Retry-After if present, at most after a day. A
// wrong URL replies 404, 405, 410 or 415 to every event, so these count as faults as well, unless
// other events were accepted meanwhile. If one event alone blocks the others for five minutes, it
// is identified and put aside: see Delivery.Outage. Any other 4xx refuses the event, which is put
// aside.
type Webhook struct {
	sale    *Sale
	options WebhookOptions
	client  http.Client
}

// NewWebhook returns a Webhook for the events of a sale. The error joins a *FieldError for each
// option that is not allowed, and repeats neither the URL nor a secret.
func NewWebhook(s *Sale, o WebhookOptions) (*Webhook, error) {
	fill(&o.Name, "webhook")
	fill(&o.Timeout, DefaultWebhookTimeout)
	fill(&o.Concurrency, DefaultWebhookConcurrency)
	var faults []error
	refuse := func(bad bool, field, value, allowed string) {
		if bad {
			faults = append(faults, &FieldError{field, value, allowed})
		}
	}
	refuse(s == nil, "sale", "nil", "a sale")
	if err := checkWebhookURL(o.URL, o.Plain); err != nil {
		faults = append(faults, err)
	}
	refuse(o.Timeout < time.Millisecond || o.Timeout > maxWebhookTimeout, "timeout", o.Timeout.String(), "1ms to "+maxWebhookTimeout.String())
	refuse(o.Concurrency < 1 || o.Concurrency > MaxWebhookConcurrency, "concurrency", strconv.Itoa(o.Concurrency), fmt.Sprintf("1 to %d", MaxWebhookConcurrency))
	if o.Secrets == nil {
		refuse(true, "secrets", "missing", "one at least")
	} else if err := checkSecrets(o.Secrets()); err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("stock: new webhook: %w", err)
	}
	w := &Webhook{sale: s, options: o}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = o.Concurrency
		w.client.Transport = t
	}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w, nil
}

func checkSecrets(secrets []string) error {
	if len(secrets) == 0 || len(secrets) > MaxWebhookSecrets {
		return &FieldError{"secrets", strconv.Itoa(len(secrets)) + " of them", fmt.Sprintf("1 to %d", MaxWebhookSecrets)}
	}
	for _, s := range secrets {
		if len(s) < minWebhookSecret {
			return &FieldError{"secrets", fmt.Sprintf("one of %d bytes", len(s)), fmt.Sprintf("%d or more", minWebhookSecret)}
		}
	}
	return nil
}

// checkWebhookURL checks a URL. Its error does not repeat the URL, which may contain a secret.
func checkWebhookURL(raw string, plain bool) error {
	const allowed = "an https URL, or http to a loopback address, with a host and without user or password"
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return &FieldError{"url", "not a URL", allowed}
	case u.User != nil || strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@"):
		return &FieldError{"url", "one with a user or password, or an @ behind its host", allowed}
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return &FieldError{"url", "of another scheme, or without a host", allowed}
	case u.Scheme == "http" && !plain && !loopback(u.Hostname()):
		return &FieldError{"url", "http to another machine", allowed}
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Name returns the name of the target.
func (w *Webhook) Name() string { return w.options.Name }

// An outcome is the result of posting one event.
type outcome struct {
	sent    bool   // a request was sent
	got     bool   // the webhook accepted the event
	refused string // why the webhook refused the event; empty: it did not
	route   bool   // a wrong URL would give the same refusal for each event
	stop    bool   // the webhook refuses every event at present
	denied  bool   // the webhook probably refuses every event; it refuses this one alone only if others are accepted
	err     error
	after   time.Duration
}

// Deliver posts events.
func (w *Webhook) Deliver(ctx context.Context, events []Event) Delivery {
	bodies, err := w.bodies(ctx, events)
	if err != nil {
		return Delivery{Err: err}
	}
	return summed(events, w.post(ctx, events, bodies))
}

// bodies returns the request bodies.
func (w *Webhook) bodies(ctx context.Context, events []Event) ([][]byte, error) {
	bodies := make([][]byte, len(events))
	for i := range events {
		bodies[i] = events[i].Payload
	}
	if !w.options.Receiver {
		return bodies, nil
	}
	people, err := w.sale.people(ctx, events)
	if err != nil {
		return nil, err
	}
	for i := range events {
		p, ok := people[events[i].Order]
		if !ok || !p.placed.Equal(events[i].Placed) {
			continue // the id was used again by another order
		}
		person, err := json.Marshal(map[string]string{"receiver": p.receiver, "phone": p.phone})
		if err != nil {
			return nil, err
		}
		bodies[i] = append(append(bytes.Clone(bodies[i][:len(bodies[i])-1]), ','), person[1:]...)
	}
	return bodies, nil
}

// post posts events; those of one order in sequence. If the webhook refuses every event, or ctx has
// ended, no further request begins.
func (w *Webhook) post(ctx context.Context, events []Event, bodies [][]byte) []outcome {
	outcomes := make([]outcome, len(events))
	var orders [][]int // events by order
	at := map[string]int{}
	for i := range events {
		o, ok := at[events[i].Order]
		if !ok {
			o = len(orders)
			at[events[i].Order], orders = o, append(orders, nil)
		}
		orders[o] = append(orders[o], i)
	}
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	next := make(chan []int)
	var workers sync.WaitGroup
	for range min(w.options.Concurrency, len(orders)) {
		workers.Go(func() {
			for some := range next {
				for _, i := range some {
					if stopped.Err() != nil {
						break
					}
					outcomes[i] = w.postAgain(stopped, &events[i], bodies[i])
					if outcomes[i].stop || outcomes[i].denied && len(events) > probe {
						stop()
					}
					if outcomes[i].err != nil || outcomes[i].route {
						break // later events of the order wait for this one
					}
				}
			}
		})
	}
	for _, some := range orders {
		next <- some
	}
	close(next)
	workers.Wait()
	return outcomes
}

// summed combines the outcomes of events into a Delivery.
func summed(events []Event, outcomes []outcome) (d Delivery) {
	through := false
	for _, o := range outcomes {
		through = through || o.got || o.refused != "" && !o.route
	}
	for i, o := range outcomes {
		switch {
		case o.got:
		case o.refused != "" && (through || !o.route):
			d.Refused = append(d.Refused, Refusal{events[i], o.refused})
		default:
			d.Done, d.Err, d.After = i, o.err, o.after
			if o.refused != "" {
				d.Err = errors.New(o.refused)
			}
			stopped := false
			for _, later := range outcomes[i:] {
				if (later.stop || later.denied && !o.sent) && !stopped { // this outcome concerns all events and has the time to wait
					stopped, d.Err, d.After = true, later.err, later.after
				}
				d.Passable = d.Passable || later.got
			}
			d.Passable = d.Passable && o.sent && !stopped
			d.Outage = o.sent && !d.Passable
			if d.Err == nil && i == 0 {
				d.Err = context.DeadlineExceeded // the time of the pass is over
			}
			return d // without an error the next pass continues here
		}
	}
	d.Done = len(events)
	return d
}

// postAgain posts an event up to three times with short pauses, so that one lost reply does not
// delay the other events.
func (w *Webhook) postAgain(ctx context.Context, e *Event, body []byte) (o outcome) {
	for _, pause := range []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 0} {
		if o = w.postOne(ctx, e, body); o.err == nil || o.stop || o.denied || o.after > 0 || pause == 0 {
			return o
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return o
		}
	}
	return o
}

func (w *Webhook) postOne(ctx context.Context, e *Event, body []byte) outcome {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), w.options.Timeout) // the end of the pass does not cut off a request
	defer stop()
	request, err := w.request(ctx, e, body, time.Now())
	if err != nil {
		return outcome{err: err, stop: true}
	}
	reply, err := w.client.Do(request)
	if err != nil {
		return outcome{sent: true, err: fmt.Errorf("no answer from the webhook: %s", outbound.Bare(err).Error())} // without %w: the request's deadline is not the run's
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReplyRead)) // lets the connection be reused
	return judge(reply, time.Now())
}

func (w *Webhook) request(ctx context.Context, e *Event, body []byte, now time.Time) (*http.Request, error) {
	secrets := w.options.Secrets()
	if err := checkSecrets(secrets); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.options.URL, bytes.NewReader(body))
	if err != nil {
		return nil, outbound.Bare(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", e.ID())
	request.Header.Set("Cronce-Signature", Sign(now, body, secrets...))
	return request, nil
}

// Sign returns the header Cronce-Signature of a body. A receiver computes the signature with its
// secret, compares it, and refuses a time that is long past.
func Sign(at time.Time, body []byte, secrets ...string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	parts := make([]string, 1, 1+len(secrets))
	parts[0] = "t=" + t
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(t + "."))
		mac.Write(body)
		parts = append(parts, "v1="+hex.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(parts, ",")
}

// judge returns the outcome of a reply.
func judge(reply *http.Response, now time.Time) outcome {
	code := reply.StatusCode
	if code >= 200 && code <= 299 {
		return outcome{sent: true, got: true}
	}
	text := "HTTP status " + strconv.Itoa(code)
	o := outcome{sent: true, err: errors.New(text), after: outbound.RetryAfter(reply.Header, now)}
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		o.stop = true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		o.denied = true
	case http.StatusRequestTimeout, http.StatusTooEarly:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusUnsupportedMediaType:
		return outcome{sent: true, refused: text, route: true}
	default:
		if code >= 400 && code <= 499 {
			return outcome{sent: true, refused: text}
		}
	}
	return o
}
