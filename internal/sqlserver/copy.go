package sqlserver

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
)

// Copy creates a database with the tables and rows of another, and returns its name: that is faster
// than to make its tables step by step. Nothing may be connected to the other. It has tables alone,
// without columns that the server computes. Many tests may call it at once.
func (s *Server) Copy(t testing.TB, database string) string {
	t.Helper()
	name, err := "", error(nil)
	if s.kind == postgres {
		name, err = s.create(t.Context(), " TEMPLATE "+database)
	} else {
		name = s.Create(t)
		err = s.copyTables(t.Context(), database, name)
	}
	if err != nil {
		t.Fatalf("sqlserver: copy the database %s: %v", database, err)
	}
	return name
}

// copyTables copies the tables of a MariaDB, which knows no copies of databases.
func (s *Server) copyTables(ctx context.Context, from, to string) error {
	db, err := sql.Open(s.kind.driver, s.DSN(to)+"?foreign_key_checks=0") // a table may refer to a later one
	if err != nil {
		return err
	}
	defer db.Close()
	tables, err := column(ctx, db, "SHOW TABLES FROM "+from)
	if err != nil {
		return err
	}
	for _, table := range tables {
		var name, definition string
		source := from + "." + table
		if err := db.QueryRowContext(ctx, "SHOW CREATE TABLE "+source).Scan(&name, &definition); err != nil {
			return err
		}
		for _, statement := range []string{definition, "INSERT INTO " + table + " SELECT * FROM " + source} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
	}
	return nil
}

// column returns the texts that a query finds.
func column(ctx context.Context, db *sql.DB, query string) (found []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		found = append(found, text)
	}
	return found, rows.Err()
}
