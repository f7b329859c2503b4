package sqlserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/internal/serverprocess"
)

// A kind holds the differences between the servers.
type kind struct {
	program string
	debian  string         // its package
	driver  string         // of database/sql
	user    string         // which has all rights, without a password
	admin   string         // a database that always exists
	ready   string         // printed when the server has bound its port and is ready
	end     syscall.Signal // makes it end soon, even with its clients connected
	quit    syscall.Signal // ends it at once, with all processes that it started
	folders []string       // where the program is besides PATH
	// initialise returns the command that creates the files of an empty server in dir.
	initialise func(bin, dir string) *exec.Cmd
	arguments  func(dir string, port int) []string
	dsn        func(user, addr, database string) string
}

// The settings are unsafe against a crash of the machine, and safe against a crash of the server:
// committed data has reached the operating system.
var (
	postgres = &kind{
		program: "postgres", debian: "postgresql", driver: "pgx",
		user: "cronce", admin: "postgres", ready: "database system is ready to accept connections",
		end: syscall.SIGINT, quit: syscall.SIGQUIT,
		folders: []string{"/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql@*/bin"},
		initialise: func(bin, dir string) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "initdb"), "-D", data(dir), "-U", "cronce", "-A", "trust",
				"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
		},
		arguments: func(dir string, port int) []string {
			return []string{"-D", data(dir), "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-c", "unix_socket_directories=",
				"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=300"}
		},
		dsn: func(user, addr, database string) string {
			return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, addr, database)
		},
	}
	mariadb = &kind{
		program: "mariadbd", debian: "mariadb-server", driver: "mysql",
		user: "cronce", admin: "mysql", ready: "ready for connections",
		end: syscall.SIGTERM, quit: syscall.SIGKILL,
		folders: []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"},
		initialise: func(_, dir string) *exec.Cmd {
			return exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+data(dir), "--skip-test-db",
				"--auth-root-authentication-method=normal", "--innodb-flush-log-at-trx-commit=0", tmpdir(dir))
		},
		arguments: func(dir string, port int) []string {
			return []string{"--no-defaults", "--datadir=" + data(dir), "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
				"--socket=" + filepath.Join(dir, "s"), tmpdir(dir), "--init-file=" + filepath.Join(dir, initFile), "--skip-name-resolve",
				"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=32M", "--max-connections=300"}
		},
		dsn: func(user, addr, database string) string { return fmt.Sprintf("%s@tcp(%s)/%s", user, addr, database) },
	}
)

const initFile = "init.sql"

// account is run by MariaDB at each start: the users that its installation creates cannot log in
// over TCP.
const account = "CREATE USER IF NOT EXISTS cronce@'127.0.0.1';\nGRANT ALL ON *.* TO cronce@'127.0.0.1';\n"

// tmpdir gives each MariaDB its own folder for temporary tables: at its start MariaDB removes all
// files in that folder.
func tmpdir(dir string) string { return "--tmpdir=" + dir }

func data(dir string) string { return filepath.Join(dir, "data") }

// find returns the folder of the server's program, or ends the test.
func (k *kind) find(t testing.TB) (bin string) {
	t.Helper()
	return filepath.Dir(serverprocess.Find(t, k.program, k.debian, k.folders...))
}

// prepare creates the files of an empty server in dir, and returns how to run it.
func (k *kind) prepare(bin, dir string, args []string) (serverprocess.Program, error) {
	p := serverprocess.Program{Name: k.program, Patience: patience, End: k.end, Orphaned: k.quit}
	if err := os.WriteFile(filepath.Join(dir, initFile), []byte(account), 0o644); err != nil { //nolint:gosec // no secret
		return p, err
	}
	owner, err := unprivileged(dir)
	if err != nil {
		return p, err
	}
	cmd := k.initialise(bin, dir)
	cmd.Dir, cmd.SysProcAttr = dir, owner
	serverprocess.EndWithParent(cmd, syscall.SIGKILL)
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("%s: %w; it printed:\n%s", cmd.Args[0], err, out)
	}
	p.Command = func(port int) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, k.program), append(k.arguments(dir, port), args...)...)
		cmd.Dir, cmd.SysProcAttr = dir, owner
		return cmd
	}
	p.Answers = func(s *serverprocess.Server) bool { return strings.Contains(s.Log(), k.ready) }
	return p, nil
}
