package stockhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/bearer"
	"github.com/cronce/cronce/jobs/stock/internal/admission"
	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// Defaults of Options.
const (
	DefaultInFlight = 64
	DefaultWait     = 100 * time.Millisecond
	DefaultTimeout  = 800 * time.Millisecond
)

// A share is a kind of requests with places of its own, so that one kind cannot use up the places
// of another.
type share int

const (
	shareOrders   share = iota // requests of buyers
	shareReads                 // requests that change nothing
	sharePayments              // payments and requests of sellers
	shares
)

// share returns the share of a route's requests.
func (r route) share() share {
	switch {
	case r.method == http.MethodGet || r.path == "/orders/read":
		return shareReads
	case r.path == "/orders" || r.method == http.MethodDelete && r.path == "/orders/{id}" || r.path == "/orders/{id}/paying":
		return shareOrders
	}
	return sharePayments
}

// listTime bounds a request for a list of orders, which the database serves.
const listTime = 5 * time.Second

// timeout returns the time limit of a request, from the end of its body on.
func (h *Handler) timeout(r route) time.Duration {
	if r.method == http.MethodGet && r.path == "/orders" {
		return max(listTime, h.options.Timeout)
	}
	return h.options.Timeout
}

// A NotAdmittedError is the error with which Options.Admit refuses a request: 403, or 429
// with a RetryAfter.
type NotAdmittedError struct {
	Detail     string        // sent to the client
	RetryAfter time.Duration // 0: never
}

func (e *NotAdmittedError) Error() string { return "not admitted: " + e.Detail }

// overloaded is the reply to a request for which there is no place. A random Retry-After spreads
// the repeated requests over some seconds.
func overloaded() *problem {
	p := newProblem("overloaded", http.StatusServiceUnavailable, "too many requests at once", "nothing was done: send the same again later")
	p.retry = time.Second + rand.N(2*time.Second)
	return p
}

// tooMany is the reply to a request that exceeds its rate.
func tooMany(whose string, wait time.Duration) *problem {
	p := newProblem("too-many-requests", http.StatusTooManyRequests, "too many requests of this "+whose, "nothing was done: send the same again later")
	p.retry = wait
	return p
}

// notAdmitted is the reply to a request that Options.Admit has refused.
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

// hold reads the body before the request gets a place, so that a slow client occupies none. An
// error of the body is reported when it is decoded.
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

// enter gets a place for a request that observes its rate and is admitted. The caller must call
// leave to return the place.
func (h *Handler) enter(route route, r *http.Request, body func() io.ReadCloser) (leave func(), p *problem) {
	share := route.share()
	if share != sharePayments && !slices.Equal(route.roles, []Role{Seller}) {
		if wait := h.addresses.Wait(admission.ClientAddress(r, h.options.TrustedProxies), time.Now()); wait > 0 {
			return nil, tooMany("address", wait)
		}
	}
	if route.path == "/orders" && route.method == http.MethodPost && h.options.Admit != nil {
		asked := *r // a copy with a body of its own
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

// A Rate limits how often something may be done. The zero Rate is no limit.
type Rate struct {
	PerMinute int // 0: no limit
	Burst     int // how many at once; 0: DefaultBurst
}

// limiter returns a limiter with this rate per key; nil for the zero Rate.
func (r Rate) limiter() *admission.Limiter {
	return admission.NewLimiter(r.PerMinute, cmp.Or(max(r.Burst, 0), DefaultBurst))
}

// ratedBuyers is the context key of the limiter of buyers.
type ratedBuyers struct{}

// mayOrder returns nil if a buyer may place an order now.
func mayOrder(ctx context.Context, buyer string) error {
	l, _ := ctx.Value(ratedBuyers{}).(*admission.Limiter)
	if !format.IsName(buyer) {
		return nil // the order has no buyer, or is refused for it; the limiter must not store names of unbounded length
	}
	if wait := l.Wait(buyer, time.Now()); wait > 0 {
		return tooMany("buyer", wait)
	}
	return nil
}

// Counts are the replies of a Handler since it was made.
type Counts struct {
	Codes map[int]int64 // number of requests by status code
	Shed  int64         // of these, the requests without a place: see Options.InFlight
}

// An answerTally counts replies.
type answerTally struct {
	codes [600]atomic.Int64
	shed  atomic.Int64
}

// add counts a reply; code 0 means that a panic ended the request.
func (t *answerTally) add(code int) {
	if code > 0 && code < len(t.codes) {
		t.codes[code].Add(1)
	}
}

// Counts returns the counts so far. It may be called concurrently.
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

// A Role is the role of a caller, proved by a token.
type Role string

// The roles. Each role may read products and any order by its id. Ids of orders must therefore not
// be guessable.
const (
	Buyer          Role = "buyer"   // may place and cancel orders, and begin to pay
	Seller         Role = "seller"  // may change products, list orders, and take items back
	PaymentService Role = "payment" // may report payments and refunds
)

// Roles returns all roles.
func Roles() []Role { return []Role{Buyer, Seller, PaymentService} }

// admit returns nil if the request has a token of one of the route's roles.
func (h *Handler) admit(route route, w http.ResponseWriter, r *http.Request) *problem {
	if h.tokens == nil || len(route.roles) == 0 {
		return nil
	}
	var has []Role
	for _, role := range Roles() { // all roles are compared, so that the time does not reveal the role
		if bearer.Is(r, h.tokens(role)...) {
			has = append(has, role)
		}
	}
	if len(has) > 1 { // a mistake in a token file must not make a buyer a seller
		h.logShared(has)
	}
	if len(has) != 1 {
		bearer.Demand(w, r, "shop")
		return newProblem("token", http.StatusUnauthorized, "the token is missing or wrong", "Authorization: Bearer and a token of the shop")
	}
	if !slices.Contains(route.roles, has[0]) {
		return newProblem("role", http.StatusForbidden, "the token is of another role", "this is for "+names(route.roles))
	}
	return nil
}

// logShared logs, at most once a minute, that a request had a token of several roles, which proves
// none of them.
func (h *Handler) logShared(roles []Role) {
	if last, now := h.shared.Load(), time.Now().UnixNano(); now-last >= int64(time.Minute) && h.shared.CompareAndSwap(last, now) {
		h.log.Error("token of several roles", slog.String("roles", names(roles)), slog.String("text", "it proves none of them"))
	}
}

func names(roles []Role) string {
	texts := make([]string, len(roles))
	for i, role := range roles {
		texts[i] = string(role)
	}
	return strings.Join(texts, ", ")
}
