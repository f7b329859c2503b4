package stockhttp

import (
	_ "embed" // the description
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/internal/format"
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

// A reply is the reply to a successful request.
type reply struct {
	view     any
	raw      []byte // JSON, instead of a view
	status   int    // 0: 200
	location string // path of the created order; empty: none
	version  string // version of a product, for its ETag; empty: none
}

// An action serves a request. Its error is a *problem or the error of a sale.
type action struct {
	form reflect.Type // form of the body; nil: the request has none
	view reflect.Type // type of the reply's JSON
	do   func(*stock.Sale, http.ResponseWriter, *http.Request) (reply, error)
}

// plain returns an action without a body, whose reply is a V.
func plain[V any](do func(*stock.Sale, *http.Request) (reply, error)) action {
	return action{nil, reflect.TypeFor[V](), func(s *stock.Sale, _ http.ResponseWriter, r *http.Request) (reply, error) { return do(s, r) }}
}

// reading returns an action whose body is a form F and whose reply is a V.
func reading[V, F any](do func(*stock.Sale, *http.Request, F) (reply, error)) action {
	return action{reflect.TypeFor[F](), reflect.TypeFor[V](), func(s *stock.Sale, w http.ResponseWriter, r *http.Request) (reply, error) {
		var form F
		if p := decode(w, r, &form); p != nil {
			return reply{}, p
		}
		return do(s, r, form)
	}}
}

func ofProduct(p stock.Product, err error) (reply, error) {
	return reply{view: viewProduct(p), version: p.Version()}, err
}

func ofRecord(r stock.Record, err error) (reply, error) { return reply{view: viewRecord(r)}, err }

func setOffer(s *stock.Sale, r *http.Request, form offerForm) (reply, error) {
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

func putStock(s *stock.Sale, r *http.Request, form totalForm) (reply, error) {
	if form.Total == nil {
		return reply{}, refusal("total", "missing", "what was put in, in all")
	}
	condition, err := conditionOf(r)
	if err != nil {
		return reply{}, err
	}
	return ofProduct(s.PutIf(r.Context(), r.PathValue("sku"), *form.Total, condition))
}

func readProduct(s *stock.Sale, r *http.Request) (reply, error) {
	return ofProduct(s.Product(r.Context(), r.PathValue("sku")))
}

// reserveOrder replies 422, not 404, to an order for an unknown product: the path is right and the
// body is wrong.
func reserveOrder(s *stock.Sale, r *http.Request, form orderForm) (reply, error) {
	if err := mayOrder(r.Context(), form.Buyer); err != nil {
		return reply{}, err
	}
	record, fresh, err := s.Reserve(r.Context(), form.order())
	switch {
	case errors.Is(err, stock.ErrUnknownSKU):
		p := problemOf(err)
		p.Status = http.StatusUnprocessableEntity
		return reply{}, p
	case err != nil:
		return reply{}, err
	case !slices.Contains([]stock.State{stock.Reserved, stock.Paying, stock.Paid}, record.State): // the order no longer holds its items
		return reply{}, &stock.Refusal{Code: "closed", State: record.State}
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

func beginPayment(s *stock.Sale, r *http.Request) (reply, error) {
	return ofRecord(s.BeginPayment(r.Context(), r.PathValue("id")))
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
var openAPI []byte

// describe serves the description without a token: it contains nothing of a sale.
func describe(_ *stock.Sale, _ *http.Request) (reply, error) { return reply{raw: openAPI}, nil }

// defaultPage is the size of a page if the request names none.
const defaultPage = 100

// parameters parses the query of a request. It refuses unknown names, since a misspelt filter would
// have no effect, and repeated ones.
func parameters(r *http.Request, names ...string) (map[string]string, error) {
	all, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refusal("query", "not readable", "name=value, joined by &")
	}
	values := map[string]string{}
	for name, given := range all {
		switch {
		case !slices.Contains(names, name):
			return nil, refusal(at("", name), "not known", "the parameters of the documentation")
		case len(given) > 1:
			return nil, refusal(at("", name), "there twice", "each parameter once")
		}
		values[name] = given[0]
	}
	return values, nil
}

// limitOf parses the size of a page.
func limitOf(text string) (int, error) {
	if text == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, refusal("limit", format.Quote(text), "a number")
	}
	return n, nil
}

// A productsView is the JSON of a page of products.
type productsView struct {
	Products []productView `json:"products"`
	Next     string        `json:"next,omitempty"` // the cursor of the next page
}

// An ordersView is the JSON of a page of orders.
type ordersView struct {
	Orders []recordView `json:"orders"`
	Next   string       `json:"next,omitempty"` // the cursor of the next page
}

// A readForm is the body of a read of orders.
type readForm struct {
	IDs []string `json:"ids"`
}

// A readView is the JSON of orders that were read.
type readView struct {
	Orders     []recordView `json:"orders"`
	Unknown    []string     `json:"unknown"`
	Unreadable []string     `json:"unreadable"` // ids of orders whose records cannot be read
}

func viewRecords(records []stock.Record) []recordView {
	views := make([]recordView, len(records))
	for i, r := range records {
		views[i] = viewRecord(r)
	}
	return views
}

func listProducts(s *stock.Sale, r *http.Request) (reply, error) {
	given, err := parameters(r, "limit", "cursor")
	if err != nil {
		return reply{}, err
	}
	limit, err := limitOf(given["limit"])
	if err != nil {
		return reply{}, err
	}
	page, err := s.Products(r.Context(), given["cursor"], limit)
	view := productsView{Products: make([]productView, len(page.Products)), Next: page.Next}
	for i, p := range page.Products {
		view.Products[i] = viewProduct(p)
	}
	return reply{view: view}, err
}

func listOrders(s *stock.Sale, r *http.Request) (reply, error) {
	given, err := parameters(r, "limit", "cursor", "state", "sku")
	if err != nil {
		return reply{}, err
	}
	limit, err := limitOf(given["limit"])
	if err != nil {
		return reply{}, err
	}
	page, err := s.Orders(r.Context(), stock.OrderQuery{State: stock.State(given["state"]), SKU: given["sku"], Cursor: given["cursor"], Limit: limit})
	return reply{view: ordersView{viewRecords(page.Orders), page.Next}}, err
}

func readOrders(s *stock.Sale, r *http.Request, form readForm) (reply, error) {
	all, err := s.ReadOrders(r.Context(), form.IDs)
	return reply{view: readView{viewRecords(all.Orders), append([]string{}, all.Unknown...), append([]string{}, all.Unreadable...)}}, err
}

// A deliveryForm is the body of a delivery.
type deliveryForm struct {
	Reference string `json:"reference"`
	Quantity  *int64 `json:"quantity"`
}

// conditionOf parses If-Match and If-None-Match of a change of a product.
func conditionOf(r *http.Request) (c stock.Condition, err error) {
	match, none := strings.Join(r.Header.Values("If-Match"), ","), strings.Join(r.Header.Values("If-None-Match"), ",")
	switch {
	case match != "" && none != "":
		return c, refusal("If-None-Match", "there with If-Match", "one of them")
	case none == "*":
		return stock.Condition{Absent: true}, nil
	case none != "":
		return c, refusal("If-None-Match", format.Quote(none), "*")
	case match == "*":
		return stock.Condition{Known: true}, nil
	case match == "":
		return c, nil
	}
	for tag := range strings.SplitSeq(match, ",") {
		tag = strings.TrimSpace(tag)
		version := strings.Trim(tag, `"`)
		if tag != `"`+version+`"` || strings.Contains(version, `"`) || len(c.Versions) == 16 {
			return stock.Condition{}, refusal("If-Match", format.Quote(match), "*, or up to 16 ETags as the shop has sent them, with their quotes")
		}
		if !isVersion(version) {
			version = noVersion // a foreign ETag is valid, and matches no product
		}
		c.Versions = append(c.Versions, version)
	}
	return c, nil
}

// noVersion is a version that no product has.
const noVersion = "none"

func isVersion(s string) bool { return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == "" }

// deleteProduct serves the deletion of a product.
func deleteProduct(s *stock.Sale, r *http.Request) (reply, error) {
	condition, err := conditionOf(r)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusNoContent}, s.Delete(r.Context(), r.PathValue("sku"), condition)
}

func addStock(s *stock.Sale, r *http.Request, form deliveryForm) (reply, error) {
	if form.Quantity == nil {
		return reply{}, refusal("quantity", "missing", "how many were delivered")
	}
	return ofProduct(s.Supply(r.Context(), r.PathValue("sku"), form.Reference, *form.Quantity))
}
