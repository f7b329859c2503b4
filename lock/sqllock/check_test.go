package sqllock_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

func TestCheck(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		must(t, d.CreateTables(t.Context())) // again
		must(t, d.Check(t.Context()))
		wantRisks(t, d, map[sqllock.Dialect][]string{ // the servers of the tests are configured for speed
			sqllock.PostgreSQL: {"fsync"},
			sqllock.MySQL:      {"innodb_flush_log_at_trx_commit", "idle_transaction_timeout"},
			sqllock.SQLite:     {"synchronous"},
		}[on.dialect]...)
		_, err := db.Exec("DROP TABLE cronce_places")
		must(t, err)
		if err := d.Check(t.Context()); err == nil || errors.Is(err, driver.ErrUnfit) { // another process may be about to create it
			t.Errorf("a missing table is %v", err)
		}
	})
}

// Tables of another version, older or newer, do not fit the program, and the answer names the version. CreateTables
// refuses newer tables, leaves them as they are, and advises no migration.
func TestCheckVersion(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		for _, by := range []string{"+ 1", "- 2"} {
			_, err := db.Exec("UPDATE cronce_version SET version = version " + by)
			must(t, err)
			err = d.Check(t.Context())
			if e, ok := errors.AsType[*sqllock.SettingError](err); !ok || e.Setting != "cronce_version" || !errors.Is(err, driver.ErrUnfit) {
				t.Errorf("the version %s: the answer is %v", by, err)
			}
			if by == "+ 1" {
				for _, err := range []error{err, d.CreateTables(t.Context()), d.Check(t.Context())} {
					if want := "sqllock: cronce_version: the tables have version 9, and this program knows 8: use a newer cronce"; err == nil || err.Error() != want || !errors.Is(err, driver.ErrUnfit) {
						t.Errorf("the answer to newer tables is %v, want %s", err, want)
					}
				}
			}
		}
	})
}

func wantRisks(t *testing.T, d *sqllock.Driver, topics ...string) {
	t.Helper()
	risks, err := d.CheckStore(t.Context())
	must(t, err)
	var got []string
	for _, r := range risks {
		got = append(got, r.Topic)
		if r.Text == "" || r.Fix == "" {
			t.Errorf("%+v does not tell enough", r)
		}
	}
	if !slices.Equal(got, topics) {
		t.Errorf("the risks are %q, want %q", got, topics)
	}
}

// Settings that follow the package comment are no risk. On PostgreSQL two settings are needed: the
// other servers of the tests lack the first.
func TestCheckWithoutRisk(t *testing.T) {
	for dialect, on := range map[sqllock.Dialect]func() database{
		sqllock.PostgreSQL: func() database {
			s := sqlserver.Postgres(t, "-c", "fsync=on")
			return database{driver: s.Driver(), dsn: s.DSN(s.Create(t))}
		},
		sqllock.MySQL: func() database {
			s := sqlserver.MariaDB(t, "--innodb-flush-log-at-trx-commit=1")
			return database{driver: s.Driver(), dsn: s.DSN(s.Create(t)) + "?idle_transaction_timeout=5"}
		},
		sqllock.SQLite: func() database {
			return database{driver: "sqlite", dsn: "file:" + filepath.Join(t.TempDir(), "safe.db")}
		},
	} {
		safe := on()
		d := newDriver(t, safe.connect(t), dialect, sqllock.Options{})
		must(t, d.CreateTables(t.Context()))
		wantRisks(t, d)
		if dialect == sqllock.PostgreSQL {
			safe.dsn += "&synchronous_commit=off"
			wantRisks(t, newDriver(t, safe.connect(t), dialect, sqllock.Options{}), "fsync")
		}
	}
}

