// Package stockhttp serves a sale over HTTP: its routes, forms, roles, and the limits of the requests
// that are served at once.
package stockhttp

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

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/internal/admission"
)

// A Handler serves a sale over HTTP:
//
//	GET    /openapi.json           this description, as OpenAPI
//	PUT    /products/{sku}         sets its offer
//	PUT    /products/{sku}/stock   sets its total
//	POST   /products/{sku}/deliveries   adds to its total, once per reference
//	GET    /products/{sku}
//	DELETE /products/{sku}         ends its sale; sold items stay
//	GET    /products               a page of products: limit, cursor
//	GET    /orders                 a page of orders: limit, cursor, state, sku
//	POST   /orders/read            up to 100, by their ids
//	POST   /orders                 201 accepted, 200 accepted before
//	GET    /orders/{id}
//	POST   /orders/{id}/paying     begins its payment
//	POST   /orders/{id}/pay        records its payment
//	POST   /orders/{id}/refund     records a refund
//	POST   /orders/{id}/return     records a return
//	DELETE /orders/{id}            cancels it
//
// Bodies are JSON of at most 64 KiB. Errors are application/problem+json (RFC 9457): 409 for
// sold out, closed, or an id with another order; 422 for an invalid request; 404 for an
// unknown id; 503 for doubt. Every request may be repeated, and after doubt it should be.
// Each Role needs a token of its own (401 and 403 otherwise). Without Options.Tokens
// each caller that can reach the Handler may do everything.
type Handler struct {
	sale   *stock.Sale
	log    *slog.Logger
	tokens func(Role) []string
	next   http.Handler
	logged atomic.Int64 // time of the last logged doubt, Unix ns
	shared atomic.Int64 // time of the last logged token of several roles, Unix ns

	options           Options
	lanes             [shares]*admission.Lane
	buyers, addresses *admission.Limiter
	tally             answerTally
}

// Options are the options of a Handler. The zero value is valid.
type Options struct {
	// Log gets requests in doubt, at most one a second. Nil: nothing is logged.
	Log *slog.Logger
	// Tokens returns the current tokens of a role. Each of them proves the role; several tokens
	// allow one to be replaced. A role without tokens is open to no caller. A token of several
	// roles proves none of them. Tokens is called for each request, also concurrently. Nil: there
	// are no roles, and each caller that can reach the Handler may do everything.
	Tokens func(Role) []string
	// InFlight bounds the requests that are served at once, for each of three shares: requests of
	// buyers, reads, and payments with requests of sellers. Further requests wait, at most for
	// Wait, and then get 503 overloaded. Zero: DefaultInFlight.
	InFlight int
	// Wait bounds the time for which a request waits for a place. Zero: DefaultWait.
	Wait time.Duration
	// Timeout bounds a request, from the end of its body on. If the store does not answer, the
	// request ends in doubt then. Zero: DefaultTimeout.
	Timeout time.Duration
	// BuyerRate limits the orders that one buyer may try to place, and AddressRate the requests of
	// one address other than payments and requests of sellers. A request beyond its rate gets 429
	// too-many-requests. Each Handler counts by itself. Zero: no limit.
	BuyerRate, AddressRate Rate
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted: a request counts for the
	// last address in this header that is not one of them. An IPv4-mapped range such as
	// ::ffff:10.0.0.0/104 stands for its IPv4 addresses. Nil: a request counts for its peer.
	TrustedProxies []netip.Prefix
	// Admit is called before each order is placed, and may check a token of a captcha or a queue in
	// the headers. It may read the body. A *NotAdmittedError refuses the order; any other error is
	// doubt. It is called concurrently, before the request has a place, with a context that ends
	// with Timeout. Nil: all orders are admitted.
	Admit func(*http.Request) error
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.InFlight = cmp.Or(o.InFlight, DefaultInFlight)
	o.Wait = cmp.Or(o.Wait, DefaultWait)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.TrustedProxies = admission.Unmapped(o.TrustedProxies)
	return o
}

// NewHandler returns a Handler. It panics without a sale.
func NewHandler(s *stock.Sale, options Options) *Handler {
	if s == nil {
		panic("stockhttp: NewHandler needs a sale")
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

// mux serves the routes. A request with a wrong method gets the methods that its path has.
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

// methodsOf returns the methods of a path, which may match several routes.
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

// serve returns the handler of a route.
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
	_ = json.NewEncoder(w).Encode(a.view) // an error means that the client has disconnected
}

// problem returns the reply to an error. It logs doubt at most once a second.
func (h *Handler) problem(err error) *problem {
	p := problemOf(err)
	if last, now := h.logged.Load(), time.Now().UnixNano(); p.Status == http.StatusServiceUnavailable &&
		now-last >= int64(time.Second) && h.logged.CompareAndSwap(last, now) {
		h.log.Warn("request in doubt", slog.String("err", err.Error()))
	}
	return p
}
