// Package sqlserver starts real PostgreSQL and MariaDB servers for tests.
//
// Each server listens on a free loopback port, keeps its files in a folder of
// its own, and is stopped by its process id when the test ends (on Linux also
// when the test process dies). Where the tests run as root it runs as nobody.
// What was committed survives a crash of the server, not of the machine.
//
// To start one takes seconds. Tests that do no harm to it share one: see [Main].
package sqlserver

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Require is the environment variable that, set to 1, makes a missing server a
// failure instead of a skipped test.
const Require = "CRONCE_REQUIRE_SERVERS"

const (
	patience = 60 * time.Second // a loaded machine starts slowly
	tries    = 20               // other ports, when somebody was faster to bind one
)

// A Server is a running server. Addr, DSN, Open and what else only reads may be
// called from any goroutine, the methods that end or start it only from the
// test's own.
type Server struct {
	t    testing.TB
	kind *kind
	bin  string
	dir  string
	port int
	args []string
	proc *process
}

// Postgres starts a PostgreSQL server with the given arguments ("-c",
// "timezone=Asia/Tokyo") behind its own, and returns when it is ready. Where it
// is not installed the test is skipped, or fails if CRONCE_REQUIRE_SERVERS is 1.
func Postgres(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, postgres, args)
}

// MariaDB is the same for a MariaDB server ("--default-time-zone=+09:00").
func MariaDB(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, mariadb, args)
}

func start(t testing.TB, k *kind, args []string) *Server {
	t.Helper()
	bin := found(t, k)
	dir, err := os.MkdirTemp("", "sqlserver-") // not t.TempDir: that is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, kind: k, bin: bin, dir: dir, args: slices.Clone(args)}
	t.Cleanup(s.remove)
	if err := s.begin(); err != nil {
		t.Fatalf("sqlserver: start %s: %v", k.program, err)
	}
	return s
}

// found returns the folder of the server's programs, or ends the test.
func found(t testing.TB, k *kind) string {
	t.Helper()
	bin, err := k.find()
	switch {
	case err == nil:
	case os.Getenv(Require) == "1":
		t.Fatalf("%s is not installed and %s=1 asks for it", k.name, Require)
	default:
		t.Skipf("%s is not installed", k.name)
	}
	return bin
}

// begin makes the server's files and starts it on a free port.
func (s *Server) begin() error {
	err := s.kind.prepare(s.bin, s.dir)
	if err != nil {
		return err
	}
	for range tries {
		s.port = freePort()
		if s.proc, err = s.kind.start(s.bin, s.dir, s.port, s.args); err == nil {
			return nil
		}
	}
	return err
}

func (s *Server) remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir) // the system empties its folder for temporary files
}

// Addr is the server's host:port. It stays the same over Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Driver is the name under which the server's driver is registered with
// database/sql: pgx or mysql. Importing this package registers both.
func (s *Server) Driver() string { return s.kind.driver }

// DSN is the data source name of a database of this server.
func (s *Server) DSN(database string) string { return s.DSNAt(s.Addr(), database) }

// DSNAt is DSN through another host:port: a proxy before the server.
func (s *Server) DSNAt(addr, database string) string { return s.kind.dsn(s.kind.user, addr, database) }

// Dir is the folder with the server's files.
func (s *Server) Dir() string { return s.dir }

// Pid is the process id of the server that runs, or of the last one that ran.
func (s *Server) Pid() int { return s.proc.pid() }

// Log is what the running server has printed so far.
func (s *Server) Log() string { return s.proc.log.String() }

var databases atomic.Int64

// Create makes an empty database and returns its name. It goes with the server.
func (s *Server) Create(t testing.TB) string {
	t.Helper()
	db, err := sql.Open(s.kind.driver, s.DSN(s.kind.admin))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprint("test", databases.Add(1))
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("sqlserver: create a database: %v", err)
	}
	return name
}

// Open opens an empty database of its own, closed when the test ends.
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
	t.Cleanup(func() { _ = db.Close() }) // only tests look at what it might lose
	return db
}

// Stop ends the server as an operator would, with its clients connected, and
// waits until it is gone. A server that is gone already is no error.
func (s *Server) Stop() {
	s.t.Helper()
	if !s.proc.terminate() {
		s.t.Fatalf("sqlserver: pid %d still runs %v after it was told to end", s.proc.pid(), patience)
	}
}

// Kill ends the server as a crash would (SIGKILL) and waits until it is gone.
func (s *Server) Kill() {
	if s.proc != nil {
		s.proc.kill()
	}
}

// Freeze stops the server and all it has started from running (SIGSTOP), with
// its connections open.
func (s *Server) Freeze() { s.proc.signal(freeze) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.proc.signal(thaw) }

// Restart stops the server if it runs and starts it again on the same port, with
// the files it left.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	var err error
	for range tries {
		if s.proc, err = s.kind.start(s.bin, s.dir, s.port, s.args); err == nil {
			return
		}
		<-time.After(pause)
	}
	s.t.Fatalf("sqlserver: restart on %s: %v", s.Addr(), err)
}