// A PostgreSQL that is read-only without being a replica, or a user that may not write, is refused: every claim would
// fail, and be repeated.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	on := postgres(t)
	db := on.connect(t)
	var name string
	must(t, db.QueryRow("SELECT current_database()").Scan(&name))
	role := name + "_looker"
	refused := func(dsn, setting string) {
		t.Helper()
		err := newDriver(t, sqlserver.Connect(t, on.driver, dsn), on.dialect, sqllock.Options{}).Check(t.Context())
		if bad, ok := errors.AsType[*sqllock.SettingError](err); !ok || bad.Setting != setting || !errors.Is(err, driver.ErrUnfit) {
			t.Errorf("%s: the check says %v", setting, err)
		}
	}
	run := func(statement string) {
		t.Helper()
		_, err := db.Exec(statement)
		must(t, err)
	}
	run("CREATE ROLE " + role + " LOGIN")
	run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + role)
	as := strings.Replace(on.dsn, "cronce@", role+"@", 1)
	refused(as, "privileges")
	run("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + role)
	run("REVOKE INSERT, UPDATE, DELETE ON cronce_version FROM " + role)
	must(t, newDriver(t, sqlserver.Connect(t, on.driver, as), on.dialect, sqllock.Options{}).Check(t.Context()))
	run("REVOKE DELETE ON cronce_places FROM " + role)
	refused(as, "privileges")
	run("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
	refused(on.dsn, "transaction_read_only")
}

// A server whose SYSDATE is the time at which the statement began is refused: there the clock would
// be read before the wait for a row.
func TestCheckSysdate(t *testing.T) {
	s := sqlserver.MariaDB(t, "--sysdate-is-now")
	d := newDriver(t, s.Open(t), sqllock.MySQL, sqllock.Options{})
	must(t, d.CreateTables(t.Context()))
	bad, ok := errors.AsType[*sqllock.SettingError](d.Check(t.Context()))
	if !ok || bad.Setting != "sysdate-is-now" {
		t.Errorf("the check says %v", bad)
	}
	if _, err := d.CheckStore(t.Context()); !errors.Is(err, driver.ErrUnfit) {
		t.Errorf("for a scheduler it is %v", err)
	}
}

// A setting that breaks a promise is named, to the ms, and in any one of the tables.
func TestCheckSettings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		open            func(testing.TB) database
		statement, want string
		old, new        string // in the data source name
	}{
		{open: sqlite, old: "busy_timeout(1000)", new: "busy_timeout(5000)"},
		{open: sqlite, old: "busy_timeout(1000)", new: "busy_timeout(5001)", want: "busy_timeout"},
		{open: sqlite, old: "busy_timeout(1000)", new: "query_only(on)", want: "query_only"},
		{open: mariadb, statement: "ALTER TABLE cronce_outputs ENGINE = MyISAM", want: "ENGINE"},
	} {
		on := row.open(t)
		if row.statement != "" {
			_, err := on.connect(t).Exec(row.statement)
			must(t, err)
		}
		on.dsn = strings.Replace(on.dsn, row.old, row.new, 1)
		err := newDriver(t, on.connect(t), on.dialect, sqllock.Options{}).Check(t.Context())
		if bad, ok := errors.AsType[*sqllock.SettingError](err); row.want == "" && err != nil || row.want != "" && (!ok || bad.Setting != row.want) {
			t.Errorf("%s %s: the check says %v", row.new, row.statement, err)
		}
	}
}

// A setting that a later version no longer has is not a bad setting.
func TestCheckMissingSetting(t *testing.T) {
	bad, err := sqllock.MissingSetting(t.Context(), sqlserver.SharedMariaDB(t).Open(t))
	if bad || err != nil {
		t.Errorf("the setting is bad: %v, %v", bad, err)
	}
}

// The tests run on MariaDB; MySQL understands all statements that are sent to MariaDB.
func TestStatementsAreMySQL(t *testing.T) {
	all, err := sqllock.Statements(sqllock.MySQL)
	must(t, err)
	if len(all) < 30 {
		t.Errorf("there are %d statements", len(all))
	}
	for _, s := range all {
		if bad := sqlserver.NotMySQL(s); bad != nil {
			t.Errorf("%q in %s", bad, s)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	db := sqlserver.Connect(t, "sqlite", ":memory:")
	for argument, make := range map[string]func() (*sqllock.Driver, error){
		"db":      func() (*sqllock.Driver, error) { return sqllock.New(nil, sqllock.SQLite, sqllock.Options{}) },
		"dialect": func() (*sqllock.Driver, error) { return sqllock.New(db, 0, sqllock.Options{}) },
		"Options.Namespace": func() (*sqllock.Driver, error) {
			return sqllock.New(db, sqllock.SQLite, sqllock.Options{Namespace: "a b"})
		},
		"Options.Tables": func() (*sqllock.Driver, error) {
			return sqllock.New(db, sqllock.SQLite, sqllock.Options{Tables: "other.cronce_"})
		},
		"Options.Inside": func() (*sqllock.Driver, error) {
			return sqllock.New(db, sqllock.SQLite, sqllock.Options{Inside: -1})
		},
		"Options.Listen": func() (*sqllock.Driver, error) {
			return sqllock.New(db, sqllock.SQLite, sqllock.Options{Listen: func(context.Context, string, func(string)) error { return nil }})
		},
		"Options.Poll": func() (*sqllock.Driver, error) { return sqllock.New(db, sqllock.SQLite, sqllock.Options{Poll: 1}) },
	} {
		_, err := make()
		if bad, ok := errors.AsType[*driver.ArgumentError](err); !ok || bad.Argument != argument {
			t.Errorf("%s: the error is %v", argument, err)
		}
	}
	most := sqllock.Options{Inside: 1000, Poll: time.Second}
	more, slower := most, most
	more.Inside++
	slower.Poll++
	for o, want := range map[*sqllock.Options]bool{&most: true, &more: false, &slower: false} {
		if _, err := sqllock.New(db, sqllock.SQLite, *o); (err == nil) != want {
			t.Errorf("%+v: the error is %v", *o, err)
		}
	}
}
