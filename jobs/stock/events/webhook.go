package events

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/outbound"
	"github.com/cronce/cronce/jobs/stock"
)

// Defaults and bounds of Options.
const (
	defaultTimeout     = 10 * time.Second
	defaultConcurrency = 8

	maxTimeout     = time.Minute
	maxConcurrency = 64
	maxSecrets     = 4
	minSecret      = 16 // bytes
	maxReplyRead   = 64 << 10
)

// Options are the options of a webhook. URL and Secrets are required.
type Options struct {
	// URL receives the events: https, or http to a loopback address, without a password.
	URL string
	// Plain allows http to other machines. The network can then read the events.
	Plain bool
	// Secrets returns the keys that sign each event: 1 to 4 keys of at least 16 bytes. Several
	// allow a key to be replaced. It is called before each request, and may be called concurrently.
	Secrets func() []string
	// Timeout bounds one request and its reply, up to a minute. Zero: 10s.
	Timeout time.Duration
	// Concurrency bounds the concurrent requests, which are for different orders: 1 to 64. Zero: 8.
	Concurrency int
}

func (o Options) filled() Options {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency)
	return o
}

func (o Options) faults() error {
	faults := []error{checkURL(o.URL, o.Plain)}
	if o.Timeout < time.Millisecond || o.Timeout > maxTimeout {
		faults = append(faults, &stock.FieldError{Field: "timeout", Value: o.Timeout.String(), Allowed: "1ms to " + maxTimeout.String()})
	}
	if o.Concurrency < 1 || o.Concurrency > maxConcurrency {
		faults = append(faults, &stock.FieldError{Field: "concurrency", Value: strconv.Itoa(o.Concurrency), Allowed: fmt.Sprintf("1 to %d", maxConcurrency)})
	}
	if o.Secrets == nil {
		faults = append(faults, &stock.FieldError{Field: "secrets", Value: "missing", Allowed: "one at least"})
	} else {
		faults = append(faults, checkSecrets(o.Secrets()))
	}
	return errors.Join(faults...)
}

func checkSecrets(secrets []string) error {
	if len(secrets) == 0 || len(secrets) > maxSecrets {
		return &stock.FieldError{Field: "secrets", Value: strconv.Itoa(len(secrets)) + " of them", Allowed: fmt.Sprintf("1 to %d", maxSecrets)}
	}
	for _, s := range secrets {
		if len(s) < minSecret {
			return &stock.FieldError{Field: "secrets", Value: fmt.Sprintf("one of %d bytes", len(s)), Allowed: fmt.Sprintf("%d or more", minSecret)}
		}
	}
	return nil
}

// checkURL checks a URL. Its error does not repeat the URL, which may contain a secret.
func checkURL(raw string, plain bool) error {
	u, fault := outbound.ParseURL(raw)
	switch {
	case fault != "":
	case strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@"):
		fault = "one with an @ behind its host"
	case u.Scheme == "http" && !plain && !loopback(u.Hostname()):
		fault = "http to another machine"
	default:
		return nil
	}
	return &stock.FieldError{Field: "url", Value: fault, Allowed: "an https URL, or http to a loopback address, with a host and without user or password"}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// A webhook posts events.
type webhook struct {
	options Options
	client  http.Client
}

func newWebhook(o Options) *webhook {
	w := &webhook{options: o}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = o.Concurrency
		w.client.Transport = t
	}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w
}

// An outcome is the result of posting one event. The zero outcome: it was not posted.
type outcome struct {
	accepted bool
	err      error         // why the webhook did not accept the event
	after    time.Duration // time in Retry-After; 0: none
}

// post posts events until ctx ends; the events of one order in sequence, until one fails. The first
// event is always posted. Probing, each event is posted once, and a failure does not end the posting of
// other orders; the order of the first event goes before all others, so that they do not take its place
// at a webhook that limits the rate.
func (w *webhook) post(ctx context.Context, all []stock.Event, probing bool) []outcome {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	outcomes := make([]outcome, len(all))
	inTurn := func(order []int) {
		for _, i := range order {
			if i > 0 && ctx.Err() != nil {
				return
			}
			if outcomes[i] = w.postAgain(ctx, &all[i], probing); !outcomes[i].accepted {
				if !probing {
					stop()
				}
				return // later events of the order wait for this one
			}
		}
	}
	orders := byOrder(all)
	if probing {
		inTurn(orders[0])
		orders = orders[1:]
	}
	next := make(chan []int)
	var workers sync.WaitGroup
	for range min(w.options.Concurrency, len(orders)) {
		workers.Go(func() {
			for order := range next {
				inTurn(order)
			}
		})
	}
	for _, order := range orders {
		next <- order
	}
	close(next)
	workers.Wait()
	return outcomes
}

// byOrder returns the indexes of the events of each order.
func byOrder(all []stock.Event) (orders [][]int) {
	at := map[string]int{}
	for i := range all {
		o, ok := at[all[i].Order]
		if !ok {
			o = len(orders)
			at[all[i].Order], orders = o, append(orders, nil)
		}
		orders[o] = append(orders[o], i)
	}
	return orders
}

// postAgain posts an event up to three times with short pauses, so that one lost reply does not
// delay the other events. Probing, it posts the event once.
func (w *webhook) postAgain(ctx context.Context, e *stock.Event, probing bool) (o outcome) {
	for _, pause := range []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 0} {
		if o = w.postOne(ctx, e); o.accepted || probing || o.after > 0 || pause == 0 {
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

func (w *webhook) postOne(ctx context.Context, e *stock.Event) outcome {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), w.options.Timeout) // the end of the pass does not cut off a request
	defer stop()
	request, err := w.request(ctx, e, time.Now())
	if err != nil {
		return outcome{err: err}
	}
	reply, err := w.client.Do(request)
	if err != nil {
		return outcome{err: fmt.Errorf("no answer from the webhook: %s", outbound.Bare(err).Error())} // without %w: the request's deadline is not the run's
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReplyRead)) // lets the connection be reused
	if reply.StatusCode >= 200 && reply.StatusCode <= 299 {
		return outcome{accepted: true}
	}
	return outcome{err: errors.New("HTTP status " + strconv.Itoa(reply.StatusCode)), after: outbound.RetryAfter(reply.Header, time.Now())}
}

func (w *webhook) request(ctx context.Context, e *stock.Event, now time.Time) (*http.Request, error) {
	secrets := w.options.Secrets()
	if err := checkSecrets(secrets); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.options.URL, bytes.NewReader(e.Payload))
	if err != nil {
		return nil, outbound.Bare(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", e.ID)
	request.Header.Set("Cronce-Signature", Sign(now, e.Payload, secrets...))
	return request, nil
}

// Sign returns the header Cronce-Signature of a body. A receiver computes the signature with its
// secret, compares it in constant time, and refuses a time that is long past.
func Sign(at time.Time, body []byte, secrets ...string) string {
	return outbound.Sign(at, body, secrets...)
}
