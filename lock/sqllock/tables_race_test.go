package sqllock_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// Many processes that start at once on an empty database create its tables.
func TestTablesAreMadeByMany(t *testing.T) {
	s := sqlserver.SharedPostgres(t)
	for range 20 {
		dsn := s.DSN(s.Create(t))
		var wg sync.WaitGroup
		for range 4 {
			db := sqlserver.Connect(t, s.Driver(), dsn)
			d, err := sqllock.New(db, sqllock.PostgreSQL, sqllock.Options{})
			must(t, err)
			wg.Go(func() {
				if err := d.CreateTables(t.Context()); err != nil {
					t.Errorf("%+v", err)
				}
			})
		}
		wg.Wait()
	}
}

// On MySQL, where each statement about tables commits itself, a process that is killed after any of
// them leaves tables that the next process completes.
func TestTablesAreCompleted(t *testing.T) {
	t.Parallel()
	s := sqlserver.SharedMariaDB(t)
	db := sqlserver.Connect(t, s.Driver(), s.DSN(s.Create(t)))
	d := newDriver(t, db, sqllock.MySQL, sqllock.Options{})
	all, err := d.MakeTables(t.Context(), 0)
	must(t, err)
	for n := range all + 1 {
		_, err := d.MakeTables(t.Context(), n)
		must(t, err)
		if err := d.CreateTables(t.Context()); err != nil {
			t.Errorf("cut off behind %d of %d statements: %v", n, all, err)
		}
		must(t, d.Check(t.Context()))
		for table := range strings.FieldsSeq(tables + " cronce_version") {
			_, err := db.Exec("DROP TABLE " + table)
			must(t, err)
		}
	}
}

// Tables with another name, and on PostgreSQL in a schema, work like the tables with the usual
// name, and do not need those to exist. Created again, they are left unchanged.
func TestTablesOfAnotherName(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		for table := range strings.FieldsSeq(tables + " cronce_version") {
			_, err := db.Exec("DROP TABLE " + table)
			must(t, err)
		}
		names := "app_"
		if on.dialect == sqllock.PostgreSQL {
			_, err := db.Exec("CREATE SCHEMA other")
			must(t, err)
			names = "other.app_"
		}
		d := newDriver(t, db, on.dialect, sqllock.Options{Tables: names})
		must(t, d.CreateTables(t.Context()))
		must(t, d.CreateTables(t.Context()))
		must(t, d.Check(t.Context()))
		a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		served := make(chan error, 1)
		go func() {
			_, err := d.Wait(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: minute})
			served <- err
		}()
		eventually(t, "it waits", func() bool {
			at, err := d.Inspect(t.Context(), "key")
			return err == nil && at.Waiting == 1
		})
		d.MaintenanceDue()
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}))
		must(t, <-served)
		d.MaintenanceDone()
		must(t, d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Err)
		_, err = d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute})
		must(t, err)
	})
}
