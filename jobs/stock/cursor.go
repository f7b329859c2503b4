package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An EventCursor is how far the events of a sale were delivered.
type EventCursor struct {
	Seq     int64         // number of the last event that was delivered or skipped
	Waiting int64         // number of events after it
	Behind  time.Duration // age of the oldest of these
	Skipped int64         // number of events that were skipped, ever

	Failures int64         // failed deliveries of the next event
	Passed   int64         // of these, those in which later events were delivered
	Wait     time.Duration // until the next delivery
}

// EventCursor returns how far the events of the sale were delivered. Without a job that delivers
// them it returns the zero EventCursor. A scrape may call it: it creates no tables and returns when
// ctx ends. It needs Options.Book.
func (s *Sale) EventCursor(ctx context.Context) (EventCursor, error) {
	if s.options.Book == nil {
		return EventCursor{}, fmt.Errorf("stock: read the event cursor: %w", errNoBook)
	}
	c, _, err := s.options.Book.eventCursor(ctx, s.ID())
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return EventCursor{}, fmt.Errorf("stock: read the event cursor: %w", err)
	}
	return c, nil
}

// eventCursor reads the cursor of a sale, and the time since it was seen; sql.ErrNoRows if there is
// none.
func (b *Database) eventCursor(ctx context.Context, sale string) (c EventCursor, seen time.Duration, err error) {
	now := b.dialect.Now()
	query := "SELECT c.seq, k.seq - c.seq, COALESCE((SELECT " + now + " - e.written_at FROM stock_event e WHERE e.sale = c.sale AND e.seq > c.seq ORDER BY e.seq LIMIT 1), 0)," +
		" c.skipped, c.failures, c.passed, c.next_at - " + now + ", " + now + " - c.seen_at FROM stock_cursor c JOIN stock_book k ON k.sale = c.sale WHERE c.sale = ?"
	var behind, wait, since int64
	err = b.db.QueryRowContext(ctx, b.dialect.Bind(query), sale).Scan(&c.Seq, &c.Waiting, &behind, &c.Skipped, &c.Failures, &c.Passed, &wait, &since)
	ms := func(n int64) time.Duration { return time.Duration(max(0, n)) * time.Millisecond }
	c.Behind, c.Wait = ms(behind), ms(wait)
	return c, ms(since), err
}

// seenEvery is the interval at which FollowEvents records that events are still delivered.
const seenEvery = time.Minute

// FollowEvents returns the cursor of the events for a run with the given fence, which delivers
// them. The first call creates the cursor: from then on events are written. The cursor and its
// events are kept until FollowEvents was not called for Options.EventRetention. It refuses with
// ErrFenced if a run with a higher fence was there. It needs Options.Book.
func (s *Sale) FollowEvents(ctx context.Context, fence int64) (EventCursor, error) {
	b := s.options.Book
	if b == nil {
		return EventCursor{}, fmt.Errorf("stock: follow events: %w", errNoBook)
	}
	if _, err := b.book(ctx, s.ID()); err != nil { // it creates the book
		return EventCursor{}, err
	}
	c, seen, err := b.eventCursor(ctx, s.ID())
	if errors.Is(err, sql.ErrNoRows) || err == nil && seen >= seenEvery {
		if err = b.transact(ctx, s.ID(), func(tx *transaction) error { return tx.followEvents(ctx, fence) }); err == nil {
			c, _, err = b.eventCursor(ctx, s.ID())
		}
	}
	if err != nil {
		return EventCursor{}, fmt.Errorf("stock: follow events: %w", err)
	}
	return c, nil
}

// followEvents records that the events are delivered. A new cursor begins at the last event.
func (tx *transaction) followEvents(ctx context.Context, fence int64) error {
	if _, err := tx.lockBook(ctx); err != nil {
		return err
	}
	if err := tx.enter(ctx, delivering, fence); err != nil {
		return err
	}
	now := tx.dialect.Now()
	insert := "INSERT INTO stock_cursor (sale, seq, seen_at, next_at, failures, passed, skipped) VALUES (?, ?, " + now + ", 0, 0, 0, 0)" +
		sqltext.Upsert(tx.dialect, "sale", []string{"seen_at"})
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(insert), tx.sale, tx.events.seq); err != nil {
		return err
	}
	_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_book SET events = TRUE WHERE sale = ?"), tx.sale)
	return err
}

