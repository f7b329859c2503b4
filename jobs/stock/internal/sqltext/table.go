// Package sqltext writes the SQL of a sale that differs between databases: rows with their
// parameters, the treatment of existing rows, and the time limit of a transaction.
package sqltext

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/database"
)

// MaxRows bounds the rows of one statement in which each value is a parameter: SQLite allows 32,766
// parameters, MySQL 65,535.
const MaxRows = 500

// A Table holds rows to be written, column by column. The first column of each row is the sale.
type Table struct {
	Name    string
	Columns []Column
	Clock   string // a column that is set to the database's time; empty: none
}

// A Column is a column of a table with its values, either texts or ints.
type Column struct {
	Name  string // the column in the database
	texts []string
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

// Write inserts the rows for a sale in as few statements as possible. The suffix decides about
// existing rows.
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

// writeArrays writes any number of rows with one array parameter per column.
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

// TextArray formats an array in the syntax of PostgreSQL, which any driver can send as a text.
func TextArray(values []string) string {
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
