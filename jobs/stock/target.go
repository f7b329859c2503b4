package stock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// A Target receives the events of a sale. It gets each event at least once, and the events of one
// order in order. Calls do not overlap and come from one process at a time, as long as no process
// is stopped for longer than its lease.
type Target interface {
	// Name returns the identity under which the target's position is stored: [a-z][a-z0-9-]{0,31}.
	Name() string
	// Deliver delivers events, oldest first. It returns when all are delivered, when one cannot be
	// delivered, or when ctx ends. A target may get events again.
	Deliver(ctx context.Context, events []Event) Delivery
}

// A Delivery is the result of Deliver.
type Delivery struct {
	Done    int       // number of events, from the first on, that the target accepted or refused
	Refused []Refusal // of these, the events that the target refused because of their content; they are put aside
	// Err is the reason why the next event was not delivered; nil: all were. It is logged and
	// stored, so it should contain neither secrets nor personal data.
	Err error
	// After is the time until the next delivery. Zero: a second, doubling up to five minutes.
	After time.Duration
	// Passable reports that later events succeeded meanwhile. After five such deliveries the next
	// event is put aside, so that it does not delay the others.
	Passable bool
	// Outage reports that Err may be an outage, or may concern the next event alone. After five
	// minutes of that, Deliver is called with the next event alone, with one of another order, and
	// with the next event again. If only the other one succeeds, later events count as successful.
	Outage bool

	kept []int64 // events whose texts wait in an outbox
}

// A Refusal is an event that a target refused because of its content.
type Refusal struct {
	Event  Event
	Reason string
}

// A positioned target knows its own position.
type positioned interface {
	// position returns the number of the last event that the target has, for a target that should
	// have the events from since to at.
	position(ctx context.Context, since, at int64) (int64, error)
}

var targetPattern = regexp.MustCompile(`\A[a-z][a-z0-9-]{0,31}\z`)

// A TargetStatus is the position and state of a target.
type TargetStatus struct {
	Name    string
	Seq     int64         // number of the last event that the target accepted or refused
	Lag     int64         // number of events that the target does not have yet
	Behind  time.Duration // age of the oldest of these events
	Aside   int64         // number of events that are put aside: see Sale.Aside
	Tries   int64         // failed deliveries of the next event
	Wait    time.Duration // until the next delivery
	Trouble string        // the reason of Wait
	Seen    time.Time     // when a node last had the target in its configuration, to the minute
}

// Targets returns the targets of the sale's events with their positions. It needs Options.Book. A
// scrape may call it: it creates no tables and returns when ctx ends.
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
