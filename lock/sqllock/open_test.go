package sqllock_test

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/sqllock"
)

// sendUnderLock calls send while it holds a lock in PostgreSQL.
func sendUnderLock(ctx context.Context, dsn string, send func(ctx context.Context, fence int64) error) error {
	db, err := sql.Open("pgx", dsn) // import _ "github.com/jackc/pgx/v5/stdlib"
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqllock.New(db, sqllock.PostgreSQL, sqllock.Options{Namespace: "shop"})
	if err != nil {
		return err
	}
	if err := store.CreateTables(ctx); err != nil { // in each process: it creates the missing tables
		return err
	}
	locker, risks, err := lock.Open(ctx, store, "")
	if err != nil {
		return err
	}
	for _, risk := range risks {
		slog.Warn("store risk", "risk", risk.String())
	}
	return locker.Do(ctx, "invoice/4711", lock.Options{}, func(ctx context.Context, lease *lock.Lease) error {
		return send(ctx, lease.Fence())
	})
}

// The program in docs/locks.md works on an empty database and again on its tables, with a higher
// fence.
func TestOpenOnPostgres(t *testing.T) {
	t.Parallel()
	server := sqlserver.SharedPostgres(t)
	dsn := server.DSN(server.Create(t))
	var fences []int64
	for range 2 {
		must(t, sendUnderLock(t.Context(), dsn, func(_ context.Context, fence int64) error {
			fences = append(fences, fence)
			return nil
		}))
	}
	if len(fences) != 2 || fences[0] <= 0 || fences[1] <= fences[0] {
		t.Errorf("fences %v", fences)
	}
}
