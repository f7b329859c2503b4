package database_test

import (
	"database/sql"
	"embed"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/internal/database"
)

//go:embed testdata/migrations
var migrations embed.FS

// Nodes that start at once apply the same migrations of an SQLite database. One migration recreates
// a table to which a later one adds a column: each is applied once, so that no column is lost. A
// database in which an earlier version applied one twice is also brought up to date.
func TestMigrateAtOnce(t *testing.T) {
	const nodes = 4
	for _, before := range []string{"", "CREATE TABLE versions (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));" +
		"INSERT INTO versions (version_id, is_applied) VALUES (0, 1), (1, 1), (1, 1); CREATE TABLE thing (id INTEGER NOT NULL)"} {
		for range 4 {
			path := filepath.Join(t.TempDir(), "db")
			open := func() *sql.DB {
				db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				return db
			}
			if _, err := open().ExecContext(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			for range nodes {
				db := open()
				group.Go(func() {
					if err := database.Migrate(t.Context(), db, database.SQLite, within{migrations, "testdata/"}, "versions"); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if _, err := open().ExecContext(t.Context(), "INSERT INTO thing (id, more) VALUES (1, 2)"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// within is a file system that adds a folder in front of the names of another.
type within struct {
	fs.FS
	folder string
}

func (w within) Open(name string) (fs.File, error) { return w.FS.Open(w.folder + name) }
