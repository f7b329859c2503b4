package database

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// reservedFor is how long an SQLite database is reserved for a process that migrates it, in case that
// process dies. reservePause is the pause of another process between two tries.
const (
	reservedFor  = time.Minute
	reservePause = 20 * time.Millisecond
)

// reserve waits until no other process migrates an SQLite database. Only SQLite needs it: its
// migrations recreate tables, so a migration that is applied after a later one removes the columns
// that the later one has added.
func reserve(ctx context.Context, db *sql.DB, versions string) (done func(), err error) {
	table, now := versions+"_turn", SQLite.Now()
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (single INTEGER PRIMARY KEY, until INTEGER NOT NULL)"); err != nil {
		return nil, fmt.Errorf("wait to migrate: %w", err)
	}
	for {
		got, err := db.ExecContext(ctx, "INSERT INTO "+table+" (single, until) VALUES (1, "+now+" + ?)"+
			" ON CONFLICT (single) DO UPDATE SET until = excluded.until WHERE until < "+now, reservedFor.Milliseconds())
		if err != nil {
			return nil, fmt.Errorf("wait to migrate: %w", err)
		}
		if n, err := got.RowsAffected(); err != nil || n == 1 {
			return func() { _, _ = db.ExecContext(context.WithoutCancel(ctx), "DELETE FROM "+table) }, err // if this fails, the time ends
		}
		select {
		case <-time.After(reservePause):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait to migrate: %w", context.Cause(ctx))
		}
	}
}
