package stockhttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
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

// statuses are the statuses of refusals by their code; of all others it is 409.
var statuses = map[string]int{
	"unknown-order":   http.StatusNotFound,
	"unknown-product": http.StatusNotFound,
	"store-full":      http.StatusInsufficientStorage,
}

// doubts are the errors after which the client repeats the request.
var doubts = []struct {
	err          error
	name, detail string
}{
	{stock.ErrUnconfirmed, "unconfirmed", "too few replicas have it: send the same again"},
	{stock.ErrUnsettled, "unsettled", "Redis has it, the database does not yet: send the same again"},
	{stock.ErrStockUnknown, "stock-unknown", "nothing was changed, and nothing is sold until the shelf was rebuilt: send the same again later"}, // the cause is for the operator
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
	if r, ok := errors.AsType[*stock.RefusalError](err); ok {
		return refused(r, err)
	}
	for _, d := range doubts {
		if errors.Is(err, d.err) {
			return newProblem(d.name, http.StatusServiceUnavailable, d.err.Error(), d.detail)
		}
	}
	return newProblem("doubt", http.StatusServiceUnavailable, "the store does not answer",
		"it is not known whether this was done: send the same again")
}

func invalid(faults []fieldFault) *problem {
	p := newProblem("invalid", http.StatusUnprocessableEntity, "a field is not allowed", "")
	p.Fields = faults
	return p
}

// refused returns the problem of a refusal.
func refused(r *stock.RefusalError, err error) *problem {
	title := (&stock.RefusalError{Code: r.Code}).Error()
	p := newProblem(r.Code, cmp.Or(statuses[r.Code], http.StatusConflict), title, err.Error())
	p.SKU, p.Limit, p.Starts, p.retry, p.State, p.Refund = r.SKU, r.Limit, format.Time(r.Starts), r.In, r.State, r.Surplus
	if r.Code == "sold-out" || r.Code == "buyer-limit" {
		p.Left = &r.Left
	}
	if r.Code == "store-full" { // the cause is for the operator
		p.Detail = "nothing was changed"
	}
	return p
}

// overloaded is the reply to a request for which there is no place. A random Retry-After spreads
// the repeated requests over some seconds.
func overloaded() *problem {
	p := newProblem("overloaded", http.StatusServiceUnavailable, "too many requests at once", "nothing was done: send the same again later")
	p.retry = time.Second + rand.N(2*time.Second)
	return p
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
