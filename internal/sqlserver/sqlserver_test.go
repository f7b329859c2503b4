package sqlserver_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sqlserver"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

var servers = []struct {
	name   string
	start  func(testing.TB, ...string) *sqlserver.Server
	shared func(testing.TB) *sqlserver.Server
	bad    string
}{
	{"PostgreSQL", sqlserver.Postgres, sqlserver.SharedPostgres, "--no_such_option=1"},
	{"MariaDB", sqlserver.MariaDB, sqlserver.SharedMariaDB, "--no-such-option=1"},
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

// What was committed survives a crash, and the server comes back at its address.
func TestRestart(t *testing.T) {
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			s := c.start(t)
			db, addr, pid := s.Open(t), s.Addr(), s.Pid()
			do(t, db, "CREATE TABLE t (i INT)")
			do(t, db, "INSERT INTO t VALUES (1)")
			s.Kill()
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("kill -0 %d = %v, want no such process", pid, err)
			}
			if err := db.PingContext(t.Context()); err == nil {
				t.Error("a killed server answers")
			}
			s.Restart()
			if n := rows(t, db); n != 1 || s.Addr() != addr {
				t.Errorf("%d rows at %s after a crash, want 1 at %s", n, s.Addr(), addr)
			}
			s.Stop()
			s.Stop()
		})
	}
}

// A frozen server answers nothing, and then goes on.
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

// A recorder is a test that is asked to skip or to fail.
type recorder struct {
	testing.TB
	verdict string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any)  { r.end("skip", format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.end("fail", format, args...) }

func (r *recorder) end(verdict, format string, args ...any) {
	r.verdict = verdict + ": " + fmt.Sprintf(format, args...)
	panic(r)
}

func record(t *testing.T, f func(testing.TB)) string {
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		f(r)
	}()
	return r.verdict
}

func TestBadArguments(t *testing.T) {
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) {
			c.shared(t) // skips where it is not installed
			verdict := record(t, func(t testing.TB) { c.start(t, c.bad) })
			if !strings.HasPrefix(verdict, "fail") || !strings.Contains(verdict, "option") {
				t.Errorf("verdict %q, want the server's own words", verdict)
			}
		})
	}
}