// MoveEvents stores the cursor of the events for a run with the given fence: Seq, Skipped,
// Failures, Passed and Wait of c. It refuses with ErrFenced if a run with a higher fence was there,
// so that a run whose node was stopped cannot move the cursor back. It needs Options.Book.
func (s *Sale) MoveEvents(ctx context.Context, fence int64, c EventCursor) error {
	b := s.options.Book
	if b == nil {
		return fmt.Errorf("stock: move the event cursor: %w", errNoBook)
	}
	err := b.transact(ctx, s.ID(), func(tx *transaction) error {
		if err := tx.enter(ctx, delivering, fence); err != nil {
			return err
		}
		update := "UPDATE stock_cursor SET seq = ?, skipped = ?, failures = ?, passed = ?, next_at = " + tx.dialect.Now() + " + ? WHERE sale = ?"
		_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(update), c.Seq, c.Skipped, c.Failures, c.Passed, c.Wait.Milliseconds(), tx.sale)
		return err
	})
	if err != nil {
		return fmt.Errorf("stock: move the event cursor: %w", err)
	}
	return nil
}

// Bounds of one sweep, which runs each minute.
const (
	sweptAtOnce = 1000
	maxSwept    = 200_000
)

// sweepEvents deletes events that are older than retention and were delivered. It deletes a cursor
// that was not followed for that time; without a cursor no further events are written.
func (b *Database) sweepEvents(ctx context.Context, sale string, retention time.Duration) error {
	if err := b.forgetCursor(ctx, sale, retention); err != nil {
		return fmt.Errorf("stock: forget the event cursor: %w", err)
	}
	for deleted := 0; deleted < maxSwept; deleted += sweptAtOnce {
		if more, err := b.sweepSome(ctx, sale, retention); err != nil {
			return fmt.Errorf("stock: delete old events: %w", err)
		} else if !more {
			return nil
		}
	}
	return nil
}

// sweepSome deletes up to sweptAtOnce events, oldest first, and reports whether there may be more.
func (b *Database) sweepSome(ctx context.Context, sale string, retention time.Duration) (more bool, err error) {
	query := b.dialect.Bind("SELECT COUNT(*), MAX(seq) FROM (SELECT seq, written_at FROM stock_event WHERE sale = ?" +
		" AND seq <= COALESCE((SELECT seq FROM stock_cursor WHERE sale = ?), 9223372036854775807) ORDER BY seq LIMIT ?) AS oldest WHERE written_at < " + b.dialect.Now() + " - ?")
	var n int
	var last sql.NullInt64
	if err := b.db.QueryRowContext(ctx, query, sale, sale, sweptAtOnce, retention.Milliseconds()).Scan(&n, &last); err != nil || n == 0 {
		return false, err
	}
	_, err = b.db.ExecContext(ctx, b.dialect.Bind("DELETE FROM stock_event WHERE sale = ? AND seq <= ?"), sale, last.Int64)
	return n == sweptAtOnce, err
}

// forgetCursor deletes a cursor that was not followed for the time of retention.
func (b *Database) forgetCursor(ctx context.Context, sale string, retention time.Duration) error {
	return b.transact(ctx, sale, func(tx *transaction) error {
		if _, err := tx.lockBook(ctx); err != nil {
			return err
		}
		gone := "sale = ? AND seen_at < " + tx.dialect.Now() + " - ?"
		_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_cursor WHERE "+gone), sale, retention.Milliseconds())
		_, err2 := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_book SET events = EXISTS (SELECT 1 FROM stock_cursor WHERE stock_cursor.sale = stock_book.sale) WHERE sale = ?"), sale)
		return errors.Join(err, err2)
	})
}
