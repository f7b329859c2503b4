package stock

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/admission"
)

// A Handler serves a sale over HTTP:
//
//	GET    /openapi.json           this, for machines
//	PUT    /products/{sku}         its price
//	PUT    /products/{sku}/stock   what was put in, in all
//	POST   /products/{sku}/deliveries   adds to it, once per reference
//	GET    /products/{sku}
//	DELETE /products/{sku}         ends its sale; what was sold stays
//	GET    /products               a page of all: limit, cursor
//	GET    /orders                 a page of all: limit, cursor, state, sku
//	POST   /orders/read            up to 100, by their ids
//	POST   /orders                 201 accepted, 200 accepted before
//	GET    /orders/{id}
//	POST   /orders/{id}/paying     its payment has begun
//	POST   /orders/{id}/pay        it was paid
//	POST   /orders/{id}/refund     a payment goes back
//	POST   /orders/{id}/return     its items came back
//	DELETE /orders/{id}            cancels it
//
// Bodies are JSON of at most 64 KiB, errors application/problem+json (RFC 9457):
// 409 sold out, closed, or an id with another order; 422 what is not allowed; 404
// not known; 503 doubt, after which the same may be sent again. Every request may
// be. Each Role may do what its doc says, with a token of its own (401, 403 otherwise); without
// HandlerOptions.Tokens each caller that can reach it may do everything.
type Handler struct {
	sale   *Sale
	log    *slog.Logger
	tokens func(Role) []string
	next   http.Handler
	logged atomic.Int64 // when the last doubt was logged, Unix ns
	shared atomic.Int64 // when a token of several roles was logged last, Unix ns

	options           HandlerOptions
	lanes             [shares]*admission.Lane
	buyers, addresses *admission.Limiter
	tally             answerTally
}

// HandlerOptions are what a Handler may be given. The zero value is fine.
type HandlerOptions struct {
	// Log gets what is in doubt, at most once a second. Nil: nothing is logged.
	Log *slog.Logger
	// Tokens returns the tokens of a role, of which each proves it, as they are now: several
	// let one be replaced by another. No caller has a role without a token, and a token that
	// several roles have proves none of them. It is called for each request, also
	// concurrently. Nil: there are no roles, and each caller that can reach the Handler may
	// do everything.
	Tokens func(Role) []string
	// InFlight is how many requests are served at once, of each of three shares: what buyers
	// do, reading, and payments with what sellers do. More wait, for Wait at most, and are
	// then refused with 503 overloaded. Zero: DefaultInFlight.
	InFlight int
	// Wait is how long a request waits for a place. Zero: DefaultWait.
	Wait time.Duration
	// Timeout bounds a request from when its body was read: with a store that does not answer
	// it ends in doubt then. Zero: DefaultTimeout.
	Timeout time.Duration
	// BuyerRate is how often one buyer may try to place an order, and AddressRate how often one
	// address may send what is not a payment or for sellers: more is 429 too-many-requests. They
	// are counted by this Handler alone. Zero: any number of times.
	BuyerRate, AddressRate Rate
	// TrustedProxies are the addresses whose X-Forwarded-For is believed: the address of a
	// request is the last in it that is not theirs. An IPv4-mapped range, ::ffff:10.0.0.0/104, is that
	// of the IPv4 addresses. Nil: it is that of the peer.
	TrustedProxies []netip.Prefix
	// Admit is asked before each order that is placed, and may check a token of a captcha or
	// a queue in the headers. A *NotAdmittedError refuses the order, any other error is doubt. The body
	// is there to be read. It is called concurrently, before the request has a place, with a
	// context that ends with the request's Timeout. Nil: all are admitted.
	Admit func(*http.Request) error
}

func (o HandlerOptions) filled() HandlerOptions {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fill(&o.InFlight, DefaultInFlight)
	fill(&o.Wait, DefaultWait)
	fill(&o.Timeout, DefaultTimeout)
	o.TrustedProxies = admission.Unmapped(o.TrustedProxies)
	return o
}

// NewHandler returns a Handler. It panics without a sale.
func NewHandler(s *Sale, options HandlerOptions) *Handler {
	if s == nil {
		panic("stock: NewHandler needs a sale")
	}
	options = options.filled()
	h := &Handler{sale: s, log: options.Log, tokens: options.Tokens, options: options, buyers: options.BuyerRate.limiter(), addresses: options.AddressRate.limiter()}
	for i := range h.lanes {
		h.lanes[i] = admission.NewLane(max(1, options.InFlight), options.Wait)
	}
	guarded := http.NewCrossOriginProtection()
	guarded.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		newProblem("cross-origin", http.StatusForbidden, "a page of another site may not do this", "").write(w)
	}))
	h.next = guarded.Handler(h.mux(routes()))
	return h
}

// mux serves the routes. The answer to a request of none of them has the methods that its path has.
func (h *Handler) mux(all []route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range all {
		mux.HandleFunc(r.method+" "+r.path, h.serve(r))
	}
	mux.HandleFunc(anyPath, func(w http.ResponseWriter, r *http.Request) {
		allowed := methodsOf(mux, r.URL)
		if len(allowed) == 0 {
			newProblem("not-found", http.StatusNotFound, "there is nothing here", "").write(w)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		newProblem("method", http.StatusMethodNotAllowed, "the method is not allowed here", "").write(w)
	})
	return mux
}

const anyPath = "/"

// methodsOf are the methods that a path has: it may be that of several routes.
func methodsOf(mux *http.ServeMux, path *url.URL) (allowed []string) {
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPost, http.MethodPut} {
		if _, pattern := mux.Handler(&http.Request{Method: method, URL: path}); pattern != anyPath {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counting := &counted{ResponseWriter: w}
	w = counting
	defer func() { h.tally.add(counting.code) }()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	h.next.ServeHTTP(w, r)
}

// serve does what the requests of a route ask for, and answers them.
func (h *Handler) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := h.admit(route, w, r); p != nil {
			p.write(w)
			return
		}
		body := hold(w, r)
		ctx, stop := context.WithTimeout(r.Context(), h.timeout(route))
		defer stop()
		r = r.WithContext(context.WithValue(ctx, ratedBuyers{}, h.buyers))
		leave, p := h.enter(route, r, body)
		if p != nil {
			p.write(w)
			return
		}
		defer leave()
		r.Body = body()
		answer, err := route.do(h.sale, w, r)
		if err != nil {
			h.problem(err).write(w)
			return
		}
		answer.write(w)
	}
}

// write sends the reply.
func (a reply) write(w http.ResponseWriter) {
	if a.status == http.StatusNoContent {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	if a.version != "" {
		w.Header().Set("ETag", `"`+a.version+`"`)
	}
	w.WriteHeader(cmp.Or(a.status, http.StatusOK))
	if a.raw != nil {
		_, _ = w.Write(a.raw)
		return
	}
	_ = json.NewEncoder(w).Encode(a.view) // a client that has gone away needs none
}

// problem is the answer to an error. Doubt is logged, at most once a second.
func (h *Handler) problem(err error) *problem {
	p := problemOf(err)
	if last, now := h.logged.Load(), time.Now().UnixNano(); p.Status == http.StatusServiceUnavailable &&
		now-last >= int64(time.Second) && h.logged.CompareAndSwap(last, now) {
		h.log.Warn("request in doubt", slog.String("err", err.Error()))
	}
	return p
}
