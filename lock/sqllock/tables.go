package sqllock

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// version is the version of the tables: the number of the last migration.
const version = 8

// Migrations returns the files that create the tables, one per step, to be applied in the order of
// their names. They are plain SQL with the comments of goose; the
// statements behind "-- +goose Down" undo a step: they drop its tables with all data. A client that
// ignores the marks, such as psql, runs them too, so a whole file is not for such a client: see
// [Script]. An application that migrates its database with its own tool copies the files or passes
// them to the tool; [Driver.CreateTables] runs the same statements. The zero Dialect has no files.
// In the files the names of the tables begin with cronce_.
func Migrations(d Dialect) fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+d.String())
	if err != nil {
		panic(err) // the name of a dialect is a path
	}
	return files
}

const (
	up   = "-- +goose Up"
	down = "-- +goose Down"
)

// CreateTables creates the tables that are missing, and upgrades the tables of an older version. If
// nothing is to be done, it only reads the version. Tables of a newer version stay as they are, and
// the error is a *SettingError. Many processes may call it at once. It needs rights that the Driver
// does not need afterwards: the rights to read, insert, update and delete in the tables are then
// enough.
func (d *Driver) CreateTables(ctx context.Context) error {
	if is, err := d.version(ctx); err == nil && is == version {
		return nil
	}
	steps, err := stepsOf(d.grammar.dialect)
	if err != nil {
		return err
	}
	_, err = retry(ctx, func() (none, error) {
		return connected(ctx, d.db, func(conn *sql.Conn) (none, error) { return none{}, d.migrate(ctx, conn, steps) })
	})
	if _, known := errors.AsType[*SettingError](err); known {
		return err
	}
	if err != nil {
		return fmt.Errorf("sqllock: create tables: %w", err)
	}
	return nil
}

// migrate runs the steps that are missing, while no other process does.
func (d *Driver) migrate(ctx context.Context, conn *sql.Conn, steps []migration) error {
	switch d.grammar.dialect {
	case MySQL: // each statement about tables commits itself
		return d.migrateMySQL(ctx, conn, steps)
	case SQLite:
		_, err := immediately(ctx, conn, func(s session) (none, error) { return none{}, d.run(ctx, s, steps) })
		return err
	}
	_, err := transaction(ctx, conn, func(s session) (none, error) {
		if _, err := s.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext('cronce tables'))"); err != nil {
			return none{}, err
		}
		return none{}, d.run(ctx, s, steps)
	})
	return err
}

// tablesLock is the name of a lock of MySQL's server. MySQL takes no name of more than 64 characters, and the name of a
// database may have as many.
const tablesLock = "left(concat('cronce tables ', database()), 64)"

// migrateMySQL holds a lock of the server, which lasts until the connection is closed.
func (d *Driver) migrateMySQL(ctx context.Context, conn *sql.Conn, steps []migration) error {
	defer discard(conn)
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT get_lock("+tablesLock+", 60)").Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("another process has been making them for a minute")
	}
	return d.run(ctx, conn, steps)
}

func (d *Driver) run(ctx context.Context, s session, steps []migration) error {
	is, err := d.versionFound(ctx, s)
	if err != nil {
		return err
	}
	if is > version {
		return newer(is)
	}
	for _, step := range steps {
		if step.number <= is {
			continue
		}
		for _, statement := range step.statements {
			if _, err := s.ExecContext(ctx, d.grammar.named(statement)); err != nil && !isDone(err) {
				return fmt.Errorf("step %d: %w", step.number, err)
			}
		}
	}
	return nil
}

// isDone reports whether MySQL has run a statement before, in a step that was cut off: the column
// is there or has already been dropped, the index or the table with the version exists, or that table has its
// row. Other tables of a step are dropped first, or created only if they do not exist.
func isDone(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Error 1060") || strings.Contains(text, "Error 1091") || strings.Contains(text, "Error 1061") || strings.Contains(text, "Error 1050") || strings.Contains(text, "Error 1062")
}

// versionFound returns the version of the tables, 0 if they have none. The query for a table that
// may be missing must not end a transaction.
func (d *Driver) versionFound(ctx context.Context, s session) (is int64, err error) {
	var there sql.NullInt64
	if err := s.QueryRowContext(ctx, d.texts.versioned).Scan(&there); err != nil || there.Int64 == 0 {
		return 0, err
	}
	return readVersion(ctx, s, d.texts.version)
}

// version reads the version of tables that exist.
func (d *Driver) version(ctx context.Context) (int64, error) {
	return withSession(ctx, d, func(s session) (int64, error) { return readVersion(ctx, s, d.texts.version) })
}

func readVersion(ctx context.Context, s session, text string) (int64, error) {
	var is sql.NullInt64
	err := s.QueryRowContext(ctx, text).Scan(&is)
	return is.Int64, err
}

// A migration is the statements of one file.
type migration struct {
	number     int64
	statements []string
}

// stepsOf returns the statements that create the tables, in their order.
func stepsOf(d Dialect) (all []migration, err error) {
	files := Migrations(d)
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		first, _, _ := strings.Cut(name, "_")
		number, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return nil, err
		}
		_, rest, _ := strings.Cut(string(text), up)
		rest, _, _ = strings.Cut(rest, down)
		step := migration{number: number}
		for statement := range strings.SplitSeq(rest, ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				step.statements = append(step.statements, statement)
			}
		}
		all = append(all, step)
	}
	return all, nil
}
