package stockhttp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// maxBody bounds a request body, in bytes.
const maxBody = 64 << 10

// An orderForm is the body of a new order.
type orderForm struct {
	ID       string     `json:"id"`
	Receiver string     `json:"receiver"`
	Buyer    string     `json:"buyer"`
	Items    []itemForm `json:"items"`
}

type itemForm struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

func (f *orderForm) order() stock.Order {
	o := stock.Order{ID: f.ID, Receiver: f.Receiver, Buyer: f.Buyer, Items: make([]stock.Item, len(f.Items))}
	for i, item := range f.Items {
		o.Items[i] = stock.Item{SKU: item.SKU, Quantity: item.Quantity}
	}
	return o
}

// An offerForm is the body of an offer.
type offerForm struct {
	Price    *int64  `json:"price"`
	Currency *string `json:"currency"`

	BuyerLimit int64  `json:"buyer_limit"`
	StartsAt   string `json:"starts_at"`
	EndsAt     string `json:"ends_at"`
}

// offer returns the offer, or an error that names the missing fields.
func (f *offerForm) offer() (stock.Offer, error) {
	var faults []error
	if f.Price == nil {
		faults = append(faults, refusal("price", "missing", "the price of one, in minor units"))
	}
	if f.Currency == nil {
		faults = append(faults, refusal("currency", "missing", "three capital letters, such as EUR"))
	}
	starts, err := readTime("starts_at", f.StartsAt)
	ends, err2 := readTime("ends_at", f.EndsAt)
	if err := errors.Join(append(faults, err, err2)...); err != nil {
		return stock.Offer{}, err
	}
	return stock.Offer{Price: *f.Price, Currency: *f.Currency, BuyerLimit: f.BuyerLimit, Starts: starts, Ends: ends}, nil
}

// readTime parses a time of a request; an empty text is the zero time.
func readTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, refusal(field, format.Quote(text), "a time as 2026-11-27T09:00:00Z, or with an offset such as +01:00")
	}
	return t.UTC(), nil
}

// A paymentForm is the body of a payment.
type paymentForm struct {
	Reference string `json:"reference"`
	Amount    *int64 `json:"amount"`
	Currency  string `json:"currency"`
}

func (f *paymentForm) payment() (stock.Payment, error) {
	if f.Amount == nil {
		return stock.Payment{}, refusal("amount", "missing", "the paid amount, in minor units")
	}
	return stock.Payment{Reference: f.Reference, Amount: *f.Amount, Currency: f.Currency}, nil
}

// A refundForm is the body of a refund.
type refundForm struct {
	Reference string `json:"reference"`
	Payment   string `json:"payment"`
}

// A returnForm is the body of a return.
type returnForm struct {
	Reference string `json:"reference"`
}

// A paymentView is the JSON of a payment.
type paymentView struct {
	Kind      string `json:"kind"`
	Reference string `json:"reference"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	At        string `json:"at"`
	Refunds   string `json:"refunds,omitempty"`
}

// A totalForm is the body of a product's total.
type totalForm struct {
	Total *int64 `json:"total"`
}

// A productView is the JSON of a product.
type productView struct {
	SKU      string `json:"sku"`
	Total    int64  `json:"total"`
	Stock    int64  `json:"stock"`
	Reserved int64  `json:"reserved"`
	Sold     int64  `json:"sold"`
	Price    *int64 `json:"price,omitempty"` // absent: it has none, and cannot be ordered
	Currency string `json:"currency,omitempty"`

	BuyerLimit int64  `json:"buyer_limit,omitempty"`
	StartsAt   string `json:"starts_at,omitempty"`
	EndsAt     string `json:"ends_at,omitempty"`
}

func viewProduct(p stock.Product) productView {
	v := productView{SKU: p.SKU, Total: p.Put, Stock: p.Stock, Reserved: p.Reserved, Sold: p.Sold, Currency: p.Currency,
		BuyerLimit: p.BuyerLimit, StartsAt: format.Time(p.Starts), EndsAt: format.Time(p.Ends)}
	if p.Currency != "" {
		v.Price = &p.Price
	}
	return v
}

// A recordView is the JSON of an order, with a masked receiver.
type recordView struct {
	ID        string      `json:"id"`
	State     stock.State `json:"state"`
	Receiver  string      `json:"receiver"`
	Buyer     string      `json:"buyer,omitempty"`
	Amount    int64       `json:"amount"`
	Currency  string      `json:"currency"`
	Items     []itemView  `json:"items"`
	PlacedAt  string      `json:"placed_at"`
	DueAt     string      `json:"due_at"`
	ChangedAt string      `json:"changed_at"`

	Payments []paymentView `json:"payments,omitempty"`
	ToRefund []string      `json:"to_refund,omitempty"` // references of payments that the order could not take
}

// An itemView is the JSON of an item, with the price at which it was ordered.
type itemView struct {
	itemForm
	Price  int64 `json:"price"`
	Amount int64 `json:"amount"`
}

func viewRecord(r stock.Record) recordView {
	v := recordView{ID: r.ID, State: r.State, Receiver: format.Mask(r.Receiver), Buyer: r.Buyer, Amount: r.Amount, Currency: r.Currency,
		PlacedAt: format.Time(r.Placed), DueAt: format.Time(r.Due), ChangedAt: format.Time(r.Changed)}
	for _, item := range r.Items {
		v.Items = append(v.Items, itemView{itemForm{item.SKU, item.Quantity}, item.Price, item.Amount()})
	}
	for _, p := range r.Payments {
		v.Payments = append(v.Payments, paymentView{p.Kind, p.Reference, p.Amount, p.Currency, format.Time(p.At), p.Refunds})
	}
	for _, p := range r.ToRefund() {
		v.ToRefund = append(v.ToRefund, p.Reference)
	}
	return v
}

// readBody reads a body of JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, newProblem("media-type", http.StatusUnsupportedMediaType, "the body must be JSON", "Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, newProblem("too-large", http.StatusRequestEntityTooLarge, "the body is too large", fmt.Sprintf("must be up to %d bytes", maxBody))
	}
	if err != nil {
		return nil, malformed("it ends too early")
	}
	return body, nil
}

// decode parses a body into a form, and returns nil or a problem. The problem does not repeat the
// body, which may name a receiver.
func decode(body []byte, form any) *problem {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(form)
	if err == nil {
		if _, err := d.Token(); err != io.EOF {
			return malformed("there is something behind it")
		}
		return nil
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // without the value, which may be personal
		return invalid([]fieldFault{{cmp.Or(e.Field, "body"), jsonKinds[kind], jsonKinds[goKinds[e.Type.Kind()]]}})
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return malformed(fmt.Sprintf("it is no JSON at byte %d", e.Offset))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalid([]fieldFault{{given(strings.Trim(name, `"`)), "not known", "the fields of the documentation"}})
	}
	return malformed("it is no JSON, or it ends too early")
}

// given returns a name that the client has sent. It quotes a name that no field could have.
func given(name string) string {
	if format.IsName(name) {
		return name
	}
	return format.Quote(name)
}

func malformed(detail string) *problem {
	return newProblem("malformed", http.StatusBadRequest, "the body cannot be read", detail)
}

// jsonKinds are the kinds of JSON values, and goKinds the kinds of the fields of forms.
var (
	jsonKinds = map[string]string{"object": "an object", "array": "an array", "string": "a string", "number": "a number", "bool": "true or false", "int": "a whole number"}
	goKinds   = map[reflect.Kind]string{reflect.Struct: "object", reflect.Slice: "array", reflect.String: "string", reflect.Int64: "int"}
)
