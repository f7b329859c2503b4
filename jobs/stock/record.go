package stock

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A State is where an order is on its way. Every order begins as Reserved; the
// others are last states.
type State string

// The states.
const (
	Reserved  State = "reserved"  // its items are out of stock, until Record.Due
	Paid      State = "paid"      // its items are sold
	Cancelled State = "cancelled" // by the buyer; its items are back in stock
	Expired   State = "expired"   // not paid in time; its items are back in stock
)

func parseState(s string) (State, error) {
	switch state := State(s); state {
	case Reserved, Paid, Cancelled, Expired:
		return state, nil
	}
	return "", fmt.Errorf("unknown state %s", quote(s))
}

// A Record is an order and what became of it. Times are those of the store, in
// milliseconds.
type Record struct {
	Order
	State   State
	Placed  time.Time // when it was reserved
	Due     time.Time // until when it may be paid
	Changed time.Time // when the state last changed
}

// String is for people and logs: the receiver is masked.
func (r Record) String() string { return r.Order.String() + ", " + string(r.State) }

// GoString is String, so that %#v shows no receiver either.
func (r Record) GoString() string { return r.String() }

// A body is what no script looks at, as it is stored: equal content gives equal
// bytes.
type body struct {
	Receiver string `json:"receiver"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// content is the part of a record that never changes: items as sku=quantity,… and
// the rest of the order.
func (o Order) content() (string, error) {
	rest, err := json.Marshal(body{o.Receiver, o.Amount, o.Currency})
	if err != nil {
		return "", err
	}
	line := make([]byte, 0, 32*len(o.Items)+1+len(rest))
	for i, item := range o.sorted() {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(line, item.SKU...), '=')
		line = strconv.AppendInt(line, item.Quantity, 10)
	}
	return string(append(append(line, ' '), rest...)), nil
}

// parseRecord reads a record: state, placed, due, changed, items, rest.
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
		return Record{}, fmt.Errorf("record of order %q: its rest is no JSON", id) // which may name the receiver
	}
	r.Order = Order{ID: id, Receiver: rest.Receiver, Amount: rest.Amount, Currency: rest.Currency}
	if r.Items, err = parseItems(parts[4]); err != nil {
		return Record{}, fmt.Errorf("record of order %q: %w", id, err)
	}
	return r, nil
}

func parseItems(text string) ([]Item, error) {
	items := make([]Item, 0, 1+strings.Count(text, ","))
	for pair := range strings.SplitSeq(text, ",") {
		sku, digits, _ := strings.Cut(pair, "=")
		quantity, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("items %s: %w", quote(text), err)
		}
		items = append(items, Item{sku, quantity})
	}
	return items, nil
}

func parseTime(ms string) (time.Time, error) {
	n, err := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n).UTC(), err
}

// stamp tells one state of a record from any other that it was or will be in.
func (r Record) stamp() string {
	return string(r.State) + " " + strconv.FormatInt(r.Placed.UnixMilli(), 10)
}
