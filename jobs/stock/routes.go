package stock

import (
	_ "embed" // the description
	"errors"
	"net/http"
	"reflect"
)

// A route is one kind of request: the roles that may send it, and the function that serves it.
type route struct {
	method, path string
	roles        []Role // none: all, also without a token
	action
}

// routes are all that a Handler serves.
func routes() []route {
	buyer, seller, payment, all := []Role{Buyer}, []Role{Seller}, []Role{PaymentService}, Roles()
	return []route{
		{http.MethodGet, "/openapi.json", nil, plain[any](describe)},
		{http.MethodGet, "/products", all, plain[productsView](listProducts)},
		{http.MethodPut, "/products/{sku}", seller, reading[productView](setOffer)},
		{http.MethodGet, "/products/{sku}", all, plain[productView](readProduct)},
		{http.MethodDelete, "/products/{sku}", seller, plain[any](deleteProduct)},
		{http.MethodPut, "/products/{sku}/stock", seller, reading[productView](putStock)},
		{http.MethodPost, "/products/{sku}/deliveries", seller, reading[productView](addStock)},
		{http.MethodPost, "/orders", buyer, reading[recordView](reserveOrder)},
		{http.MethodGet, "/orders", seller, plain[ordersView](listOrders)},
		{http.MethodPost, "/orders/read", all, reading[readView](readOrders)},
		{http.MethodGet, "/orders/{id}", all, plain[recordView](readOrder)},
		{http.MethodDelete, "/orders/{id}", buyer, plain[recordView](cancelOrder)},
		{http.MethodPost, "/orders/{id}/paying", buyer, plain[recordView](beginPayment)},
		{http.MethodPost, "/orders/{id}/pay", payment, reading[recordView](payOrder)},
		{http.MethodPost, "/orders/{id}/refund", payment, reading[recordView](refundOrder)},
		{http.MethodPost, "/orders/{id}/return", seller, reading[recordView](returnOrder)},
	}
}

// A reply is the answer to a request that was done.
type reply struct {
	view     any
	raw      []byte // JSON, instead of a view
	status   int    // 0: 200
	location string // of what was made; empty: none
	version  string // of a product, for its ETag; empty: none
}

// An action does what a request asks for. Its error is a *problem, or what a sale returned.
type action struct {
	form reflect.Type // what the body is read into; nil: the request has none
	view reflect.Type // what the reply shows
	do   func(*Sale, http.ResponseWriter, *http.Request) (reply, error)
}

// plain is an action without a body, whose reply shows a V.
func plain[V any](do func(*Sale, *http.Request) (reply, error)) action {
	return action{nil, reflect.TypeFor[V](), func(s *Sale, _ http.ResponseWriter, r *http.Request) (reply, error) { return do(s, r) }}
}

// reading is an action whose body is a form F, and whose reply shows a V.
func reading[V, F any](do func(*Sale, *http.Request, F) (reply, error)) action {
	return action{reflect.TypeFor[F](), reflect.TypeFor[V](), func(s *Sale, w http.ResponseWriter, r *http.Request) (reply, error) {
		var form F
		if p := decode(w, r, &form); p != nil {
			return reply{}, p
		}
		return do(s, r, form)
	}}
}

func ofProduct(p Product, err error) (reply, error) {
	return reply{view: viewProduct(p), version: p.Version()}, err
}

func ofRecord(r Record, err error) (reply, error) { return reply{view: viewRecord(r)}, err }

func setOffer(s *Sale, r *http.Request, form offerForm) (reply, error) {
	offer, err := form.offer()
	if err != nil {
		return reply{}, err
	}
	condition, err := conditionOf(r)
	if err != nil {
		return reply{}, err
	}
	return ofProduct(s.SetOfferIf(r.Context(), r.PathValue("sku"), offer, condition))
}

func putStock(s *Sale, r *http.Request, form totalForm) (reply, error) {
	if form.Total == nil {
		return reply{}, &FieldError{"total", "missing", "what was put in, in all"}
	}
	condition, err := conditionOf(r)
	if err != nil {
		return reply{}, err
	}
	return ofProduct(s.PutIf(r.Context(), r.PathValue("sku"), *form.Total, condition))
}

func readProduct(s *Sale, r *http.Request) (reply, error) {
	return ofProduct(s.Product(r.Context(), r.PathValue("sku")))
}

// reserveOrder answers an order for a product that is not known with 422, not 404: it
// is the body that is wrong.
func reserveOrder(s *Sale, r *http.Request, form orderForm) (reply, error) {
	if err := mayOrder(r.Context(), form.Buyer); err != nil {
		return reply{}, err
	}
	record, fresh, err := s.Reserve(r.Context(), form.order())
	switch {
	case errors.Is(err, ErrUnknownSKU):
		p := problemOf(err)
		p.Status = http.StatusUnprocessableEntity
		return reply{}, p
	case err != nil:
		return reply{}, err
	case !record.State.holds(): // it has none of what it asks for
		return reply{}, &ClosedError{ID: record.ID, State: record.State}
	case fresh:
		return reply{view: viewRecord(record), status: http.StatusCreated, location: "/orders/" + record.ID}, nil
	}
	return ofRecord(record, nil)
}

func readOrder(s *Sale, r *http.Request) (reply, error) {
	return ofRecord(s.Order(r.Context(), r.PathValue("id")))
}

func cancelOrder(s *Sale, r *http.Request) (reply, error) {
	return ofRecord(s.Cancel(r.Context(), r.PathValue("id")))
}

func beginPayment(s *Sale, r *http.Request) (reply, error) {
	return ofRecord(s.BeginPayment(r.Context(), r.PathValue("id")))
}

func payOrder(s *Sale, r *http.Request, form paymentForm) (reply, error) {
	payment, err := form.payment()
	if err != nil {
		return reply{}, err
	}
	return ofRecord(s.Pay(r.Context(), r.PathValue("id"), payment))
}

func refundOrder(s *Sale, r *http.Request, form refundForm) (reply, error) {
	return ofRecord(s.Refund(r.Context(), r.PathValue("id"), form.Reference, form.Payment))
}

func returnOrder(s *Sale, r *http.Request, form returnForm) (reply, error) {
	return ofRecord(s.Return(r.Context(), r.PathValue("id"), form.Reference))
}

// openAPI is the description of what a Handler serves, for machines. A test makes it from the
// routes, and compares.
//
//go:embed openapi.json
var openAPI []byte

// describe serves the description, without a token: it says nothing of a sale.
func describe(_ *Sale, _ *http.Request) (reply, error) { return reply{raw: openAPI}, nil }
