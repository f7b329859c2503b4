package stock

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An outbox is the position of the sale's events, read from the row of the book while it is locked.
// Events therefore get their numbers in the order in which their transactions commit. A transaction
// that has not locked the book writes no events.
type outbox struct {
	wanted bool  // a job delivers them
	seq    int64 // number of the last event
}

// writeEvents writes the events of orders that changed their state.
func (tx *transaction) writeEvents(ctx context.Context, moves []transition) error {
	if !tx.events.wanted || len(moves) == 0 {
		return nil
	}
	t := sqltext.Table{Name: "stock_event", Clock: "written_at", Columns: []string{"seq", "order_id", "placed_at", "kind", "at", "payload"}}
	for _, m := range moves {
		for _, s := range m.steps() {
			tx.events.seq++
			payload, err := m.payload(tx.sale, tx.events.seq, s)
			if err != nil {
				return err
			}
			t.Add(tx.events.seq, m.record.ID, m.record.Placed.UnixMilli(), string(s.kind), s.at.UnixMilli(), payload)
		}
	}
	if err := tx.write(ctx, &t, ""); err != nil {
		return err
	}
	_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_book SET seq = ? WHERE sale = ?"), tx.events.seq, tx.sale)
	return err
}

// Events returns up to n events of the sale with a number above after, in order, as far as they are
// still kept. It needs Options.Book.
func (s *Sale) Events(ctx context.Context, after int64, n int) ([]Event, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: read events: %w", errNoBook)
	}
	var events []Event
	query := "SELECT seq, order_id, placed_at, kind, payload FROM stock_event WHERE sale = ? AND seq > ? ORDER BY seq LIMIT " + strconv.Itoa(max(0, n))
	err := eachRow(ctx, b.db, b.dialect, query, []any{s.ID(), after}, func(row *sql.Rows) error {
		var e Event
		var placed int64
		err := row.Scan(&e.Seq, &e.Order, &placed, &e.Kind, &e.Payload)
		e.ID = eventID(s.ID(), e.Order, time.UnixMilli(placed), e.Kind)
		events = append(events, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stock: read events: %w", err)
	}
	return events, nil
}
