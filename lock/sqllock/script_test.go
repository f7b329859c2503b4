package sqllock_test

import (
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// script pipes the script into the database's own client.
func script(t *testing.T, on database) (printed string, err error) {
	t.Helper()
	text, err := sqllock.Script(on.dialect)
	must(t, err)
	return pipe(t, on, text)
}

func pipe(t *testing.T, on database, text string) (printed string, err error) {
	t.Helper()
	var cmd *exec.Cmd
	switch on.dialect {
	case sqllock.PostgreSQL:
		u, err := url.Parse(on.dsn)
		must(t, err)
		cmd = exec.Command(serverprocess.Find(t, "psql", "postgresql-client", "/usr/lib/postgresql/*/bin"),
			"--no-psqlrc", "--host="+u.Hostname(), "--port="+u.Port(), "--username="+u.User.Username(), "--dbname="+u.Path[1:])
	case sqllock.MySQL:
		c, err := mysql.ParseDSN(on.dsn)
		must(t, err)
		host, port, _ := strings.Cut(c.Addr, ":")
		cmd = exec.Command(serverprocess.Find(t, "mariadb", "mariadb-client"),
			"--no-defaults", "--protocol=tcp", "--host="+host, "--port="+port, "--user="+c.User, c.DBName)
	case sqllock.SQLite:
		file, _, _ := strings.Cut(strings.TrimPrefix(on.dsn, "file:"), "?")
		cmd = exec.Command(serverprocess.Find(t, "sqlite3", "sqlite3"), "-init", "/dev/null", file)
	}
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The client of a database makes its tables, from none and, on servers, from the tables of each older version. On tables
// with rows the script changes nothing, of this version or of a newer one.
func TestScript(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		steps := 8
		if on.dialect == sqllock.SQLite {
			steps = 1 // the script is only for a new database
		}
		for from := range steps {
			p := migrations(t, on, db)
			if from > 0 {
				_, err := p.UpTo(t.Context(), int64(from))
				must(t, err)
			}
			if printed, err := script(t, on); err != nil || strings.Contains(printed, "ERROR") {
				t.Errorf("from version %d: %v: %s", from, err, printed)
			}
			must(t, newDriver(t, db, on.dialect, sqllock.Options{}).Check(t.Context()))
			_, err := db.Exec("DROP TABLE IF EXISTS goose_db_version")
			must(t, err)
		}
		if on.dialect == sqllock.SQLite { // the tables of version 1 have no version
			_, err := migrations(t, on, db).UpTo(t.Context(), 1)
			must(t, err)
			if printed, err := script(t, on); err == nil || !strings.Contains(printed, "has tables of cronce, so nothing was changed") {
				t.Errorf("on the tables of version 1: %v: %s", err, printed)
			}
			must(t, newDriver(t, db, on.dialect, sqllock.Options{}).CreateTables(t.Context()))
		}
		scriptAgain(t, on)
	})
}

func scriptAgain(t *testing.T, on database) {
	t.Helper()
	db := on.connect(t)
	d := newDriver(t, db, on.dialect, sqllock.Options{})
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "a/1", TTL: minute})
	must(t, err)
	_ = d.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: "a/2", TTL: minute}) // a waiter
	again := func() {
		t.Helper()
		printed, err := script(t, on)
		if on.dialect == sqllock.SQLite && (err == nil || !strings.Contains(printed, "has tables of cronce, so nothing was changed")) ||
			on.dialect != sqllock.SQLite && (err != nil || strings.Contains(printed, "ERROR")) {
			t.Errorf("run again: %v: %s", err, printed)
		}
	}
	for range 2 {
		again()
		must(t, d.Check(t.Context()))
	}
	if is, err := d.Inspect(t.Context(), "key"); err != nil || is.Owner != "a/1" || is.Fence != g.Fence || is.Waiting != 1 {
		t.Errorf("the key stands at %+v, %v", is, err)
	}
	_, err = db.Exec("UPDATE cronce_version SET version = 9")
	must(t, err)
	again()
	var version int
	if must(t, db.QueryRow("SELECT version FROM cronce_version").Scan(&version)); version != 9 {
		t.Errorf("the version is %d", version)
	}
	if on.dialect == sqllock.SQLite { // also in a file whose tables have no version
		_, err = db.Exec("DROP TABLE cronce_version")
		must(t, err)
		again()
	}
}

// scriptLock returns the name of the lock that a script for MySQL takes, as an expression.
func scriptLock(text string) string {
	_, text, _ = strings.Cut(text, "get_lock(")
	lock, _, _ := strings.Cut(text, ", 60)")
	return lock
}

// A script that runs while another client changes the tables waits for it, and otherwise ends before its first step.
func TestScriptBesideAnother(t *testing.T) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) { // PostgreSQL waits without a bound, and SQLite has one writer
		on := mariadb(t)
		text, err := sqllock.Script(on.dialect)
		must(t, err)
		db := on.connect(t)
		migrations(t, on, db) // removes the tables
		other, err := db.Conn(t.Context())
		must(t, err)
		var locked int
		if must(t, other.QueryRowContext(t.Context(), "SELECT get_lock("+scriptLock(text)+", 0)").Scan(&locked)); locked != 1 {
			t.Fatal("the lock is not free")
		}
		if printed, err := pipe(t, on, strings.Replace(text, ", 60)", ", 0)", 1)); err == nil || !strings.Contains(printed, "another client changes the tables") {
			t.Errorf("beside another client: %v: %s", err, printed)
		}
		var tables int
		if must(t, db.QueryRow("SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name LIKE 'cronce%'").Scan(&tables)); tables != 0 {
			t.Errorf("the database has %d tables of cronce", tables)
		}
		must(t, other.Close())
	})
}

// A script is for a database that is known.
func TestScriptRefuses(t *testing.T) {
	if text, err := sqllock.Script(0); err == nil || text != "" {
		t.Errorf("it returns %q", text)
	}
}

// MySQL refuses the name of a lock that has more than 64 characters, which the name of a database may have. MariaDB does not.
func TestLongNameOfADatabase(t *testing.T) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) { // the other databases lock the tables without a name
		on := mariadb(t)
		c, err := mysql.ParseDSN(on.dsn)
		must(t, err)
		c.DBName = strings.Repeat("n", 64)
		_, err = on.connect(t).Exec("CREATE DATABASE " + c.DBName)
		must(t, err)
		on.dsn = c.FormatDSN()
		text, err := sqllock.Script(on.dialect)
		must(t, err)
		lock := scriptLock(text)
		var length int
		if must(t, on.connect(t).QueryRow("SELECT char_length("+lock+")").Scan(&length)); length != 64 {
			t.Errorf("the name of the lock has %d characters", length)
		}
	})
}
