// Package sqltext writes the SQL of a sale that differs between databases: rows with their
// parameters, the treatment of existing rows, and the time limit of a transaction.
package sqltext

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/database"
)

// MaxRows bounds the rows of one statement in which each value is a parameter: SQLite allows 32,766
// parameters, MySQL 65,535.
const MaxRows = 500

// A Table holds rows to be written. The first column of each row is the sale.
type Table struct {
	Name    string
	Columns []string // names in the database, without the sale
	Clock   string   // a column that is set to the database's time; empty: none

	rows [][]any
}

// Add adds a row: a string or an int64 for each column. A column has values of one type.
func (t *Table) Add(values ...any) { t.rows = append(t.rows, values) }

// An execer is a database or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Write inserts the rows for a sale in as few statements as possible. The suffix decides about
// existing rows.
func (t *Table) Write(ctx context.Context, db execer, d database.Dialect, sale, suffix string) error {
	if len(t.rows) == 0 {
		return nil
	}
	if d == database.PostgreSQL {
		return t.writeArrays(ctx, db, d, sale, suffix)
	}
	for some := range slices.Chunk(t.rows, MaxRows) {
		if err := t.writeValues(ctx, db, d, sale, suffix, some); err != nil {
			return err
		}
	}
	return nil
}

// writeArrays writes any number of rows with one array parameter per column.
func (t *Table) writeArrays(ctx context.Context, db execer, d database.Dialect, sale, suffix string) error {
	var arrays []string
	args := []any{sale}
	for i := range t.Columns {
		kind, values := t.column(i)
		arrays = append(arrays, "CAST($"+strconv.Itoa(i+2)+" AS "+kind+")")
		args = append(args, Array(values))
	}
	columns := "*"
	if t.Clock != "" {
		columns += ", " + d.Now()
	}
	query := t.insert() + " SELECT CAST($1 AS TEXT), " + columns + " FROM unnest(" + strings.Join(arrays, ", ") + ")" + suffix
	_, err := db.ExecContext(ctx, query, args...)
	return err
}

// column returns the values of a column as texts, and the type of their array in PostgreSQL.
func (t *Table) column(i int) (kind string, values []string) {
	values = make([]string, len(t.rows))
	for at, row := range t.rows {
		switch v := row[i].(type) {
		case string:
			kind, values[at] = "TEXT[]", v
		case int64:
			kind, values[at] = "BIGINT[]", strconv.FormatInt(v, 10)
		}
	}
	return kind, values
}

// writeValues writes some rows with one parameter per value.
func (t *Table) writeValues(ctx context.Context, db execer, d database.Dialect, sale, suffix string, rows [][]any) error {
	one := "(" + Marks(1+len(t.Columns))
	if t.Clock != "" {
		one += ", " + d.Now()
	}
	one += ")"
	args := make([]any, 0, len(rows)*(1+len(t.Columns)))
	for _, row := range rows {
		args = append(append(args, sale), row...)
	}
	query := t.insert() + " VALUES " + one + strings.Repeat(", "+one, len(rows)-1) + suffix
	_, err := db.ExecContext(ctx, query, args...)
	return err
}

func (t *Table) insert() string {
	names := append([]string{"sale"}, t.Columns...)
	if t.Clock != "" {
		names = append(names, t.Clock)
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ")"
}

// Marks returns n placeholders, with commas between them.
func Marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// Array formats an array in the syntax of PostgreSQL, which any driver can send as a text.
func Array(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = escapes.WriteString(&b, v) // a Builder returns no error
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
