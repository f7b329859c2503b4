package stock

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// EventVersion is the version of what an event says. A field may be added to a version; what
// is there keeps its name and its meaning.
const EventVersion = 1

// An Event says that an order has come into a state, in the words of the book: it is
// written in the transaction that writes the order. Each state of each order has one event.
type Event struct {
	Seq    int64     // its place among the events of the sale, from 1, without gaps
	Kind   State     // the state that the order came into: any but Paying
	Order  string    // the order's id
	Placed time.Time // when the order was placed: the id may be used again when it is forgotten
	At     time.Time // when the order came into the state, as the store knows it
	// Payload is the event as JSON, which names neither receiver nor phone. See docs/stock.md.
	Payload []byte

	sale string
}

// ID is the identity of the event: it is the same each time that the event is delivered.
func (e *Event) ID() string { return eventID(e.sale, e.Order, e.Placed, e.Kind) }

func eventID(sale, order string, placed time.Time, kind State) string {
	return sale + "/" + order + "/" + strconv.FormatInt(placed.UnixMilli(), 10) + "/" + string(kind)
}

// An eventView is an event as it is delivered.
type eventView struct {
	Version   int        `json:"version"`
	ID        string     `json:"id"`
	Kind      State      `json:"kind"`
	Sale      string     `json:"sale"`
	Seq       int64      `json:"seq"`
	Order     string     `json:"order"`
	Placed    string     `json:"placed_at"`
	At        string     `json:"at"`
	State     State      `json:"state"` // of the order when the event was written: it may be further
	Items     []itemView `json:"items"`
	Amount    int64      `json:"amount"`
	Currency  string     `json:"currency"`
	Reference string     `json:"reference,omitempty"` // of the payment, the refund or the return
}

// view reads what the event says.
func (e *Event) view() (v eventView, err error) {
	if err = json.Unmarshal(e.Payload, &v); err != nil {
		err = fmt.Errorf("event %d cannot be read: %w", e.Seq, err)
	}
	return v, err
}

// A step is one state on the way of an order.
type step struct {
	kind      State
	at        time.Time
	reference string // of the payment that made it, or empty
}

// path is the way of an order to where it is: its payments have what came in between.
func (r Record) path() []step {
	way := []step{{kind: Reserved, at: r.Placed}}
	paid := ""
	for _, p := range r.Payments {
		switch {
		case p.Kind == KindPaid:
			paid = p.Reference
			way = append(way, step{Paid, p.At, p.Reference})
		case p.Kind == KindReturn:
			way = append(way, step{Returned, p.At, p.Reference})
		case p.Kind == KindRefund && p.Refunds == paid && paid != "":
			way = append(way, step{Refunded, p.At, p.Reference})
		}
	}
	if last := way[len(way)-1].kind; last != r.State && !r.State.open() {
		way = append(way, step{kind: r.State, at: r.ended()})
	}
	return way
}

// ended is when an order came into a last state that no payment brought it into. Surplus
// payments that came later have moved Record.Changed.
func (r Record) ended() time.Time {
	at := r.Changed
	for _, p := range r.Payments {
		if p.At.Before(at) {
			at = p.At
		}
	}
	return at
}

// A transition is an order that the book gets, and the state that the book had it in; empty:
// it did not have it.
type transition struct {
	record Record
	from   State
}

// steps are the states that the order has come into since.
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

// event is the event of a step, with a number.
func (t transition) event(sale string, s step, seq int64) (Event, error) {
	r := t.record
	e := Event{Seq: seq, Kind: s.kind, Order: r.ID, Placed: r.Placed, At: s.at, sale: sale}
	view := viewRecord(r)
	var err error
	e.Payload, err = json.Marshal(eventView{Version: EventVersion, ID: e.ID(), Kind: s.kind, Sale: sale, Seq: seq, Order: r.ID, Placed: view.PlacedAt,
		At: showTime(s.at), State: r.State, Items: view.Items, Amount: r.Amount, Currency: r.Currency, Reference: s.reference})
	return e, err
}
