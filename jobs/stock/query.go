package stock

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// A querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow calls f for each row that a query finds. F scans the row, and asks the database for nothing: a
// transaction has one connection.
func eachRow(ctx context.Context, q querier, d Dialect, query string, args []any, f func(row *sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, d.Bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// textRows reads what a query of one column of text finds.
func (b *Database) textRows(ctx context.Context, query string, args ...any) (all []string, err error) {
	err = eachRow(ctx, b.db, b.dialect, query, args, func(row *sql.Rows) error {
		var text string
		err := row.Scan(&text)
		all = append(all, text)
		return err
	})
	return all, err
}

// argsOf are arguments for texts, of a query or a script, and those that stand before them.
func argsOf(texts []string, before ...any) []any {
	args := slices.Grow(before, len(texts))
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}
