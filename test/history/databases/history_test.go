package databases_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/test/history"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

// A database is an empty database, and how to reach it.
type database struct {
	dialect     sqllock.Dialect
	driver, dsn string
}

var databases = map[string]func(t *testing.T) database{
	"PostgreSQL": func(t *testing.T) database { return on(t, sqlserver.SharedPostgres(t), sqllock.PostgreSQL) },
	"MariaDB":    func(t *testing.T) database { return on(t, sqlserver.SharedMariaDB(t), sqllock.MySQL) },
	"SQLite":     sqlite,
}

func on(t *testing.T, s *sqlserver.Server, dialect sqllock.Dialect) database {
	return database{dialect, s.Driver(), s.DSN(s.Create(t))}
}

func sqlite(t *testing.T) database {
	return database{sqllock.SQLite, "sqlite", "file:" + filepath.Join(t.TempDir(), "locks.db") +
		"?_pragma=busy_timeout(1000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"}
}

// open makes a driver with its tables, and the Lossy behind it.
func (d database) open(t *testing.T) (*sqllock.Driver, *sqlserver.Lossy) {
	t.Helper()
	db, lossy := sqlserver.OpenLossy(t, d.driver, d.dsn)
	store, err := sqllock.New(db, d.dialect, sqllock.Options{})
	if err == nil {
		err = store.CreateTables(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, lossy
}

// saw returns the requests of many clients of a driver for some time.
func saw(t *testing.T, d driver.Driver, length, pace time.Duration) []history.Op {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), pace*length)
	defer stop()
	ops := history.Crowd{Driver: func(int) driver.Driver { return d }, Timeout: time.Second, Pace: pace}.Run(ctx)
	t.Logf("%d requests", len(ops))
	return ops
}

func limits(t *testing.T) history.Limits {
	return history.Limits{Late: 2 * time.Second, Over: 200 * time.Millisecond, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
}

// A correct store could have given the answers that many clients got from each database, while it
// loses a reply, and the connection with it, again and again.
func TestHistory(t *testing.T) {
	t.Parallel()
	for name, empty := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, lossy := empty(t).open(t)
			stop := lossy.Again()
			ops, pace := history.Paced(6, func(pace time.Duration) []history.Op { return saw(t, store, 4*time.Second, pace) })
			stop()
			if !slices.ContainsFunc(ops, func(o history.Op) bool { return o.Outcome == history.Unknown }) {
				t.Error("nobody was in doubt")
			}
			if err := history.Check(ops, limits(t).At(pace)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The same checker, with the same limits, finds each planted fault.
func TestHistoryFindsPlanted(t *testing.T) {
	t.Parallel()
	for _, p := range history.Planted {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			store, lossy := sqlite(t).open(t)
			if p.Disturbed {
				defer lossy.Again()()
			}
			planted := p.Into(store)
			err := history.Find(6, limits(t), func(pace time.Duration) []history.Op { return saw(t, planted, 2*time.Second, pace) })
			if !history.Refuted(err) {
				t.Errorf("the fault was not found: %v", err)
			}
		})
	}
}
