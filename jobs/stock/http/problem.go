package stockhttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// A problem is an error reply as defined by RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	SKU    string       `json:"sku,omitempty"`       // product that is sold out
	Left   *int64       `json:"left,omitempty"`      // remaining quantity, or remaining part of the limit
	Limit  int64        `json:"limit,omitempty"`     // limit of the product for each buyer
	Starts string       `json:"starts_at,omitempty"` // when the sale of the product begins
	State  stock.State  `json:"state,omitempty"`     // state of a closed order
	Refund string       `json:"to_refund,omitempty"` // reference of a payment that a closed order could not take
	Fields []fieldFault `json:"fields,omitempty"`

	retry time.Duration // the Retry-After; 0: not known
}

type fieldFault struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Allowed string `json:"allowed"`
}

// kinds maps errors of a sale to problems; the first match counts.
var kinds = []struct {
	err    error
	name   string
	status int
}{
	{stock.ErrSoldOut, "sold-out", http.StatusConflict},
	{stock.ErrBuyerLimit, "buyer-limit", http.StatusConflict},
	{stock.ErrNotBegun, "not-begun", http.StatusConflict},
	{stock.ErrEnded, "ended", http.StatusConflict},
	{stock.ErrConflict, "id-taken", http.StatusConflict},
	{stock.ErrClosed, "closed", http.StatusConflict},
	{stock.ErrPaying, "paying", http.StatusConflict},
	{stock.ErrUnpaid, "unpaid", http.StatusConflict},
	{stock.ErrRefunded, "refunded", http.StatusConflict},
	{stock.ErrReference, "reference-taken", http.StatusConflict},
	{stock.ErrPayments, "too-many-payments", http.StatusConflict},
	{stock.ErrTooLow, "too-low", http.StatusConflict},
	{stock.ErrFull, "too-many-products", http.StatusConflict},
	{stock.ErrReserved, "reserved", http.StatusConflict},
	{stock.ErrVersion, "version", http.StatusPreconditionFailed},
	{stock.ErrSupplies, "too-many-deliveries", http.StatusServiceUnavailable},
	{stock.ErrUnpriced, "no-price", http.StatusConflict},
	{stock.ErrUnknownOrder, "unknown-order", http.StatusNotFound},
	{stock.ErrUnknownSKU, "unknown-product", http.StatusNotFound},
	{stock.ErrNoBook, "no-book", http.StatusNotImplemented},
	{stock.ErrStoreFull, "store-full", http.StatusInsufficientStorage},
	{stock.ErrUnconfirmed, "unconfirmed", http.StatusServiceUnavailable},
	{stock.ErrUnsettled, "unsettled", http.StatusServiceUnavailable},
	{stock.ErrStockUnknown, "stock-unknown", http.StatusServiceUnavailable},
}

// Error lets a function return a problem as an error.
func (p *problem) Error() string { return p.Title }

func newProblem(name string, status int, title, detail string) *problem {
	return &problem{Type: "urn:cronce:stock:" + name, Title: title, Status: status, Detail: detail}
}

// problemOf returns the problem of an error of a sale. An error that is neither invalid input nor a
// refusal is doubt: the client learns only that it may repeat the request.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if faults := fieldFaults(err); len(faults) > 0 {
		return invalid(faults)
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			p := newProblem(kind.name, kind.status, kind.err.Error(), err.Error())
			if errors.Is(kind.err, stock.ErrUnsettled) {
				p.Detail = "Redis has it, the database does not yet: send the same again"
			}
			if errors.Is(kind.err, stock.ErrStoreFull) {
				p.Detail = "nothing was changed"
			}
			if errors.Is(kind.err, stock.ErrStockUnknown) { // the cause is for the operator
				p.Detail = "nothing was changed, and nothing is sold until the shelf was rebuilt: send the same again later"
			}
			p.extend(err)
			return p
		}
	}
	return newProblem("doubt", http.StatusServiceUnavailable, "the store does not answer",
		"it is not known whether this was done: send the same again")
}

func invalid(faults []fieldFault) *problem {
	p := newProblem("invalid", http.StatusUnprocessableEntity, "what was sent is not allowed", "")
	p.Fields = faults
	return p
}

func (p *problem) extend(err error) {
	if e, ok := errors.AsType[*stock.SoldOutError](err); ok {
		p.SKU, p.Left = e.SKU, &e.Left
	}
	if e, ok := errors.AsType[*stock.BuyerLimitError](err); ok {
		p.SKU, p.Left, p.Limit = e.SKU, &e.Left, e.Limit
	}
	if e, ok := errors.AsType[*stock.NotBegunError](err); ok {
		p.SKU, p.Starts, p.retry = e.SKU, format.Time(e.Starts), e.In
	}
	if e, ok := errors.AsType[*stock.ClosedError](err); ok {
		p.State, p.Refund = e.State, e.Surplus
	}
}

// fieldFaults returns the field errors that err joins.
func fieldFaults(err error) (faults []fieldFault) {
	switch e := any(err).(type) {
	case *stock.FieldError:
		return []fieldFault{{e.Field, e.Value, e.Allowed}}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			faults = append(faults, fieldFaults(inner)...)
		}
	case interface{ Unwrap() error }:
		return fieldFaults(e.Unwrap())
	}
	return faults
}

// write sends the problem. After 503 the client may repeat the request in a second.
func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable {
		p.retry = max(p.retry, time.Second)
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((p.retry+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that has gone away needs none
}

// refusal returns the error of a field that is not allowed.
func refusal(field, value, allowed string) error {
	return &stock.FieldError{Field: field, Value: value, Allowed: allowed}
}
