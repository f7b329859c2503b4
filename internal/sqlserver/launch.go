package sqlserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cronce/cronce/internal/serverprocess"
)

// A Launched server belongs to a program that is not a test, such as a benchmark. It has the
// default durability of its kind. End ends it.
type Launched struct {
	server   *Server
	database string
}

// LaunchPostgres starts a PostgreSQL server with an empty database, and returns when it is ready.
// It fails if PostgreSQL is not installed. After an error nothing is left.
func LaunchPostgres(ctx context.Context) (*Launched, error) {
	return durable(ctx, postgres, "-c", "fsync=on", "-c", "full_page_writes=on", "-c", "shared_buffers=128MB")
}

// LaunchMariaDB does the same with a MariaDB server.
func LaunchMariaDB(ctx context.Context) (*Launched, error) {
	return durable(ctx, mariadb, "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=128M")
}

func durable(ctx context.Context, k *kind, args ...string) (*Launched, error) {
	path, err := serverprocess.Lookup(k.program, k.debian, k.folders...)
	if err != nil {
		return nil, fmt.Errorf("sqlserver: %w", err)
	}
	s, err := launch(k, filepath.Dir(path), args)
	if err != nil {
		return nil, fmt.Errorf("sqlserver: start %s: %w", k.program, err)
	}
	l := &Launched{server: s}
	if l.database, err = s.create(ctx, ""); err != nil {
		l.End()
		return nil, fmt.Errorf("sqlserver: create a database: %w", err)
	}
	return l, nil
}

// Driver returns the name under which the server's driver is registered with database/sql.
func (l *Launched) Driver() string { return l.server.Driver() }

// DSN returns the data source name of the database.
func (l *Launched) DSN() string { return l.server.DSN(l.database) }

// End kills the server and removes its files.
func (l *Launched) End() { l.server.end() }

// launch starts a server that no test ends.
func launch(k *kind, bin string, args []string) (*Server, error) {
	dir, err := os.MkdirTemp("", "sqlserver-")
	if err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	program, err := k.prepare(bin, dir, args)
	if err == nil {
		var s *serverprocess.Server
		if s, err = serverprocess.Lasting(dir, program); err == nil {
			return &Server{s, k}, nil
		}
	}
	_ = os.RemoveAll(dir) // only the error of the start matters
	return nil, err
}

// end kills a server that no test ends, and removes its files.
func (s *Server) end() {
	s.Kill()
	_ = os.RemoveAll(s.Dir()) // if it fails, the system empties its folder for temporary files
}
