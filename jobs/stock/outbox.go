package stock

import (
	"context"
	"database/sql"
	"errors"
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
	written, err := tx.insertEvents(ctx, moves, nil)
	if err != nil || written {
		return err
	}
	// The book had lost an order and gets it again, so some of its events exist.
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_event WHERE sale = ? AND seq > ?"), tx.sale, tx.events.seq); err != nil {
		return err
	}
	there, err := tx.eventsOf(ctx, moves)
	if err != nil {
		return err
	}
	if written, err = tx.insertEvents(ctx, moves, there); err == nil && !written {
		err = errors.New("some are there, and were not found")
	}
	return err
}

// insertEvents inserts all events except those in there. It reports false, and leaves the number of
// the last event as it was, if others already exist: numbers have no gaps.
func (tx *transaction) insertEvents(ctx context.Context, moves []transition, there map[string]bool) (written bool, err error) {
	t := sqltext.Table{Name: "stock_event", Clock: "written_at", Columns: []sqltext.Column{
		{Name: "seq"}, {Name: "order_id"}, {Name: "placed_at"}, {Name: "kind"}, {Name: "at"}, {Name: "payload"},
	}}
	seq := tx.events.seq
	for _, m := range moves {
		for _, s := range m.steps() {
			if there != nil && there[eventID(tx.sale, m.record.ID, m.record.Placed, s.kind)] {
				continue
			}
			seq++
			t.Add(seq, m.record.ID, m.record.Placed.UnixMilli(), string(s.kind), s.at.UnixMilli(), m.line(s))
		}
	}
	if seq == tx.events.seq {
		return true, nil
	}
	if err := tx.write(ctx, &t, unlessEvent(tx.dialect)); err != nil {
		return false, err
	}
	query := tx.dialect.Bind("UPDATE stock_book SET seq = ? WHERE sale = ? AND ? = (SELECT COUNT(*) FROM stock_event WHERE sale = ? AND seq > ?)")
	moved, err := tx.tx.ExecContext(ctx, query, seq, tx.sale, seq-tx.events.seq, tx.sale, tx.events.seq)
	if err != nil {
		return false, err
	}
	n, err := moved.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	tx.events.seq = seq
	return true, nil
}

// unlessEvent is the suffix of an INSERT into stock_event that leaves existing events unchanged.
func unlessEvent(d Dialect) string {
	if d == MySQL {
		return " ON DUPLICATE KEY UPDATE seq = stock_event.seq"
	}
	return " ON CONFLICT DO NOTHING"
}

// eventsOf returns the ids of the events that orders have.
func (tx *transaction) eventsOf(ctx context.Context, moves []transition) (map[string]bool, error) {
	there := map[string]bool{}
	query := tx.dialect.Bind("SELECT placed_at, kind FROM stock_event WHERE sale = ? AND order_id = ?")
	for _, m := range moves {
		rows, err := tx.tx.QueryContext(ctx, query, tx.sale, m.record.ID)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var placed int64
			var kind State
			if err = rows.Scan(&placed, &kind); err != nil {
				break
			}
			there[eventID(tx.sale, m.record.ID, time.UnixMilli(placed), kind)] = true
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, fmt.Errorf("events of order %q: %w", m.record.ID, err)
		}
	}
	return there, nil
}

// Events returns up to n events of the sale with a number above after, in order, as far as they are
// still kept. It needs Options.Book.
func (s *Sale) Events(ctx context.Context, after int64, n int) ([]Event, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: read events: %w", errNoBook)
	}
	query := b.dialect.Bind("SELECT seq, order_id, placed_at, kind, at, payload FROM stock_event WHERE sale = ? AND seq > ? ORDER BY seq LIMIT " + strconv.Itoa(max(0, n)))
	rows, err := b.db.QueryContext(ctx, query, s.ID(), after)
	var events []Event
	if err == nil {
		events, err = scanEvents(rows, s.ID())
	}
	if err != nil {
		return nil, fmt.Errorf("stock: read events: %w", err)
	}
	return events, nil
}

// scanEvents reads the events of a query and closes its rows.
func scanEvents(rows *sql.Rows, sale string) (events []Event, err error) {
	defer rows.Close()
	for rows.Next() {
		e := Event{sale: sale}
		var placed, at int64
		var line string
		if err := rows.Scan(&e.Seq, &e.Order, &placed, &e.Kind, &at, &line); err != nil {
			return nil, err
		}
		e.Placed, e.At = time.UnixMilli(placed).UTC(), time.UnixMilli(at).UTC()
		e.read(line)
		events = append(events, e)
	}
	return events, errors.Join(rows.Err(), rows.Close())
}
