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

// migrateTries limits how often a node repeats its migrations because other nodes apply the same
// ones at the same time.
const migrateTries = 10

var gooseDialects = map[Dialect]goose.Dialect{
	SQLite: goose.DialectSQLite3, MySQL: goose.DialectMySQL, PostgreSQL: goose.DialectPostgres,
}

// Migrate creates the tables of a package, or brings them up to date. Nodes may call it at the same
// moment, so it must be possible to apply each migration twice; on SQLite each is applied only
// once. The files are in the folder migrations/ and the dialect's name. The table versions records
// the applied migrations: each package has its own, since other packages may keep their tables in
// the same database.
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
		done, err := reserve(ctx, db, versions)
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

// up applies the missing migrations. Two nodes may have found the same migration missing. SQLite
// has no IF NOT EXISTS for columns, and a migration that recreates a table would drop the columns
// that a later one has added. There a migration is one transaction with the row that records it: a
// second such row is refused, and the changes of that migration are rolled back.
func up(ctx context.Context, p *goose.Provider, db *sql.DB, d Dialect, versions string) error {
	if d == SQLite {
		if _, err := p.GetDBVersion(ctx); err != nil { // creates the table
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
