// Package sqld starts real PostgreSQL and MariaDB processes for measurements: on a
// free loopback port, with a temporary folder, and with the durability that they
// have by default.
package sqld

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/cronce/cronce/bench/internal/proc"
)

const patience = 60 * time.Second

// A Kind is a kind of server.
type Kind struct {
	Name   string
	Driver string // of database/sql

	program string
	folders []string
	prepare func(bin, dir string) *exec.Cmd
	args    func(dir string, port int) []string
	dsn     func(port int, database string) string
	admin   string
}

// The kinds.
var (
	Postgres = &Kind{
		Name: "PostgreSQL", Driver: "pgx", program: "postgres", folders: []string{"/usr/lib/postgresql/*/bin"}, admin: "postgres",
		prepare: func(bin, dir string) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-instructions")
		},
		args: func(dir string, port int) []string {
			return []string{"-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-c", "unix_socket_directories="}
		},
		dsn: func(port int, database string) string {
			return fmt.Sprintf("postgres://bench@127.0.0.1:%d/%s?sslmode=disable", port, database)
		},
	}
	MariaDB = &Kind{
		Name: "MariaDB", Driver: "mysql", program: "mariadbd", folders: []string{"/usr/sbin"}, admin: "mysql",
		prepare: func(_, dir string) *exec.Cmd {
			return exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+filepath.Join(dir, "data"), "--skip-test-db",
				"--auth-root-authentication-method=normal")
		},
		args: func(dir string, port int) []string {
			return []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
				"--socket=" + filepath.Join(dir, "s"), "--init-file=" + filepath.Join(dir, "init.sql"), "--skip-name-resolve"}
		},
		dsn: func(port int, database string) string {
			return fmt.Sprintf("bench@tcp(127.0.0.1:%d)/%s?interpolateParams=true", port, database)
		},
	}
)

const account = "CREATE USER IF NOT EXISTS bench@'127.0.0.1';\nGRANT ALL ON *.* TO bench@'127.0.0.1';\n"

// A Server is a running server. Stop ends it.
type Server struct {
	kind *Kind
	dir  string
	port int
	cmd  *exec.Cmd
	gone chan struct{}
}

// Start starts a server with an empty database and returns when it answers.
func Start(ctx context.Context, k *Kind) (*Server, error) {
	s := &Server{kind: k, port: 11000 + rand.IntN(20000), gone: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("sqld: %s: %w", k.Name, err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) (err error) {
	bin, err := s.kind.find()
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "cronce-bench-sql-"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "init.sql"), []byte(account), 0o600); err != nil {
		return err
	}
	attributes, err := s.unprivileged()
	if err != nil {
		return err
	}
	prepare := s.kind.prepare(bin, s.dir)
	prepare.Dir, prepare.SysProcAttr = s.dir, attributes
	if out, err := prepare.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	s.cmd = exec.Command(filepath.Join(bin, s.kind.program), s.kind.args(s.dir, s.port)...)
	s.cmd.Dir, s.cmd.SysProcAttr = s.dir, attributes
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	go func() {
		defer close(s.gone)
		_ = s.cmd.Wait() // it ends when it is told to
	}()
	return s.ready(ctx)
}

// unprivileged is how the server's processes are started: not as root, which
// PostgreSQL refuses.
func (s *Server) unprivileged() (*syscall.SysProcAttr, error) {
	attributes := proc.DieWithParent()
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		return nil, err
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // ids of the system
	return attributes, errors.Join(os.Chown(s.dir, uid, gid), os.Chown(filepath.Join(s.dir, "init.sql"), uid, gid))
}

// ready waits until the server answers, and makes the database.
func (s *Server) ready(ctx context.Context) error {
	db, err := sql.Open(s.kind.Driver, s.kind.dsn(s.port, s.kind.admin))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		if _, err = db.ExecContext(ctx, "CREATE DATABASE bench"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-s.gone:
			return errors.New("it ended before it answered")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// DSN is the data source name of the database.
func (s *Server) DSN() string { return s.kind.dsn(s.port, "bench") }

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // PostgreSQL ends all its processes at once
		select {
		case <-s.gone:
		case <-time.After(5 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.gone
		}
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // in the system's folder for temporary files
	}
}

func (k *Kind) find() (string, error) {
	path, err := exec.LookPath(k.program)
	if err == nil {
		return filepath.Dir(path), nil
	}
	for _, pattern := range k.folders {
		if found, _ := filepath.Glob(filepath.Join(pattern, k.program)); len(found) > 0 {
			return filepath.Dir(slices.Max(found)), nil
		}
	}
	return "", err
}
