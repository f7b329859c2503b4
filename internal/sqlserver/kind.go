package sqlserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// A kind is what differs between the servers.
type kind struct {
	name    string // what it is called, and what installs it
	program string
	driver  string         // of database/sql
	user    string         // who may do everything, without a password
	admin   string         // a database that is always there
	ready   string         // what it prints when it is ready
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
		name: "PostgreSQL (Debian: apt-get install postgresql)", program: "postgres", driver: "pgx",
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
		name: "MariaDB (Debian: apt-get install mariadb-server)", program: "mariadbd", driver: "mysql",
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

// find returns the folder that the server's program is in.
func (k *kind) find() (bin string, err error) {
	path, err := exec.LookPath(k.program)
	if err == nil {
		return filepath.Dir(path), nil
	}
	for _, pattern := range k.folders {
		found, _ := filepath.Glob(filepath.Join(pattern, k.program))
		if len(found) > 0 {
			return filepath.Dir(slices.Max(found)), nil
		}
	}
	return "", err
}

// prepare makes the files of an empty server in dir.
func (k *kind) prepare(bin, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, initFile), []byte(account), 0o644); err != nil { //nolint:gosec // no secret
		return err
	}
	if err := give(dir); err != nil {
		return err
	}
	cmd := k.initialise(bin, dir)
	cmd.Dir = dir
	var err error
	if cmd.SysProcAttr, err = attributes(syscall.SIGKILL); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w; it printed:\n%s", cmd.Args[0], err, out)
	}
	return nil
}
