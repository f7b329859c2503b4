package stock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// A State is the state of an order. Every order begins as Reserved.
type State string

// The states.
const (
	Reserved  State = "reserved"  // its items are out of stock until Record.Due
	Paid      State = "paid"      // its items are sold
	Cancelled State = "cancelled" // by the buyer; its items are back in stock
	Expired   State = "expired"   // not paid in time; its items are back in stock
	Returned  State = "returned"  // it was paid; its items are back in stock
	Refunded  State = "refunded"  // its payment was refunded; its items are back in stock
)

// after lists the states that an order may come into, by its state before.
var after = map[State][]State{
	Reserved: {Paid, Cancelled, Expired, Returned, Refunded},
	Paid:     {Returned, Refunded},
	Returned: {Refunded},
}

// follows reports whether an order may come from the state before into this one.
func (s State) follows(before State) bool { return slices.Contains(after[before], s) }

// open reports whether an order still holds its reservation.
func (s State) open() bool { return s == Reserved }

func parseState(s string) (State, error) {
	switch state := State(s); state {
	case Reserved, Paid, Cancelled, Expired, Returned, Refunded:
		return state, nil
	}
	return "", fmt.Errorf("unknown state %s", format.Quote(s))
}

// A Record is an order with its state and payments. Times are from the store's clock, in milliseconds.
type Record struct {
	Order
	Amount   int64  // price of the whole order, in minor units
	Currency string // of the amount and of the items' prices
	State    State
	Placed   time.Time // when it was reserved
	Due      time.Time // deadline of the payment
	Changed  time.Time // when the state last changed, or a payment was recorded
	// Payments has payments, refunds and returns, the oldest first.
	Payments []Payment
}

// String is for people and logs: the receiver is masked.
func (r Record) String() string { return r.Order.String() + ", " + string(r.State) }

// GoString is String, so that %#v shows no receiver either.
func (r Record) GoString() string { return r.String() }

// A body is the part of a stored record that no script parses. Equal content gives equal bytes.
type body struct {
	Buyer    string `json:"buyer,omitempty"` // first field: lua/order.lua relies on it
	Receiver string `json:"receiver"`
}

// content returns the order as it is stored: its items as sku=quantity,… and the rest.
func (o Order) content() (items, rest string, err error) {
	rest, err = restOf(body{Buyer: o.Buyer, Receiver: o.Receiver})
	return string(appendItems(nil, o.sorted(), false)), rest, err
}

func restOf(b body) (string, error) {
	rest, err := json.Marshal(b)
	return string(rest), err
}

// appendItems appends items as sku=quantity,…, or, priced, as sku=quantity@price,….
func appendItems(line []byte, items []Item, priced bool) []byte {
	for i, item := range items {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(line, item.SKU...), '=')
		line = strconv.AppendInt(line, item.Quantity, 10)
		if priced {
			line = append(line, '@')
			line = strconv.AppendInt(line, item.Price, 10)
		}
	}
	return line
}

// parseRecord parses a record: state, placed, due, changed, items, rest.
func parseRecord(id, line string) (Record, error) {
	parts := strings.SplitN(line, " ", 6)
	if len(parts) != 6 {
		return Record{}, fmt.Errorf("record of order %q has %d parts, want 6", id, len(parts))
	}
	state, err := parseState(parts[0])
	if err != nil {
		return Record{}, fmt.Errorf("record of order %q: %w", id, err)
	}
	r := Record{State: state}
	for i, t := range []*time.Time{&r.Placed, &r.Due, &r.Changed} {
		if *t, err = parseTime(parts[i+1]); err != nil {
			return Record{}, fmt.Errorf("record of order %q: %w", id, err)
		}
	}
	var rest body
	if err := json.Unmarshal([]byte(parts[5]), &rest); err != nil {
		return Record{}, fmt.Errorf("record of order %q: its rest is no JSON", id) // without the text, which may name the receiver
	}
	r.Order = Order{ID: id, Receiver: rest.Receiver, Buyer: rest.Buyer}
	if err := r.parseItems(parts[4]); err != nil {
		return Record{}, fmt.Errorf("record of order %q: %w", id, err)
	}
	return r, nil
}

// parseItems parses the items of a record, sku=quantity@price,…;currency;payments, and adds up the
// amount.
func (r *Record) parseItems(text string) error {
	list, tail, _ := strings.Cut(text, ";")
	currency, payments, _ := strings.Cut(tail, ";")
	r.Currency, r.Items = currency, make([]Item, 0, 1+strings.Count(list, ","))
	for one := range strings.SplitSeq(list, ",") {
		sku, digits, _ := strings.Cut(one, "=")
		quantity, price, _ := strings.Cut(digits, "@")
		item := Item{SKU: sku}
		var err1, err2 error
		item.Quantity, err1 = strconv.ParseInt(quantity, 10, 64)
		item.Price, err2 = strconv.ParseInt(price, 10, 64)
		if err := cmp.Or(err1, err2); err != nil {
			return fmt.Errorf("items %s: %w", format.Quote(text), err)
		}
		r.Items = append(r.Items, item)
		r.Amount += item.Amount()
	}
	if payments == "" {
		return nil
	}
	for line := range strings.SplitSeq(payments, ";") {
		p, err := parsePayment(line)
		if err != nil {
			return fmt.Errorf("items %s: %w", format.Quote(text), err)
		}
		r.Payments = append(r.Payments, p)
	}
	return nil
}

func parseTime(ms string) (time.Time, error) {
	n, err := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n).UTC(), err
}

// stamp identifies one state of a record: no earlier or later state has the same stamp.
func (r Record) stamp() string {
	return string(r.State) + " " + strconv.FormatInt(r.Placed.UnixMilli(), 10) + " " + strconv.Itoa(len(r.Payments))
}
