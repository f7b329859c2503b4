// Package sqlserver starts real PostgreSQL and MariaDB servers for tests.
//
// Each server listens on a free loopback port, keeps its files in its own folder, and is stopped by
// its process id when the test ends (on Linux also when the test process dies). If the tests run as
// root, it runs as the user nobody. Committed data survives a crash of the server, but not of the
// machine.
//
// Starting a server takes seconds. Tests that do no harm to a server share one: see [Main].
package sqlserver

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/cronce/cronce/internal/serverprocess"
)

// Require is the environment variable that, if set to 1, makes a missing server a failure instead
// of a skipped test.
const Require = serverprocess.Require

const patience = 60 * time.Second // a loaded machine starts slowly

// A Server is a running server. Addr, DSN, Open and other methods that only read may be called from
// any goroutine, the methods that end or start the server only from the test's own.
type Server struct {
	*serverprocess.Server

	kind *kind
}

// Postgres starts a PostgreSQL server with the given arguments ("-c", "timezone=Asia/Tokyo") behind
// its own, and returns when it is ready. If it is not installed, the test is skipped, or fails if
// CRONCE_REQUIRE_SERVERS is 1.
func Postgres(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, postgres, args)
}

// MariaDB does the same with a MariaDB server ("--default-time-zone=+09:00").
func MariaDB(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, mariadb, args)
}

func start(t testing.TB, k *kind, args []string) *Server {
	t.Helper()
	bin := k.find(t)
	dir, err := os.MkdirTemp("", "sqlserver-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // if it fails, the system empties its folder for temporary files
	program, err := k.prepare(bin, dir, slices.Clone(args))
	if err != nil {
		t.Fatalf("sqlserver: start %s: %v", k.program, err)
	}
	return &Server{serverprocess.Start(t, dir, program), k}
}

// Driver returns the name under which the server's driver is registered with database/sql: pgx or
// mysql. Importing this package registers both.
func (s *Server) Driver() string { return s.kind.driver }

// DSN returns the data source name of a database of this server.
func (s *Server) DSN(database string) string { return s.DSNAt(s.Addr(), database) }

// DSNAt is DSN with another host:port, such as a proxy in front of the server.
func (s *Server) DSNAt(addr, database string) string { return s.kind.dsn(s.kind.user, addr, database) }

var databases atomic.Int64

// Create creates an empty database and returns its name. The database is removed with the server.
func (s *Server) Create(t testing.TB) string {
	t.Helper()
	name, err := s.create(t.Context(), "")
	if err != nil {
		t.Fatalf("sqlserver: create a database: %v", err)
	}
	return name
}

// create creates a database, with options behind its name.
func (s *Server) create(ctx context.Context, options string) (name string, err error) {
	db, err := sql.Open(s.kind.driver, s.DSN(s.kind.admin))
	if err != nil {
		return "", err
	}
	defer db.Close()
	name = fmt.Sprint("test", databases.Add(1))
	_, err = db.ExecContext(ctx, "CREATE DATABASE "+name+options)
	return name, err
}

// Open opens a new empty database, which is closed when the test ends.
func (s *Server) Open(t testing.TB) *sql.DB {
	t.Helper()
	return Connect(t, s.Driver(), s.DSN(s.Create(t)))
}

// Connect opens a database that is closed when the test ends.
func Connect(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // only tests use the data that it might lose
	return db
}
