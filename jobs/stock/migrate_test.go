package stock_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Several processes make the tables of one SQLite file at the same moment: each
// migration is applied once, so that none takes away what a later one has added.
func TestMigrateTogether(t *testing.T) {
	for range 5 {
		dsn := sqliteDSN(filepath.Join(t.TempDir(), "db"))
		var group sync.WaitGroup
		for range 4 {
			p := newPlace(t, sqlserver.Connect(t, "sqlite", dsn), stock.SQLite)
			group.Go(func() {
				if err := p.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		p := newPlace(t, sqlserver.Connect(t, "sqlite", dsn), stock.SQLite)
		p.wantLines(t, "SELECT version_id, COUNT(*) FROM stock_schema WHERE version_id > 0 GROUP BY version_id HAVING COUNT(*) > 1")
		p.wantLines(t, "SELECT price, oversold FROM product")
	}
}
