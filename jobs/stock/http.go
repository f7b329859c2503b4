package stock

import (
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

// NewHandler returns a Handler. The logger may be nil. It panics without a sale.
func NewHandler(s *Sale, log *zap.Logger) *Handler {
	if s == nil {
		panic("stock: NewHandler needs a sale")
	}
	if log == nil {
		log = zap.NewNop()
	}
	h := &Handler{sale: s, log: log}
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]func(http.ResponseWriter, *http.Request){
		"/products/{sku}/stock": {http.MethodPut: h.put},
		"/products/{sku}":       {http.MethodGet: h.product, http.MethodPut: h.offer},
		"/orders":               {http.MethodPost: h.reserve},
		"/orders/{id}":          {http.MethodGet: h.order, http.MethodDelete: h.cancel},
		"/orders/{id}/paying":   {http.MethodPost: h.beginPayment},
		"/orders/{id}/pay":      {http.MethodPost: h.pay},
		"/orders/{id}/refund":   {http.MethodPost: h.refund},
		"/orders/{id}/return":   {http.MethodPost: h.giveBack},
	} {
		route(mux, path, methods)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		newProblem("not-found", http.StatusNotFound, "there is nothing here", "").write(w)
	})
	guarded := http.NewCrossOriginProtection()
	guarded.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		newProblem("cross-origin", http.StatusForbidden, "a page of another site may not do this", "").write(w)
	}))
	h.next = guarded.Handler(mux)
	return h
}

// route serves the methods of a path, and tells which there are.
func route(mux *http.ServeMux, path string, methods map[string]func(http.ResponseWriter, *http.Request)) {
	var allowed []string
	for method, serve := range methods {
		mux.HandleFunc(method+" "+path, serve)
		allowed = append(allowed, method)
	}
	slices.Sort(allowed)
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		newProblem("method", http.StatusMethodNotAllowed, "the method is not allowed here", "").write(w)
	})
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), requestTime)
	defer stop()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	h.next.ServeHTTP(w, r.WithContext(ctx))
}

func (h *Handler) put(w http.ResponseWriter, r *http.Request) {
	var form totalForm
	if p := decode(w, r, &form); p != nil {
		p.write(w)
		return
	}
	if form.Total == nil {
		h.answer(w, http.StatusOK, nil, &FieldError{"total", "missing", "what was put in, in all"})
		return
	}
	p, err := h.sale.Put(r.Context(), r.PathValue("sku"), *form.Total)
	h.answer(w, http.StatusOK, viewProduct(p), err)
}

func (h *Handler) offer(w http.ResponseWriter, r *http.Request) {
	var form offerForm
	if p := decode(w, r, &form); p != nil {
		p.write(w)
		return
	}
	offer, err := form.offer()
	if err != nil {
		h.answer(w, http.StatusOK, nil, err)
		return
	}
	p, err := h.sale.SetOffer(r.Context(), r.PathValue("sku"), offer)
	h.answer(w, http.StatusOK, viewProduct(p), err)
}

func (h *Handler) product(w http.ResponseWriter, r *http.Request) {
	p, err := h.sale.Product(r.Context(), r.PathValue("sku"))
	h.answer(w, http.StatusOK, viewProduct(p), err)
}

// reserve answers an order for a product that nobody knows with 422, not 404: it
// is the body that is wrong.
func (h *Handler) reserve(w http.ResponseWriter, r *http.Request) {
	var form orderForm
	if p := decode(w, r, &form); p != nil {
		p.write(w)
		return
	}
	record, fresh, err := h.sale.Reserve(r.Context(), form.order())
	if err != nil {
		p := h.problem(err)
		if p.Status == http.StatusNotFound {
			p.Status = http.StatusUnprocessableEntity
		}
		p.write(w)
		return
	}
	if !record.State.open() && record.State != Paid { // it has none of what it asks for
		h.answer(w, 0, nil, &ClosedError{ID: record.ID, State: record.State})
		return
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
		w.Header().Set("Location", "/orders/"+record.ID)
	}
	h.answer(w, status, viewRecord(record), nil)
}

func (h *Handler) order(w http.ResponseWriter, r *http.Request) {
	record, err := h.sale.Order(r.Context(), r.PathValue("id"))
	h.answer(w, http.StatusOK, viewRecord(record), err)
}

func (h *Handler) beginPayment(w http.ResponseWriter, r *http.Request) {
	record, err := h.sale.BeginPayment(r.Context(), r.PathValue("id"))
	h.answer(w, http.StatusOK, viewRecord(record), err)
}

func (h *Handler) pay(w http.ResponseWriter, r *http.Request) {
	var form paymentForm
	if p := decode(w, r, &form); p != nil {
		p.write(w)
		return
	}
	payment, err := form.payment()
	if err != nil {
		h.answer(w, http.StatusOK, nil, err)
		return
	}
	record, err := h.sale.Pay(r.Context(), r.PathValue("id"), payment)
	h.answer(w, http.StatusOK, viewRecord(record), err)
}

func (h *Handler) refund(w http.ResponseWriter, r *http.Request) {
	var form refundForm
	if p := decode(w, r, &form); p != nil {
		p.write(w)
		return
	}
	record, err := h.sale.Refund(r.Context(), r.PathValue("id"), form.Reference, form.Payment)
	h.answer(w, http.StatusOK, viewRecord(record), err)
}

func (h *Handler) giveBack(w http.ResponseWriter, r *http.Request) {
	var form returnForm
	if p := decode(w, r, &form); p != nil {
		p.write(w)
		return
	}
	record, err := h.sale.Return(r.Context(), r.PathValue("id"), form.Reference)
	h.answer(w, http.StatusOK, viewRecord(record), err)
}

func (h *Handler) cancel(w http.ResponseWriter, r *http.Request) {
	record, err := h.sale.Cancel(r.Context(), r.PathValue("id"))
	h.answer(w, http.StatusOK, viewRecord(record), err)
}

// answer sends what the sale says.
func (h *Handler) answer(w http.ResponseWriter, status int, view any, err error) {
	if err != nil {
		h.problem(err).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(view) // a client that has gone away needs none
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
