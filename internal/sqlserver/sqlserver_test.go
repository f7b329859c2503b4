package sqlserver_test

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sqlserver"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

var servers = []struct {
	name   string
	start  func(testing.TB, ...string) *sqlserver.Server
	shared func(testing.TB) *sqlserver.Server
	arg    string
	asked  string
}{
	{"PostgreSQL", sqlserver.Postgres, sqlserver.SharedPostgres, "--timezone=Asia/Tokyo", "SELECT current_setting('timezone') = 'Asia/Tokyo'"},
	{"MariaDB", sqlserver.MariaDB, sqlserver.SharedMariaDB, "--default-time-zone=+09:00", "SELECT @@global.time_zone = '+09:00'"},
}

func do(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func rows(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A copy of a database has its tables and rows, and is changed alone.
func TestCopy(t *testing.T) {
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			s := c.shared(t)
			first := s.Create(t)
			db := sqlserver.Connect(t, s.Driver(), s.DSN(first))
			do(t, db, "CREATE TABLE u (i INT PRIMARY KEY)")
			do(t, db, "CREATE TABLE t (i INT REFERENCES u (i))")
			do(t, db, "INSERT INTO u VALUES (1)")
			do(t, db, "INSERT INTO t VALUES (1)")
			_ = db.Close()
			second := sqlserver.Connect(t, s.Driver(), s.DSN(s.Copy(t, first)))
			if _, err := second.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); err == nil {
				t.Error("the copy has a row whose key refers to nothing")
			}
			do(t, second, "INSERT INTO t SELECT i FROM u")
			if n := rows(t, second); n != 2 {
				t.Errorf("the copy has %d rows, want 2", n)
			}
			if n := rows(t, sqlserver.Connect(t, s.Driver(), s.DSN(first))); n != 1 {
				t.Errorf("the first database has %d rows, want 1", n)
			}
		})
	}
}

// Committed data survives a crash, and the server restarts with its arguments.
func TestRestart(t *testing.T) {
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			s := c.start(t, c.arg)
			db := s.Open(t)
			do(t, db, "CREATE TABLE t (i INT)")
			do(t, db, "INSERT INTO t VALUES (1)")
			s.Kill()
			if err := db.PingContext(t.Context()); err == nil {
				t.Error("a killed server answers")
			}
			s.Restart()
			if n := rows(t, db); n != 1 {
				t.Errorf("%d rows after a crash, want 1", n)
			}
			var applied bool
			if err := db.QueryRowContext(t.Context(), c.asked).Scan(&applied); err != nil || !applied {
				t.Errorf("%s = %t, %v after a start with %s", c.asked, applied, err, c.arg)
			}
			s.Stop() // with a client connected
		})
	}
}

// A frozen server does not answer, and then continues.
func TestFreeze(t *testing.T) {
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			s := c.start(t)
			db := s.Open(t)
			do(t, db, "CREATE TABLE t (i INT)")
			s.Freeze()
			ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer stop()
			if _, err := db.ExecContext(ctx, "INSERT INTO t VALUES (1)"); err == nil {
				t.Error("a frozen server answers")
			}
			s.Thaw()
			do(t, db, "INSERT INTO t VALUES (2)")
		})
	}
}

// Tests share one server, and each has a database of its own.
func TestShared(t *testing.T) {
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			first, second := c.shared(t), c.shared(t)
			if first != second {
				t.Errorf("two servers, at %s and %s", first.Addr(), second.Addr())
			}
			for range 2 {
				db := first.Open(t)
				do(t, db, "CREATE TABLE t (i INT)")
				if n := rows(t, db); n != 0 {
					t.Errorf("%d rows in a fresh database", n)
				}
			}
		})
	}
}
