package stock

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// requestTime bounds what a request may wait for the store.
const requestTime = 5 * time.Second

// A Handler serves a sale over HTTP:
//
//	PUT    /products/{sku}         its price
//	PUT    /products/{sku}/stock   what was put in, in all
//	GET    /products/{sku}
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
// be. It knows nobody's rights: who can reach it may do everything.
type Handler struct {
	sale *Sale
	log  *zap.Logger
	next http.Handler
	told atomic.Int64 // when the last doubt was logged, Unix ns
}

// HandlerOptions are what a Handler may be given. The zero value is fine.
type HandlerOptions struct {
	// Log gets what is in doubt, at most once a second. Nil: nothing is logged.
	Log *zap.Logger
}

// NewHandler returns a Handler. It panics without a sale.
func NewHandler(s *Sale, options HandlerOptions) *Handler {
	if s == nil {
		panic("stock: NewHandler needs a sale")
	}
	if options.Log == nil {
		options.Log = zap.NewNop()
	}
	h := &Handler{sale: s, log: options.Log}
	guarded := http.NewCrossOriginProtection()
	guarded.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		newProblem("cross-origin", http.StatusForbidden, "a page of another site may not do this", "").write(w)
	}))
	h.next = guarded.Handler(h.mux(routes()))
	return h
}

// mux serves the routes, and says of each path which methods it has.
func (h *Handler) mux(all []route) *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range all {
		mux.HandleFunc(r.method+" "+r.path, h.serve(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			newProblem("method", http.StatusMethodNotAllowed, "the method is not allowed here", "").write(w)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		newProblem("not-found", http.StatusNotFound, "there is nothing here", "").write(w)
	})
	return mux
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), requestTime)
	defer stop()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	h.next.ServeHTTP(w, r.WithContext(ctx))
}

// serve does what the requests of a route ask for, and answers them.
func (h *Handler) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
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
	w.Header().Set("Content-Type", "application/json")
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	w.WriteHeader(cmp.Or(a.status, http.StatusOK))
	_ = json.NewEncoder(w).Encode(a.view) // a client that has gone away needs none
}

// problem tells the log of doubt, at most once a second.
func (h *Handler) problem(err error) *problem {
	p := problemOf(err)
	if last, now := h.told.Load(), time.Now().UnixNano(); p.Status == http.StatusServiceUnavailable &&
		now-last >= int64(time.Second) && h.told.CompareAndSwap(last, now) {
		h.log.Warn("request in doubt", zap.String("err", err.Error()))
	}
	return p
}
