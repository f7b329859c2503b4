package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNotNext is that of an event that is not the next one of a target.
var ErrNotNext = errors.New("the event is not the next one of the target")

// SkipEvent puts the next event of a target aside, as if the target had refused it, so that it no
// longer keeps the others, and records it with the By and Reason of the decision; its other fields
// are not read. A run that delivers it at that moment ends with ErrFenced: the target may have it.
// It is refused with ErrNotNext, or a *FieldError for each field that is not allowed, joined. It needs
// Options.Book.
func (s *Sale) SkipEvent(ctx context.Context, target string, seq int64, d Decision) error {
	err := d.faults()
	if err == nil {
		err = s.onAside(ctx, func(tx *transaction) error { return tx.skip(ctx, target, seq, d) })
	}
	if err != nil {
		return fmt.Errorf("stock: skip event %d of %s: %w", seq, quote(target), err)
	}
	return nil
}

func (tx *transaction) skip(ctx context.Context, target string, seq int64, d Decision) error {
	// It locks the row that a run locks before it reads where the cursor is.
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_fence SET fence = fence WHERE sale = ? AND job = ?"), tx.sale, delivering+target); err != nil {
		return err
	}
	var has int64
	err := tx.tx.QueryRowContext(ctx, tx.dialect.Bind("SELECT seq FROM stock_cursor WHERE sale = ? AND target = ?"), tx.sale, target).Scan(&has)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("there is no such target: %w", ErrNotNext)
	case err != nil:
		return err
	case seq != has+1:
		return fmt.Errorf("that is %d: %w", has+1, ErrNotNext)
	}
	e, err := tx.event(ctx, seq)
	if err != nil {
		return err
	}
	if err := tx.putAside(ctx, target, []Refusal{{e, "skipped: " + d.Reason}}); err != nil {
		return err
	}
	moved := "UPDATE stock_cursor SET seq = ?, next_at = 0, tries = 0, passed = 0, failing_at = 0, trouble = ''," +
		" skipped_after = CASE WHEN skipped_after < 0 THEN ? ELSE skipped_after END WHERE sale = ? AND target = ?"
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(moved), seq, has, tx.sale, target); err != nil {
		return err
	}
	return tx.record(ctx, Decision{Action: SkipEvent, Order: e.Order, By: d.By, Reason: d.Reason, storeHas: target, bookHas: string(e.Payload)})
}

// event reads one event.
func (tx *transaction) event(ctx context.Context, seq int64) (Event, error) {
	rows, err := tx.tx.QueryContext(ctx, tx.dialect.Bind("SELECT "+eventColumns+" FROM stock_event WHERE sale = ? AND seq = ?"), tx.sale, seq)
	if err != nil {
		return Event{}, err
	}
	events, err := scanEvents(rows, tx.sale)
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("there is none yet: %w", ErrNotNext)
	}
	if err != nil {
		return Event{}, err
	}
	return events[0], nil
}
