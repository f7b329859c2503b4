package stockhttp

import (
	_ "embed" // the description
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	"github.com/cronce/cronce/jobs/stock"
)

// A route is one kind of request: the roles that may send it, and the function that serves it.
type route struct {
	method, path string
	roles        []Role // none: every caller, even without a token
	action
}

// routes returns all routes of a Handler.
func routes() []route {
	buyer, seller, payment, all := []Role{Buyer}, []Role{Seller}, []Role{PaymentService}, Roles()
	return []route{
		{http.MethodGet, "/openapi.json", nil, plain[any](describe)},
		{http.MethodPut, "/products/{sku}", seller, reading[productView](setOffer)},
		{http.MethodGet, "/products/{sku}", all, plain[productView](readProduct)},
		{http.MethodPut, "/products/{sku}/stock", seller, reading[productView](putStock)},
		{http.MethodPost, "/orders", buyer, reading[recordView](reserveOrder)},
		{http.MethodGet, "/orders/{id}", all, plain[recordView](readOrder)},
		{http.MethodDelete, "/orders/{id}", buyer, plain[recordView](cancelOrder)},
		{http.MethodPost, "/orders/{id}/pay", payment, reading[recordView](payOrder)},
		{http.MethodPost, "/orders/{id}/refund", payment, reading[recordView](refundOrder)},
		{http.MethodPost, "/orders/{id}/return", seller, reading[recordView](returnOrder)},
	}
}

// A reply is the reply to a successful request.
type reply struct {
	view     any
	status   int    // 0: 200
	location string // path of the created order; empty: none
}

// An action serves a request. Its error is a *problem or the error of a sale.
type action struct {
	form reflect.Type // form of the body; nil: the request has none
	view reflect.Type // type of the reply's JSON
	do   func(s *stock.Sale, r *http.Request, body []byte) (reply, error)
}

// plain returns an action without a body, whose reply is a V.
func plain[V any](do func(*stock.Sale, *http.Request) (reply, error)) action {
	return action{nil, reflect.TypeFor[V](), func(s *stock.Sale, r *http.Request, _ []byte) (reply, error) { return do(s, r) }}
}

// reading returns an action whose body is a form F and whose reply is a V.
func reading[V, F any](do func(*stock.Sale, *http.Request, F) (reply, error)) action {
	return action{reflect.TypeFor[F](), reflect.TypeFor[V](), func(s *stock.Sale, r *http.Request, body []byte) (reply, error) {
		var form F
		if p := decode(body, &form); p != nil {
			return reply{}, p
		}
		return do(s, r, form)
	}}
}

func ofProduct(p stock.Product, err error) (reply, error) {
	return reply{view: viewProduct(p)}, err
}

func ofRecord(r stock.Record, err error) (reply, error) { return reply{view: viewRecord(r)}, err }

func setOffer(s *stock.Sale, r *http.Request, form offerForm) (reply, error) {
	offer, err := form.offer()
	if err != nil {
		return reply{}, err
	}
	return ofProduct(s.SetOffer(r.Context(), r.PathValue("sku"), offer))
}

func putStock(s *stock.Sale, r *http.Request, form totalForm) (reply, error) {
	if form.Total == nil {
		return reply{}, refusal("total", "missing", "the quantity put in, in all")
	}
	return ofProduct(s.Put(r.Context(), r.PathValue("sku"), *form.Total))
}

func readProduct(s *stock.Sale, r *http.Request) (reply, error) {
	return ofProduct(s.Product(r.Context(), r.PathValue("sku")))
}

// reserveOrder replies 422, not 404, to an order for an unknown product: the path is right and the
// body is wrong.
func reserveOrder(s *stock.Sale, r *http.Request, form orderForm) (reply, error) {
	record, fresh, err := s.Reserve(r.Context(), form.order())
	switch {
	case errors.Is(err, stock.ErrUnknownSKU):
		p := problemOf(err)
		p.Status = http.StatusUnprocessableEntity
		return reply{}, p
	case err != nil:
		return reply{}, err
	case record.State != stock.Reserved && record.State != stock.Paid: // the order no longer holds its items
		return reply{}, &stock.RefusalError{Code: "closed", State: record.State}
	case fresh:
		return reply{view: viewRecord(record), status: http.StatusCreated, location: "/orders/" + record.ID}, nil
	}
	return ofRecord(record, nil)
}

func readOrder(s *stock.Sale, r *http.Request) (reply, error) {
	return ofRecord(s.Order(r.Context(), r.PathValue("id")))
}

func cancelOrder(s *stock.Sale, r *http.Request) (reply, error) {
	return ofRecord(s.Cancel(r.Context(), r.PathValue("id")))
}

func payOrder(s *stock.Sale, r *http.Request, form paymentForm) (reply, error) {
	payment, err := form.payment()
	if err != nil {
		return reply{}, err
	}
	return ofRecord(s.Pay(r.Context(), r.PathValue("id"), payment))
}

func refundOrder(s *stock.Sale, r *http.Request, form refundForm) (reply, error) {
	return ofRecord(s.Refund(r.Context(), r.PathValue("id"), form.Reference, form.Payment))
}

func returnOrder(s *stock.Sale, r *http.Request, form returnForm) (reply, error) {
	return ofRecord(s.Return(r.Context(), r.PathValue("id"), form.Reference))
}

// openAPI is the OpenAPI description of a Handler. A test generates it from the routes and
// compares.
//
//go:embed openapi.json
var openAPI json.RawMessage

// describe serves the description without a token: it contains nothing of a sale.
func describe(_ *stock.Sale, _ *http.Request) (reply, error) { return reply{view: openAPI}, nil }
