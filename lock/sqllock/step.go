package sqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// A session sends statements: it is the database, or a transaction.
type session interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// withSession calls do with a connection. It repeats the call if the database rolled the request back.
func withSession[T any](ctx context.Context, d *Driver, do func(session) (T, error)) (T, error) {
	return retry(ctx, func() (T, error) {
		return connected(ctx, d.db, func(conn *sql.Conn) (T, error) { return do(conn) })
	})
}

// step calls do in one transaction. It repeats the transaction if the database rolled it back.
func step[T any](ctx context.Context, d *Driver, do func(session) (T, error)) (T, error) {
	return retry(ctx, func() (T, error) {
		return connected(ctx, d.db, func(conn *sql.Conn) (T, error) {
			if d.grammar.dialect == SQLite {
				return immediately(ctx, conn, do)
			}
			return transaction(ctx, conn, do)
		})
	})
}

// connected calls do with a connection. If the session of the connection is not usable, the
// connection is closed: after a failover the pool may be full of such connections.
func connected[T any](ctx context.Context, db *sql.DB, do func(*sql.Conn) (T, error)) (T, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		var zero T
		return zero, notDone(err)
	}
	defer conn.Close()
	v, err := do(conn)
	if unusable(err) {
		discard(conn)
	}
	return v, err
}

// discard makes the pool close a connection.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// transaction calls do in a transaction. Each statement sees the changes that were committed before
// it, even if it had to wait for a row.
func transaction[T any](ctx context.Context, conn *sql.Conn, do func(session) (T, error)) (T, error) {
	var zero T
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return zero, notDone(err)
	}
	v, err := do(tx)
	if err != nil {
		if tx.Rollback() != nil {
			discard(conn) // with an open transaction it must not serve another request
		}
		return zero, notDone(broken(err))
	}
	if err := tx.Commit(); err != nil {
		discard(conn)
		return zero, broken(err)
	}
	return v, nil
}

// broken returns err, but replaces driver.ErrBadConn, after which again would start over: a caller
// that stood still in a transaction until the database rolled it back must get the error.
func broken(err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return errors.New("the connection broke in the middle of a transaction")
	}
	return err
}

// immediately calls do in a transaction of SQLite that holds the lock of the only writer from its
// beginning.
func immediately[T any](ctx context.Context, conn *sql.Conn, do func(session) (T, error)) (T, error) {
	var zero T
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		drop(ctx, conn) // the transaction may have begun
		return zero, notDone(err)
	}
	v, err := do(conn)
	if err != nil {
		drop(ctx, conn)
		return zero, notDone(err)
	}
	if _, err = conn.ExecContext(ctx, "COMMIT"); err != nil {
		drop(ctx, conn)
		return zero, err
	}
	return v, nil
}

// drop rolls back the transaction of a connection. If that fails, the connection is closed.
func drop(ctx context.Context, conn *sql.Conn) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		discard(conn)
	}
}

// exec sends one statement and returns how many rows it changed.
func exec(ctx context.Context, s session, text string, args ...any) (int64, error) {
	r, err := s.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// yield sends one statement made by grammar.yielding. It returns 0 if no row matches; no column is
// ever set to 0.
func (d *Driver) yield(ctx context.Context, text string, args ...any) (int64, error) {
	return withSession(ctx, d, func(s session) (value int64, err error) {
		if d.grammar.dialect == MySQL {
			r, err := s.ExecContext(ctx, text, args...)
			if err != nil {
				return 0, err
			}
			return r.LastInsertId()
		}
		err = s.QueryRowContext(ctx, text, args...).Scan(&value)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		return value, err
	})
}

func micros(d time.Duration) int64 { return d.Microseconds() }
