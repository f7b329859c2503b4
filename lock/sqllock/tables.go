package sqllock

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the files that make the tables, one per step, to be applied
// in the order of their names. They are plain SQL with the comments of goose,
// which other tools read over; what stands behind "-- +goose Down" takes a step
// back. An application that migrates its database with a tool of its own copies
// them or gives them to the tool; [Driver.CreateTables] runs the same text. The
// zero Dialect has no files.
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

// CreateTables makes the tables that are missing. Many processes may do so at
// once. It needs rights that the driver does not need afterwards: to read,
// insert, update and delete in the five tables is enough.
func (d *Driver) CreateTables(ctx context.Context) error {
	all, err := statementsOf(d.grammar.dialect)
	if err != nil {
		return err
	}
	for _, statement := range all {
		_, err := again(ctx, func() (none, error) {
			_, err := d.db.ExecContext(ctx, statement)
			return none{}, err
		})
		if err != nil {
			return fmt.Errorf("sqllock: create tables: %w", err)
		}
	}
	return nil
}

// statementsOf are the statements that make the tables.
func statementsOf(d Dialect) (all []string, err error) {
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
		_, rest, _ := strings.Cut(string(text), up)
		rest, _, _ = strings.Cut(rest, down)
		for statement := range strings.SplitSeq(rest, ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				all = append(all, statement)
			}
		}
	}
	return all, nil
}
