// Package sqltext has the SQL that the databases of a sale write differently: rows with their
// parameters, what becomes of rows that are there, and the bound of a transaction.
package sqltext

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/database"
)

// MaxRows is how many rows one statement writes at most where each value is a
// parameter: SQLite allows 32,766 of those, MySQL 65,535.
const MaxRows = 500

// A Table is rows to be written: of each column the values, all of one kind. The
// sale is a column of each.
type Table struct {
	Name    string
	Columns []Column
	Clock   string // a column that takes the database's time; empty: none
}

// A Column is one of a table, with its values.
type Column struct {
	Name  string   // the column in the database
	texts []string // or
	ints  []int64
}

func (c Column) value(i int) any {
	if c.texts != nil {
		return c.texts[i]
	}
	return c.ints[i]
}

// Add adds a row: a string or an int64 for each column.
func (t *Table) Add(values ...any) {
	for i, v := range values {
		switch v := v.(type) {
		case string:
			t.Columns[i].texts = append(t.Columns[i].texts, v)
		case int64:
			t.Columns[i].ints = append(t.Columns[i].ints, v)
		}
	}
}

func (t *Table) rows() int { return max(len(t.Columns[0].texts), len(t.Columns[0].ints)) }

// An execer is a database or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Write inserts the rows of the table for a sale, in as few statements as possible. The suffix
// follows them: what happens to rows that are there already.
func (t *Table) Write(ctx context.Context, db execer, d database.Dialect, sale, suffix string) error {
	if t.rows() == 0 {
		return nil
	}
	if d == database.PostgreSQL {
		return t.writeArrays(ctx, db, d, sale, suffix)
	}
	for from := 0; from < t.rows(); from += MaxRows {
		if err := t.writeValues(ctx, db, d, sale, suffix, from, min(from+MaxRows, t.rows())); err != nil {
			return err
		}
	}
	return nil
}

// writeArrays writes any number of rows with one parameter per column.
func (t *Table) writeArrays(ctx context.Context, db execer, d database.Dialect, sale, suffix string) error {
	var arrays []string
	args := []any{sale}
	for i, c := range t.Columns {
		kind, values := "BIGINT[]", intArray(c.ints)
		if c.texts != nil {
			kind, values = "TEXT[]", TextArray(c.texts)
		}
		arrays = append(arrays, "CAST($"+strconv.Itoa(i+2)+" AS "+kind+")")
		args = append(args, values)
	}
	columns := "*"
	if t.Clock != "" {
		columns += ", " + d.Now()
	}
	query := t.insert() + " SELECT CAST($1 AS TEXT), " + columns + " FROM unnest(" + strings.Join(arrays, ", ") + ")" + suffix
	_, err := db.ExecContext(ctx, query, args...)
	return err
}

// writeValues writes some rows with one parameter per value.
func (t *Table) writeValues(ctx context.Context, db execer, d database.Dialect, sale, suffix string, from, to int) error {
	one := "(" + Marks(1+len(t.Columns))
	if t.Clock != "" {
		one += ", " + d.Now()
	}
	one += ")"
	args := make([]any, 0, (to-from)*(1+len(t.Columns)))
	for i := from; i < to; i++ {
		args = append(args, sale)
		for _, c := range t.Columns {
			args = append(args, c.value(i))
		}
	}
	query := t.insert() + " VALUES " + one + strings.Repeat(", "+one, to-from-1) + suffix
	_, err := db.ExecContext(ctx, query, args...)
	return err
}

func (t *Table) insert() string {
	names := []string{"sale"}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	if t.Clock != "" {
		names = append(names, t.Clock)
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ")"
}

// Marks returns n placeholders, with commas between them.
func Marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// TextArray writes an array as PostgreSQL reads it: any driver can send it.
func TextArray(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = escapes.WriteString(&b, v) // a Builder takes everything
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func intArray(values []int64) string {
	b := make([]byte, 1, 2+14*len(values))
	b[0] = '{'
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return string(append(b, '}'))
}
