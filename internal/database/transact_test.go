package database_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/internal/sqlserver"
)

// A transaction is there as a whole or not at all, also if the database can neither commit it nor roll it back: the next
// transaction begins on another connection.
func TestTransact(t *testing.T) {
	fails := errors.New("disk I/O error")
	for _, row := range []struct {
		name   string
		refuse string // the statement that the database refuses
		within error  // the error of the function
		rows   int
	}{
		{name: "committed", rows: 2},
		{name: "rolled back", within: fails, rows: 1},
		{name: "cannot be committed", refuse: "COMMIT", rows: 1},
		{name: "cannot be rolled back", refuse: "ROLLBACK", within: fails, rows: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			db, l := sqlserver.OpenLossy(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_txlock=immediate")
			db.SetMaxOpenConns(1)
			refused := false
			l.Before = func(query string) error {
				if query == row.refuse && !refused {
					refused = true
					return fails
				}
				return nil
			}
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE thing (id INTEGER)"); err != nil {
				t.Fatal(err)
			}
			insert := func(result error) error {
				return database.Transact(t.Context(), db, func(tx *sql.Tx) error {
					_, err := tx.ExecContext(t.Context(), "INSERT INTO thing (id) VALUES (1)")
					return errors.Join(err, result)
				})
			}
			if err := insert(row.within); (err != nil) != (row.rows == 1) {
				t.Errorf("the error is %v", err)
			}
			if err := insert(nil); err != nil {
				t.Errorf("the next one: %v", err)
			}
			rows := 0
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM thing").Scan(&rows); err != nil || rows != row.rows {
				t.Errorf("%d rows, want %d (%v)", rows, row.rows, err)
			}
		})
	}
}
