package stock

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// eventVersion is the version of the event format. Fields may be added within a version; existing
// fields keep their name and meaning.
const eventVersion = 1

// An Event is a new state of an order in the book. It is written in the transaction that writes the
// order. Each state of each order has one event.
type Event struct {
	Seq   int64  // number of the event in its sale, from 1, without gaps
	ID    string // identifies the event: it is the same in each delivery
	Kind  State  // the new state
	Order string // the order's id
	// Payload is the event as JSON, which does not name the receiver. See docs/stock.md.
	Payload []byte
}

// eventID returns the id of an event. The time at which the order was placed distinguishes orders
// that use the same id after Options.Retention.
func eventID(sale, order string, placed time.Time, kind State) string {
	return sale + "/" + order + "/" + strconv.FormatInt(placed.UnixMilli(), 10) + "/" + string(kind)
}

// An eventView is an event as it is delivered.
type eventView struct {
	Version   int         `json:"version"`
	ID        string      `json:"id"`
	Kind      State       `json:"kind"`
	Sale      string      `json:"sale"`
	Seq       int64       `json:"seq"`
	Order     string      `json:"order"`
	Placed    string      `json:"placed_at"`
	At        string      `json:"at"`
	State     State       `json:"state"` // state of the order when the event was written, which may be a later one
	Items     []eventItem `json:"items"`
	Amount    int64       `json:"amount"`
	Currency  string      `json:"currency"`
	Reference string      `json:"reference,omitempty"` // of the payment, the refund or the return
}

type eventItem struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    int64  `json:"price"`
	Amount   int64  `json:"amount"`
}

// A step is one state in the history of an order.
type step struct {
	kind      State
	at        time.Time
	reference string // of the payment that made it, or empty
}

// path returns the states of an order up to its current one. Its payments show the states in
// between.
func (r Record) path() []step {
	way := []step{{kind: Reserved, at: r.Placed}}
	paid := ""
	for _, p := range r.Payments {
		switch {
		case p.Kind == kindPaid:
			paid = p.Reference
			way = append(way, step{Paid, p.At, p.Reference})
		case p.Kind == kindReturn:
			way = append(way, step{Returned, p.At, p.Reference})
		case p.Kind == kindRefund && p.Refunds == paid && paid != "":
			way = append(way, step{Refunded, p.At, p.Reference})
		}
	}
	if last := way[len(way)-1].kind; last != r.State {
		way = append(way, step{kind: r.State, at: r.closedAt()})
	}
	return way
}

// closedAt returns when an order came into a last state without a payment. Later surplus payments have
// moved Record.Changed.
func (r Record) closedAt() time.Time {
	at := r.Changed
	for _, p := range r.Payments {
		if p.At.Before(at) {
			at = p.At
		}
	}
	return at
}

// A transition is an order to be written and its previous state in the book; empty: the book did
// not have the order.
type transition struct {
	record Record
	from   State
}

// steps returns the states that the order came into since.
func (t transition) steps() []step {
	way := t.record.path()
	if t.from == "" {
		return way
	}
	since := way[:0]
	for _, s := range way {
		if s.kind.follows(t.from) {
			since = append(since, s)
		}
	}
	return since
}

// payload returns the event of a step, as JSON, with its number.
func (t transition) payload(sale string, seq int64, s step) (string, error) {
	r := t.record
	v := eventView{Version: eventVersion, ID: eventID(sale, r.ID, r.Placed, s.kind), Kind: s.kind, Sale: sale, Seq: seq, Order: r.ID, Placed: format.Time(r.Placed),
		At: format.Time(s.at), State: r.State, Reference: s.reference, Amount: r.Amount, Currency: r.Currency}
	for _, i := range r.sorted() {
		v.Items = append(v.Items, eventItem{i.SKU, i.Quantity, i.Price, i.Amount()})
	}
	text, err := json.Marshal(v)
	return string(text), err
}
