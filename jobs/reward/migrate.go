package reward

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// versions is the table that says which migrations were applied: other packages
// may keep theirs in the same database.
const versions = "reward_schema"

// migrateTries bounds how often nodes that start at once, and apply the same
// migrations, get in each other's way.
const migrateTries = 10

// migrate brings the tables up to date. Every migration may be applied twice.
func migrate(ctx context.Context, db *sql.DB, d Dialect) error {
	files, err := fs.Sub(migrations, "migrations/"+d.String())
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(d.goose(), db, files, goose.WithTableName(versions),
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		if _, err = p.Up(ctx); err == nil || try == migrateTries {
			return err
		}
		if !sleep(ctx, time.Duration(try)*10*time.Millisecond+rand.N(20*time.Millisecond)) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
