package stock

import (
	"context"
	"regexp"
	"time"
)

// A Target is where the events of a sale are delivered to: each at least once, those of one
// order in their order. Its calls come one after the other, from one process at a time as
// long as no process was stopped for longer than its lease.
type Target interface {
	// Name is the target's identity: how far it is, is kept under its name.
	// [a-z][a-z0-9-]{0,31}.
	Name() string
	// Deliver delivers events, the oldest first, and returns when all are delivered, or one
	// cannot be, or ctx has ended. Events that it had before it may get again.
	Deliver(ctx context.Context, events []Event) Delivery
}

// A Delivery is what became of some events.
type Delivery struct {
	Done    int       // how many, from the first on, the target has, or has refused
	Refused []Refusal // of these, the ones that it has refused for what they are: they are put aside
	// Err is why the target does not have the next one; nil: it has all. It should name neither
	// secrets nor people: it is logged and kept.
	Err error
	// After is how long the target is to be left alone. Zero: a second, doubling up to five
	// minutes.
	After time.Duration
	// Passable says that later events have got through meanwhile. The next one is put aside when
	// that was so five times: it does not keep the others.
	Passable bool
	// Outage says that Err is what an outage looks like, and may be about the next event alone. When that has
	// lasted for five minutes, Deliver is called with the next event alone, with one of another order, and
	// with the next event again: if it took only the other, later events have got through.
	Outage bool

	kept []int64 // the events that the target has not done with: their texts wait in an outbox
}

// A Refusal is an event that a target has refused for what it is.
type Refusal struct {
	Event  Event
	Reason string
}

// A positioned target knows itself what it has.
type positioned interface {
	// position returns the number up to which the target has the events, of one that should
	// have them from since to at.
	position(ctx context.Context, since, at int64) (int64, error)
}

var targetPattern = regexp.MustCompile(`\A[a-z][a-z0-9-]{0,31}\z`)
