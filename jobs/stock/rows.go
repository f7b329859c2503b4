package stock

import (
	"context"
	"strconv"
	"strings"
)

// maxRows is how many rows one statement writes at most where each value is a
// parameter: SQLite allows 32,766 of those, MySQL 65,535.
const maxRows = 500

// A table is rows to be written: of each column the values, all of one kind. The
// sale is a column of each.
type table struct {
	name    string
	columns []column
	clock   string // a column that takes the database's time; empty: none
}

type column struct {
	name  string
	texts []string // or
	ints  []int64
}

func (c column) value(i int) any {
	if c.texts != nil {
		return c.texts[i]
	}
	return c.ints[i]
}

// add adds a row: a string or an int64 for each column.
func (t *table) add(values ...any) {
	for i, v := range values {
		switch v := v.(type) {
		case string:
			t.columns[i].texts = append(t.columns[i].texts, v)
		case int64:
			t.columns[i].ints = append(t.columns[i].ints, v)
		}
	}
}

func (t *table) rows() int { return max(len(t.columns[0].texts), len(t.columns[0].ints)) }

// write inserts the rows of a table, in as few statements as possible. The suffix
// says what happens to rows that are there already.
func (tx *transaction) write(ctx context.Context, t *table, suffix string) error {
	if t.rows() == 0 {
		return nil
	}
	if tx.dialect == PostgreSQL {
		return tx.writeArrays(ctx, t, suffix)
	}
	for from := 0; from < t.rows(); from += maxRows {
		if err := tx.writeValues(ctx, t, suffix, from, min(from+maxRows, t.rows())); err != nil {
			return err
		}
	}
	return nil
}

// writeArrays writes any number of rows with one parameter per column.
func (tx *transaction) writeArrays(ctx context.Context, t *table, suffix string) error {
	var arrays []string
	args := []any{tx.sale}
	for i, c := range t.columns {
		kind, values := "BIGINT[]", intArray(c.ints)
		if c.texts != nil {
			kind, values = "TEXT[]", textArray(c.texts)
		}
		arrays = append(arrays, "CAST($"+strconv.Itoa(i+2)+" AS "+kind+")")
		args = append(args, values)
	}
	columns := "*"
	if t.clock != "" {
		columns += ", " + tx.dialect.Now()
	}
	query := t.insert() + " SELECT CAST($1 AS TEXT), " + columns + " FROM unnest(" + strings.Join(arrays, ", ") + ")" + suffix
	_, err := tx.tx.ExecContext(ctx, query, args...)
	return err
}

// writeValues writes some rows with one parameter per value.
func (tx *transaction) writeValues(ctx context.Context, t *table, suffix string, from, to int) error {
	one := "(" + marks(1+len(t.columns))
	if t.clock != "" {
		one += ", " + tx.dialect.Now()
	}
	one += ")"
	args := make([]any, 0, (to-from)*(1+len(t.columns)))
	for i := from; i < to; i++ {
		args = append(args, tx.sale)
		for _, c := range t.columns {
			args = append(args, c.value(i))
		}
	}
	query := t.insert() + " VALUES " + one + strings.Repeat(", "+one, to-from-1) + suffix
	_, err := tx.tx.ExecContext(ctx, query, args...)
	return err
}

func (t *table) insert() string {
	names := []string{"sale"}
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	if t.clock != "" {
		names = append(names, t.clock)
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ")"
}

// marks are n placeholders.
func marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// textArray writes an array as PostgreSQL reads it: any driver can send it.
func textArray(values []string) string {
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
