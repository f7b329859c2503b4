package stock

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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

// lineVersion begins the line of an event: JSON, which the rows of older versions have, begins with a brace.
const lineVersion = "1"

// line is what the row of an event says beside its other columns: it costs a tenth of the JSON to
// write, in the transaction that a buyer may wait for.
func (t transition) line(s step) string {
	r := t.record
	head := strings.Join([]string{lineVersion, string(r.State), s.reference, strconv.FormatInt(r.Amount, 10), r.Currency, ""}, " ")
	return string(appendItems([]byte(head), r.Items, true))
}

// read makes the Payload from a line. A text of another form, such as the JSON of the version before, is
// taken as it is.
func (e *Event) read(line string) {
	e.Payload = []byte(line)
	part := strings.SplitN(line, " ", 6)
	if len(part) != 6 || part[0] != lineVersion {
		return
	}
	v := eventView{Version: EventVersion, ID: e.ID(), Kind: e.Kind, Sale: e.sale, Seq: e.Seq, Order: e.Order, Placed: showTime(e.Placed),
		At: showTime(e.At), State: State(part[1]), Reference: part[2], Currency: part[4]}
	var r Record
	var err error
	if v.Amount, err = strconv.ParseInt(part[3], 10, 64); err != nil {
		return
	}
	if err := r.parseItems(part[5] + ";" + part[4] + "-"); err != nil { // of a currency: its items have prices
		return
	}
	v.Items = viewItems(r.Items)
	if text, err := json.Marshal(v); err == nil {
		e.Payload = text
	}
}
