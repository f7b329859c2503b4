package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// One sweep deletes no more than this: it is repeated each minute.
const (
	sweptAtOnce = 1000
	maxSwept    = 200_000
)

// sweepEvents deletes events that are older than retention and that all targets have, and
// forgets targets that no node had in its configuration for so long. Without a target no events
// are written any more.
func (b *Database) sweepEvents(ctx context.Context, sale string, retention time.Duration) error {
	if err := b.forgetTargets(ctx, sale, retention); err != nil {
		return fmt.Errorf("stock: forget targets of events: %w", err)
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

// sweepSome deletes some events, the oldest, and reports whether there may be more.
func (b *Database) sweepSome(ctx context.Context, sale string, retention time.Duration) (more bool, err error) {
	query := b.dialect.Bind("SELECT COUNT(*), MAX(seq) FROM (SELECT seq, written_at FROM stock_event WHERE sale = ?" +
		" AND seq <= (SELECT COALESCE(MIN(seq), 9223372036854775807) FROM stock_cursor WHERE sale = ?) ORDER BY seq LIMIT ?) AS oldest WHERE written_at < " + b.dialect.Now() + " - ?")
	var n int
	var last sql.NullInt64
	if err := b.db.QueryRowContext(ctx, query, sale, sale, sweptAtOnce, retention.Milliseconds()).Scan(&n, &last); err != nil || n == 0 {
		return false, err
	}
	_, err = b.db.ExecContext(ctx, b.dialect.Bind("DELETE FROM stock_event WHERE sale = ? AND seq <= ?"), sale, last.Int64)
	return n == sweptAtOnce, err
}

// forgetTargets removes targets that are gone.
func (b *Database) forgetTargets(ctx context.Context, sale string, retention time.Duration) error {
	gone := "sale = ? AND seen_at < " + b.dialect.Now() + " - ?"
	var n int
	err := b.db.QueryRowContext(ctx, b.dialect.Bind("SELECT COUNT(*) FROM stock_cursor WHERE "+gone), sale, retention.Milliseconds()).Scan(&n)
	if err != nil || n == 0 {
		return err
	}
	return b.transact(ctx, sale, func(tx *transaction) error {
		if _, err := tx.lockBook(ctx); err != nil {
			return err
		}
		_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_cursor WHERE "+gone), sale, retention.Milliseconds())
		_, err2 := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_book SET events = EXISTS (SELECT 1 FROM stock_cursor WHERE stock_cursor.sale = stock_book.sale) WHERE sale = ?"), sale)
		_, err3 := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_text WHERE sale = ? AND target NOT IN (SELECT target FROM stock_cursor WHERE sale = ?)"), sale, sale)
		return errors.Join(err, err2, err3)
	})
}
