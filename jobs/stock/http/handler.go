// Package stockhttp serves a sale over HTTP: its routes, forms, roles, and the limits of the requests
// that are served at once.
package stockhttp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// A Handler serves a sale over HTTP:
//
//	GET    /openapi.json           this description, as OpenAPI
//	PUT    /products/{sku}         sets its offer
//	PUT    /products/{sku}/stock   sets its total
//	GET    /products/{sku}
//	POST   /orders                 201 accepted, 200 accepted before
//	GET    /orders/{id}
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
	shed   atomic.Int64 // requests without a place

	timeout time.Duration
	wait    time.Duration // for which a request waits for a place
	lanes   [lanes]lane
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
	// InFlight bounds the requests that are served at once, for each of three kinds: requests of
	// buyers, reads, and payments with requests of sellers. Further requests wait, at most for
	// Wait, and then get 503 overloaded. Zero: 64.
	InFlight int
	// Wait bounds the time for which a request waits for a place. Zero: 100ms.
	Wait time.Duration
	// Timeout bounds a request, from the end of its body on. If the store does not answer, the
	// request ends in doubt then. Zero: 800ms.
	Timeout time.Duration
}

// NewHandler returns a Handler. It panics without a sale.
func NewHandler(s *stock.Sale, options Options) *Handler {
	if s == nil {
		panic("stockhttp: NewHandler needs a sale")
	}
	h := &Handler{sale: s, log: options.Log, tokens: options.Tokens,
		timeout: cmp.Or(options.Timeout, 800*time.Millisecond), wait: cmp.Or(options.Wait, 100*time.Millisecond)}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	for i := range h.lanes {
		h.lanes[i] = make(lane, max(1, cmp.Or(options.InFlight, 64)))
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
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	h.next.ServeHTTP(w, r)
}

// Shed returns the number of requests that were refused because they got no place: see
// Options.InFlight. It may be called concurrently.
func (h *Handler) Shed() int64 { return h.shed.Load() }

// serve returns the handler of a route. It reads the body before the request gets a place, so that
// a slow client occupies none.
func (h *Handler) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := h.admit(route, w, r)
		var body []byte
		if p == nil && route.form != nil {
			body, p = readBody(w, r)
		}
		if p != nil {
			p.write(w)
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), h.timeout)
		defer stop()
		l := h.lanes[route.lane()]
		if !l.enter(ctx, h.wait) {
			h.shed.Add(1)
			overloaded().write(w)
			return
		}
		defer l.leave()
		answer, err := route.do(h.sale, r.WithContext(ctx), body)
		if err != nil {
			h.problem(err).write(w)
			return
		}
		answer.write(w)
	}
}

// write sends the reply.
func (a reply) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	w.WriteHeader(cmp.Or(a.status, http.StatusOK))
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
