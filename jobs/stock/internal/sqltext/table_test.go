package sqltext

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/database"
)

// statements are the statements that a table has written, with their parameters.
type statements []struct {
	query string
	args  []any
}

func (s *statements) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	*s = append(*s, struct {
		query string
		args  []any
	}{query, args})
	return nil, nil
}

// A statement has at most 500 rows if each value is a parameter: databases bound the number of parameters. PostgreSQL gets any number
// of rows as one array per column.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		rows   int
		values []int // parameters of the statements of MySQL and SQLite
	}{{0, nil}, {1, []int{3}}, {MaxRows, []int{3 * MaxRows}}, {MaxRows + 1, []int{3 * MaxRows, 3}}} {
		table := Table{Name: "item", Columns: []string{"sku", "sold"}, Clock: "at"}
		for i := range c.rows {
			table.Add(fmt.Sprintf(`a"\%d`, i), int64(i))
		}
		for _, d := range []database.Dialect{database.MySQL, database.SQLite, database.PostgreSQL} {
			var wrote statements
			if err := table.Write(t.Context(), &wrote, d, "sale", " ON CONFLICT"); err != nil {
				t.Fatal(err)
			}
			var values []int
			for _, s := range wrote {
				values = append(values, len(s.args))
				if !strings.HasPrefix(s.query, "INSERT INTO item (sale, sku, sold, at) ") || !strings.HasSuffix(s.query, " ON CONFLICT") || s.args[0] != "sale" {
					t.Errorf("%v: %s: %v", d, s.query, s.args[0])
				}
				if marks := strings.Count(s.query, "(?, ?, ?, "+d.Now()+")"); d != database.PostgreSQL && marks*3 != len(s.args) {
					t.Errorf("%v: %d rows have %d parameters", d, marks, len(s.args))
				}
			}
			want := c.values
			if d == database.PostgreSQL && c.rows > 0 {
				want = []int{3}
			}
			if !slices.Equal(values, want) {
				t.Errorf("%v: %d rows: the statements have %v parameters, want %v", d, c.rows, values, want)
			}
		}
	}
}

// An array of PostgreSQL has any text, and numbers.
func TestArrays(t *testing.T) {
	table := Table{Name: "item", Columns: []string{"sku", "sold"}}
	table.Add(`a"\,}`, int64(-5))
	table.Add("", int64(7))
	var wrote statements
	if err := table.Write(t.Context(), &wrote, database.PostgreSQL, "sale", ""); err != nil {
		t.Fatal(err)
	}
	const query = "INSERT INTO item (sale, sku, sold) SELECT CAST($1 AS TEXT), * FROM unnest(CAST($2 AS TEXT[]), CAST($3 AS BIGINT[]))"
	if s := wrote[0]; s.query != query || s.args[1] != `{"a\"\\,}",""}` || s.args[2] != `{"-5","7"}` {
		t.Errorf("%s: %v", s.query, s.args)
	}
}
