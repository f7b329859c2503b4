package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/sqllock"
)

// A database is a database that the tests run on, and how to reach it.
type database struct {
	name        string
	dialect     sqllock.Dialect
	driver, dsn string
}

// each runs a test on every database in parallel, on a fresh one with the driver's tables: most
// tests wait for a clock. The tests already run in parallel to other tests.
func each(t *testing.T, f func(t *testing.T, d database)) {
	t.Parallel()
	var wg sync.WaitGroup
	for name, open := range map[string]func(testing.TB) database{
		"PostgreSQL": postgres, "MariaDB": mariadb, "SQLite": sqlite,
	} {
		wg.Go(func() { t.Run(name, func(t *testing.T) { f(t, open(t)) }) })
	}
	wg.Wait()
}

// The sessions of the servers have time zones of their own: all stored times are in UTC.
func postgres(t testing.TB) database {
	s := sqlserver.SharedPostgres(t)
	return made(t, database{"PostgreSQL", sqllock.PostgreSQL, s.Driver(), s.DSN(s.Create(t)) + "&timezone=Asia/Kolkata"})
}

func mariadb(t testing.TB) database {
	s := sqlserver.SharedMariaDB(t)
	return made(t, database{"MariaDB", sqllock.MySQL, s.Driver(), s.DSN(s.Create(t)) + "?time_zone=%27%2B05%3A30%27&interpolateParams=true"})
}

func sqlite(t testing.TB) database {
	file := filepath.Join(t.TempDir(), "locks.db")
	return made(t, database{"SQLite", sqllock.SQLite, "sqlite",
		"file:" + file + "?_pragma=busy_timeout(1000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"})
}

func made(t testing.TB, d database) database {
	t.Helper()
	must(t, newDriver(t, d.connect(t), d.dialect, sqllock.Options{}).CreateTables(t.Context()))
	return d
}

func (d database) connect(t testing.TB) *sql.DB {
	t.Helper()
	db := sqlserver.Connect(t, d.driver, d.dsn)
	db.SetMaxIdleConns(20)
	return db
}

// lossyOn opens the database so that replies can be lost.
func (d database) lossyOn(t testing.TB) (*sql.DB, *sqlserver.Lossy) {
	t.Helper()
	return sqlserver.OpenLossy(t, d.driver, d.dsn)
}

func newDriver(t testing.TB, db *sql.DB, dialect sqllock.Dialect, o sqllock.Options) *sqllock.Driver {
	t.Helper()
	d, err := sqllock.New(db, dialect, o)
	must(t, err)
	t.Cleanup(d.MaintenanceDone) // Close does not wait for a connection that is being opened
	return d
}

var namespaces atomic.Int64

func fresh() string { return fmt.Sprint("ns", namespaces.Add(1)) }

// waitOn waits until the database's clock has advanced by d.
func waitOn(t testing.TB, driver *sqllock.Driver, d time.Duration) {
	t.Helper()
	now := func() time.Time {
		rs, err := driver.Now(context.Background())
		must(t, err)
		return rs[0].Time
	}
	for until := now().Add(d); ; {
		left := until.Sub(now())
		if left <= 0 {
			return
		}
		<-time.After(left)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// texts returns all values of a query.
func texts(t testing.TB, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.Query(query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var all strings.Builder
	for rows.Next() {
		fields := make([]any, len(columns))
		for i := range fields {
			fields[i] = new(sql.NullString)
		}
		must(t, rows.Scan(fields...))
		for _, f := range fields {
			fmt.Fprintln(&all, f.(*sql.NullString).String)
		}
	}
	must(t, rows.Err())
	return all.String()
}
