package stock

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// A Database stores orders in the tables product, orders and order_item. It may hold several sales,
// and may be used concurrently and by many processes.
type Database struct {
	db      *sql.DB
	dialect Dialect

	migrating sync.Mutex
	migrated  bool
}

// NewDatabase returns a Database. It sends nothing. The caller closes db. An SQLite
// database needs a busy timeout (_pragma=busy_timeout(5000)), and its transactions
// should take the lock at their beginning (_txlock=immediate). The error is a
// *FieldError if db is nil or the dialect unknown.
func NewDatabase(db *sql.DB, d Dialect) (*Database, error) {
	switch {
	case db == nil:
		return nil, fmt.Errorf("stock: new database: %w", &FieldError{"db", "nil", "a database"})
	case d > PostgreSQL:
		return nil, fmt.Errorf("stock: new database: %w", &FieldError{"dialect", strconv.Itoa(int(d)), "SQLite, MySQL or PostgreSQL"})
	}
	return &Database{db: db, dialect: d}, nil
}

// transact calls f in a transaction. A time limit of the database ends the transaction of a stopped
// process.
func (b *Database) transact(ctx context.Context, sale string, f func(tx *transaction) error) error {
	return database.Transact(ctx, b.db, func(tx *sql.Tx) error {
		if bound := sqltext.Bound(b.dialect); bound != "" {
			if _, err := tx.ExecContext(ctx, bound); err != nil {
				return fmt.Errorf("bound the transaction: %w", err)
			}
		}
		return f(&transaction{tx: tx, dialect: b.dialect, sale: sale})
	})
}

// A transaction writes rows of one sale.
type transaction struct {
	tx      *sql.Tx
	dialect Dialect
	sale    string
	events  outbox
}

// enter raises the stored fence to the run's, or returns ErrFenced if the stored one is higher.
func (tx *transaction) enter(ctx context.Context, job string, fence int64) error {
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Raise("stock_fence", "sale", "job"), tx.sale, job, fence); err != nil {
		return fmt.Errorf("raise the fence: %w", err)
	}
	var highest int64
	query := tx.dialect.Bind("SELECT fence FROM stock_fence WHERE sale = ? AND job = ?")
	if err := tx.tx.QueryRowContext(ctx, query, tx.sale, job).Scan(&highest); err != nil {
		return fmt.Errorf("read the fence: %w", err)
	}
	if fence < highest {
		return fmt.Errorf("fence %d, the database has seen %d: %w", fence, highest, ErrFenced)
	}
	return nil
}

// A row is the database's part of an order that a settlement compares.
type row struct {
	status   State
	placed   int64
	payments int64 // how many
}

// find returns the rows of the orders with these ids.
func (tx *transaction) find(ctx context.Context, ids []string) (map[string]row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	query, args := "SELECT id, status, placed_at, payments FROM orders WHERE sale = ? AND id IN ("+sqltext.Marks(len(ids))+")", argsOf(ids, tx.sale)
	if tx.dialect == PostgreSQL {
		query = "SELECT o.* FROM unnest(CAST($2 AS TEXT[])) AS wanted (id), " + // LIMIT makes the planner use the index for each key
			"LATERAL (SELECT id, status, placed_at, payments FROM orders WHERE sale = $1 AND orders.id = wanted.id LIMIT 1) AS o"
		args = []any{tx.sale, sqltext.Array(ids)}
	}
	found := make(map[string]row)
	err := eachRow(ctx, tx.tx, tx.dialect, query, args, func(rows *sql.Rows) error {
		var id string
		var r row
		err := rows.Scan(&id, &r.status, &r.placed, &r.payments)
		found[id] = r
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// write inserts the rows of a table in as few statements as possible. The suffix decides about
// existing rows.
func (tx *transaction) write(ctx context.Context, t *sqltext.Table, suffix string) error {
	return t.Write(ctx, tx.tx, tx.dialect, tx.sale, suffix)
}

//go:embed migrations
var migrations embed.FS

// Migrate creates or updates the tables; the jobs call it as well. Several nodes may call it at the
// same time. The database user must be allowed to create tables, unless they exist.
func (b *Database) Migrate(ctx context.Context) error {
	b.migrating.Lock()
	defer b.migrating.Unlock()
	if b.migrated {
		return nil
	}
	if err := database.Migrate(ctx, b.db, b.dialect, migrations, "stock_schema"); err != nil {
		return fmt.Errorf("stock: create or update the tables: %w", err)
	}
	b.migrated = true
	return nil
}

// A querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow calls f for each row of a query. F scans the row and must not use the database, because a
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

// textRows returns the result of a query of one text column.
func (b *Database) textRows(ctx context.Context, query string, args ...any) (all []string, err error) {
	err = eachRow(ctx, b.db, b.dialect, query, args, func(row *sql.Rows) error {
		var text string
		err := row.Scan(&text)
		all = append(all, text)
		return err
	})
	return all, err
}

// argsOf appends texts to the arguments of a query or a script.
func argsOf(texts []string, before ...any) []any {
	args := slices.Grow(before, len(texts))
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

// A Dialect is the kind of a database.
type Dialect = database.Dialect

// The dialects. The zero value is SQLite.
const (
	SQLite     = database.SQLite     // one host; open it with a busy timeout
	MySQL      = database.MySQL      // and MariaDB
	PostgreSQL = database.PostgreSQL // with any driver of database/sql
)
