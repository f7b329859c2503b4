package sqllock_test

import (
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/sqllock"
)

// Many processes that start at once on an empty database make its tables.
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
