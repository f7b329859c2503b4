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

// A kind is what differs between the servers.
type kind struct {
	program string
	debian  string         // the package that it is in
	driver  string         // of database/sql
	user    string         // which may do everything, without a password
	admin   string         // a database that is always there
	ready   string         // what it prints when it has bound its port and is ready
	end     syscall.Signal // asks it to end soon, with its clients connected
	quit    syscall.Signal // ends it at once, with all that it started
	folders []string       // where program is besides PATH
	// initialise makes the files of an empty server in dir.
	initialise func(bin, dir string) *exec.Cmd
	arguments  func(dir string, port int) []string
	dsn        func(user, addr, database string) string
}

// The settings are unsafe against a crash of the machine, and safe against one
// of the server: what was committed has reached the system.
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

// account is run by MariaDB at each start: what its installation makes cannot
// log in over TCP.
const account = "CREATE USER IF NOT EXISTS cronce@'127.0.0.1';\nGRANT ALL ON *.* TO cronce@'127.0.0.1';\n"

// tmpdir keeps the temporary tables of a MariaDB from another one, which removes
// all that it finds in a folder when it starts.
func tmpdir(dir string) string { return "--tmpdir=" + dir }

func data(dir string) string { return filepath.Join(dir, "data") }

// find returns the folder that the server's program is in, or ends the test.
func (k *kind) find(t testing.TB) (bin string) {
	t.Helper()
	return filepath.Dir(serverprocess.Find(t, k.program, k.debian, k.folders...))
}

// prepare makes the files of an empty server in dir, and returns how to run it.
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
