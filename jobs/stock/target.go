package stock

import (
	"context"
	"errors"
	"fmt"
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
	// Outage says that Err may be an outage, and may be about the next event alone. When that has
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

// A TargetStatus is how far a target is.
type TargetStatus struct {
	Name    string
	Seq     int64         // the number of the last event that it has, or has refused
	Lag     int64         // how many events it does not have yet
	Behind  time.Duration // how long the oldest of them is there
	Aside   int64         // how many it has refused: see Sale.Aside
	Tries   int64         // how often the next event could not be delivered
	Wait    time.Duration // for which it is left alone
	Trouble string        // why
	Seen    time.Time     // when a node had it in its configuration, to the minute
}

// Targets returns the targets of the sale's events, and how far they are. It needs
// Options.Book. It makes no tables, so that it is for a scrape, too: it returns when ctx ends.
func (s *Sale) Targets(ctx context.Context) ([]TargetStatus, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: targets: %w", errNoBook)
	}
	all, err := b.targets(ctx, s.ID())
	if err != nil {
		return nil, fmt.Errorf("stock: targets: %w", err)
	}
	return all, nil
}

func (b *Database) targets(ctx context.Context, sale string) ([]TargetStatus, error) {
	now := b.dialect.Now()
	query := b.dialect.Bind("SELECT c.target, c.seq, k.seq - c.seq, COALESCE((SELECT " + now + " - e.written_at FROM stock_event e WHERE e.sale = c.sale AND e.seq > c.seq ORDER BY e.seq LIMIT 1), 0)," +
		" (SELECT COUNT(*) FROM stock_event_aside a WHERE a.sale = c.sale AND a.target = c.target), c.tries, c.next_at - " + now + ", c.trouble, c.seen_at" +
		" FROM stock_cursor c JOIN stock_book k ON k.sale = c.sale WHERE c.sale = ? ORDER BY c.target")
	rows, err := b.db.QueryContext(ctx, query, sale)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []TargetStatus
	for rows.Next() {
		var t TargetStatus
		var behind, wait, seen int64
		if err := rows.Scan(&t.Name, &t.Seq, &t.Lag, &behind, &t.Aside, &t.Tries, &wait, &t.Trouble, &seen); err != nil {
			return nil, err
		}
		ms := func(n int64) time.Duration { return time.Duration(max(0, n)) * time.Millisecond }
		t.Behind, t.Wait, t.Seen = ms(behind), ms(wait), time.UnixMilli(seen).UTC()
		all = append(all, t)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// Events returns the last n events of the sale that are still kept, the latest first. It
// needs Options.Book.
func (s *Sale) Events(ctx context.Context, n int) ([]Event, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: events: %w", errNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	events, err := b.lastEvents(ctx, s.ID(), max(0, n))
	if err != nil {
		return nil, fmt.Errorf("stock: %w", err)
	}
	return events, nil
}
