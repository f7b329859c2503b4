package stock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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
