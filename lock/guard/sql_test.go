package guard_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/guard"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

// On each database a row that has seen the fence takes it again, and one below it,
// a paused holder's, leaves the row as it is.
func TestConditionInStatement(t *testing.T) {
	for name, c := range map[string]struct {
		open  func(t *testing.T) *sql.DB
		state string // the placeholder of it
		fence string // the placeholder of the fence, which occurs twice
		args  int    // for them all
	}{
		"SQLite": {func(t *testing.T) *sql.DB {
			return sqlserver.Connect(t, "sqlite", filepath.Join(t.TempDir(), "db"))
		}, "?1", "?2", 2},
		"PostgreSQL": {func(t *testing.T) *sql.DB { return sqlserver.SharedPostgres(t).Open(t) }, "$1", "$2", 2},
		"MariaDB": {func(t *testing.T) *sql.DB {
			s := sqlserver.SharedMariaDB(t)
			return sqlserver.Connect(t, s.Driver(), s.DSN(s.Create(t))+"?clientFoundRows=true")
		}, "?", "?", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			update := "UPDATE invoice SET state = " + c.state + ", fence = " + c.fence + " WHERE id = 4711 AND " + guard.Condition("fence", c.fence)
			takesItsFences(t, c.open(t), func(fence int64) (string, []any) {
				return update, []any{fmt.Sprint(fence), fence, fence}[:c.args]
			})
		})
	}
}

func takesItsFences(t *testing.T, db *sql.DB, update func(fence int64) (string, []any)) {
	t.Helper()
	do := func(statement string, args ...any) sql.Result {
		t.Helper()
		r, err := db.ExecContext(t.Context(), statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	do("CREATE TABLE invoice (id BIGINT PRIMARY KEY, state VARCHAR(20), fence BIGINT)")
	do("INSERT INTO invoice (id, state) VALUES (4711, 'open')")
	for i, c := range []struct {
		fence int64
		want  error
	}{{5, nil}, {5, nil}, {4, guard.ErrStale}, {6, nil}} {
		statement, args := update(c.fence)
		if err := guard.Written(do(statement, args...)); !errors.Is(err, c.want) {
			t.Errorf("write %d, fence %d: %v, want %v", i, c.fence, err, c.want)
		}
	}
	var state string
	if err := db.QueryRowContext(t.Context(), "SELECT state FROM invoice").Scan(&state); err != nil || state != "6" {
		t.Errorf("the state is %q, %v", state, err)
	}
}
