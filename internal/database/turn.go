package database

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// How long an SQLite database belongs to the process that migrates it, should that die,
// and how long another waits before it looks again.
const (
	turnTime  = time.Minute
	turnPause = 20 * time.Millisecond
)

// turn waits until no other process migrates an SQLite database. It is needed there alone:
// its migrations make tables again, so one that is applied after a later one takes away what that
// has added.
func turn(ctx context.Context, db *sql.DB, versions string) (done func(), err error) {
	table, now := versions+"_turn", SQLite.Now()
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (single INTEGER PRIMARY KEY, until INTEGER NOT NULL)"); err != nil {
		return nil, fmt.Errorf("wait to migrate: %w", err)
	}
	for {
		got, err := db.ExecContext(ctx, "INSERT INTO "+table+" (single, until) VALUES (1, "+now+" + ?)"+
			" ON CONFLICT (single) DO UPDATE SET until = excluded.until WHERE until < "+now, turnTime.Milliseconds())
		if err != nil {
			return nil, fmt.Errorf("wait to migrate: %w", err)
		}
		if n, err := got.RowsAffected(); err != nil || n == 1 {
			return func() { _, _ = db.ExecContext(context.WithoutCancel(ctx), "DELETE FROM "+table) }, err // else its time ends
		}
		select {
		case <-time.After(turnPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait to migrate: %w", context.Cause(ctx))
		}
	}
}
