package database

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"
)

// migrateTries bounds how often nodes that start at once, and apply the same
// migrations, get in each other's way.
const migrateTries = 10

var gooseDialects = map[Dialect]goose.Dialect{
	SQLite: goose.DialectSQLite3, MySQL: goose.DialectMySQL, PostgreSQL: goose.DialectPostgres,
}

// Migrate creates the tables of a package, or brings them up to date. Nodes may do
// so at the same moment, so every migration must be one that may be applied twice,
// but for SQLite, which applies each once.
// The files are in migrations/ and the dialect's name. The table versions says
// which were applied: each package has its own, since others may keep their tables
// in the same database.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, migrations fs.FS, versions string) error {
	files, err := fs.Sub(migrations, "migrations/"+d.String())
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(gooseDialects[d], db, files, goose.WithTableName(versions),
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if pending, err := p.HasPending(ctx); d == SQLite && (pending || err != nil) {
		done, err := turn(ctx, db, versions)
		if err != nil {
			return err
		}
		defer done()
	}
	for try := 1; ; try++ {
		if err = up(ctx, p, db, d, versions); err == nil || try == migrateTries {
			return err
		}
		select {
		case <-time.After(time.Duration(try)*10*time.Millisecond + rand.N(20*time.Millisecond)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// up applies what is missing. Two nodes may have found the same migration missing. SQLite
// has no IF NOT EXISTS for columns, and one of its migrations that makes a table anew
// would drop the columns that a later one has added. There a migration is one transaction
// with the row that says it was applied: a second such row is refused, and with it
// whatever the migration has changed.
func up(ctx context.Context, p *goose.Provider, db *sql.DB, d Dialect, versions string) error {
	if d == SQLite {
		if _, err := p.GetDBVersion(ctx); err != nil { // makes the table
			return err
		}
		for _, statement := range []string{
			"DELETE FROM " + versions + " WHERE id NOT IN (SELECT MIN(id) FROM " + versions + " GROUP BY version_id)",
			"CREATE UNIQUE INDEX IF NOT EXISTS " + versions + "_once ON " + versions + " (version_id)",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("let each migration be applied once: %w", err)
			}
		}
	}
	_, err := p.Up(ctx)
	return err
}
