package stock

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/admission"
)

// Defaults of HandlerOptions.
const (
	DefaultInFlight = 64
	DefaultWait     = 100 * time.Millisecond
	DefaultTimeout  = 800 * time.Millisecond
)

// A share is a kind of requests that has places of its own: none takes those of another.
type share int

const (
	shareOrders   share = iota // what buyers do
	shareReads                 // what changes nothing
	sharePayments              // payments, and what sellers do
	shares
)

// share is that of the requests of a route.
func (r route) share() share {
	switch {
	case r.method == http.MethodGet || r.path == "/orders/read":
		return shareReads
	case r.path == "/orders" || r.method == http.MethodDelete && r.path == "/orders/{id}" || r.path == "/orders/{id}/paying":
		return shareOrders
	}
	return sharePayments
}

// listTime bounds a request for a list of orders, which the database makes.
const listTime = 5 * time.Second

// timeout bounds a request from when its body was read.
func (h *Handler) timeout(r route) time.Duration {
	if r.method == http.MethodGet && r.path == "/orders" {
		return max(listTime, h.options.Timeout)
	}
	return h.options.Timeout
}

// A NotAdmittedError is the error by which HandlerOptions.Admit refuses a request: 403, or 429 if it
// says when to ask again.
type NotAdmittedError struct {
	Detail     string        // for the caller
	RetryAfter time.Duration // 0: never
}

func (e *NotAdmittedError) Error() string { return "not admitted: " + e.Detail }

// overloaded is the answer to a request for which there is no place. Those that come again
// come spread over some seconds.
func overloaded() *problem {
	p := newProblem("overloaded", http.StatusServiceUnavailable, "too many requests at once", "nothing was done: send the same again later")
	p.retry = time.Second + rand.N(2*time.Second)
	return p
}

// tooMany is the answer to a request that comes sooner than its rate allows.
func tooMany(whose string, wait time.Duration) *problem {
	p := newProblem("too-many-requests", http.StatusTooManyRequests, "too many requests of this "+whose, "nothing was done: send the same again later")
	p.retry = wait
	return p
}

// notAdmitted is the answer to a request that HandlerOptions.Admit has not let pass.
func notAdmitted(err error) *problem {
	e, ok := errors.AsType[*NotAdmittedError](err)
	switch {
	case !ok:
		return newProblem("doubt", http.StatusServiceUnavailable, "it is not known whether this is allowed", "nothing was done: send the same again")
	case e.RetryAfter > 0:
		p := newProblem("too-many-requests", http.StatusTooManyRequests, "not yet", e.Detail)
		p.retry = e.RetryAfter
		return p
	}
	return newProblem("not-admitted", http.StatusForbidden, "this is not allowed", e.Detail)
}

// hold reads the body, so that no slow client keeps a place. What is wrong with it is found
// when it is decoded.
func hold(w http.ResponseWriter, r *http.Request) (body func() io.ReadCloser) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	return func() io.ReadCloser {
		if err != nil {
			return io.NopCloser(io.MultiReader(bytes.NewReader(data), broken{err}))
		}
		return io.NopCloser(bytes.NewReader(data))
	}
}

// broken is a body that could not be read.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// enter takes a place for a request, if it comes at its rate and is admitted. The place is to be
// left.
func (h *Handler) enter(route route, r *http.Request, body func() io.ReadCloser) (leave func(), p *problem) {
	share := route.share()
	if share != sharePayments && !slices.Equal(route.roles, []Role{Seller}) {
		if wait := h.addresses.Wait(admission.ClientAddress(r, h.options.TrustedProxies), time.Now()); wait > 0 {
			return nil, tooMany("address", wait)
		}
	}
	if route.path == "/orders" && route.method == http.MethodPost && h.options.Admit != nil {
		asked := *r // it gets a body of its own
		asked.Body = body()
		if err := h.options.Admit(&asked); err != nil {
			return nil, notAdmitted(err)
		}
	}
	l := h.lanes[share]
	if !l.Enter(r.Context()) {
		h.tally.shed.Add(1)
		return nil, overloaded()
	}
	return l.Leave, nil
}

// DefaultBurst is how many requests may come at once where a Rate does not say it.
const DefaultBurst = 10

// A Rate is how often something may be done. The zero Rate is any number of times.
type Rate struct {
	PerMinute int // 0: any number
	Burst     int // how many of them at once; 0: DefaultBurst
}

// limiter makes what holds each of many keys to the rate; nil for the zero Rate.
func (r Rate) limiter() *admission.Limiter {
	return admission.NewLimiter(r.PerMinute, cmp.Or(max(r.Burst, 0), DefaultBurst))
}

// ratedBuyers is under which a request's context has the limiter of buyers.
type ratedBuyers struct{}

// mayOrder returns nil if a buyer may place an order now.
func mayOrder(ctx context.Context, buyer string) error {
	l, _ := ctx.Value(ratedBuyers{}).(*admission.Limiter)
	if !isName(buyer) {
		return nil // without one, or refused for it: no limiter remembers a name of any length
	}
	if wait := l.Wait(buyer, time.Now()); wait > 0 {
		return tooMany("buyer", wait)
	}
	return nil
}

// Counts are what a Handler has answered since it was made.
type Counts struct {
	Codes map[int]int64 // how many requests, by status code
	Shed  int64         // how many of them had no place: see HandlerOptions.InFlight
}

// An answerTally counts answers.
type answerTally struct {
	codes [600]atomic.Int64
	shed  atomic.Int64
}

// add counts an answer; one without a code was cut off by a panic.
func (t *answerTally) add(code int) {
	if code > 0 && code < len(t.codes) {
		t.codes[code].Add(1)
	}
}

// Counts returns what was answered so far. It may be called concurrently.
func (h *Handler) Counts() Counts {
	c := Counts{Codes: map[int]int64{}, Shed: h.tally.shed.Load()}
	for code := range h.tally.codes {
		if n := h.tally.codes[code].Load(); n > 0 {
			c.Codes[code] = n
		}
	}
	return c
}

// A counted is a ResponseWriter that remembers the status code.
type counted struct {
	http.ResponseWriter
	code int
}

func (c *counted) WriteHeader(code int) {
	if c.code == 0 {
		c.code = code
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *counted) Write(b []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	return c.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }
