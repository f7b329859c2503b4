package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// An AsideEvent is an event that a target has refused for what it is.
type AsideEvent struct {
	Event
	Target string
	Reason string
	Aside  time.Time // when it was put aside
	Again  bool      // it is tried again with the target's next run
}

// putAside keeps events that a target has refused.
func (tx *transaction) putAside(ctx context.Context, target string, refused []Refusal) error {
	t := table{name: "stock_event_aside", clock: "aside_at", columns: []column{{name: "target"}, {name: "seq"}, {name: "order_id"},
		{name: "placed_at"}, {name: "kind"}, {name: "at"}, {name: "payload"}, {name: "reason"}}}
	for i := range refused {
		e := &refused[i].Event
		t.add(target, e.Seq, e.Order, e.Placed.UnixMilli(), string(e.Kind), e.At.UnixMilli(), string(e.Payload), trouble(errors.New(refused[i].Reason)))
	}
	if err := tx.write(ctx, &t, upsert(tx.dialect, "stock_event_aside", "sale, target, seq", []string{"reason"}, nil)); err != nil {
		return fmt.Errorf("put events aside: %w", err)
	}
	return nil
}

// Aside returns the first n events that targets have refused, the oldest first. It needs
// Options.Book.
func (s *Sale) Aside(ctx context.Context, n int) ([]AsideEvent, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: events put aside: %w", errNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	query := b.dialect.Bind("SELECT target, seq, order_id, placed_at, kind, at, payload, reason, aside_at, again FROM stock_event_aside WHERE sale = ? ORDER BY seq, target LIMIT " + strconv.Itoa(max(0, n)))
	rows, err := b.db.QueryContext(ctx, query, s.ID())
	if err != nil {
		return nil, fmt.Errorf("stock: read events put aside: %w", err)
	}
	defer rows.Close()
	var all []AsideEvent
	for rows.Next() {
		e := AsideEvent{Event: Event{sale: s.ID()}}
		var placed, at, aside int64
		if err := rows.Scan(&e.Target, &e.Seq, &e.Order, &placed, &e.Kind, &at, &e.Payload, &e.Reason, &aside, &e.Again); err != nil {
			return nil, fmt.Errorf("stock: read events put aside: %w", err)
		}
		e.Placed, e.At, e.Aside = time.UnixMilli(placed).UTC(), time.UnixMilli(at).UTC(), time.UnixMilli(aside).UTC()
		all = append(all, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("stock: read events put aside: %w", err)
	}
	return all, nil
}
