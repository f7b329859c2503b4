package stock

import (
	"context"
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
const versions = "stock_schema"

// migrateTries bounds how often nodes that start at once, and apply the same
// migrations, get in each other's way.
const migrateTries = 10

// Migrate creates the tables, or brings them up to date; the jobs do it too. Nodes
// may do so at the same moment. The user must be allowed to create tables, unless
// they are there already.
func (b *Database) Migrate(ctx context.Context) error {
	b.migrating.Lock()
	defer b.migrating.Unlock()
	if b.migrated {
		return nil
	}
	err := b.migrate(ctx)
	if err != nil {
		return fmt.Errorf("stock: create or update the tables: %w", err)
	}
	b.migrated = true
	return nil
}

// migrate applies what is missing. Every migration may be applied twice.
func (b *Database) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations/"+b.dialect.String())
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(b.dialect.goose(), b.db, files, goose.WithTableName(versions),
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
