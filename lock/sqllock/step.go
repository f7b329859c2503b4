package sqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// A session is what statements are sent on: the database, or a transaction.
type session interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ask sends what stands alone on a connection, again if the database took it back.
func ask[T any](ctx context.Context, d *Driver, do func(session) (T, error)) (T, error) {
	return again(ctx, func() (T, error) {
		return connected(ctx, d.db, func(conn *sql.Conn) (T, error) { return do(conn) })
	})
}

// step does something in one transaction, again if the database took it back.
func step[T any](ctx context.Context, d *Driver, do func(session) (T, error)) (T, error) {
	return again(ctx, func() (T, error) {
		return connected(ctx, d.db, func(conn *sql.Conn) (T, error) {
			if d.grammar.dialect == SQLite {
				return immediately(ctx, conn, do)
			}
			return transaction(ctx, conn, do)
		})
	})
}

// connected does something on a connection, and does not use it again if its
// session is not usable: after a failover the pool may be full of those.
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

// transaction sees at each statement what was committed before it, also where
// it had to wait for a row.
func transaction[T any](ctx context.Context, conn *sql.Conn, do func(session) (T, error)) (T, error) {
	var zero T
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return zero, notDone(err)
	}
	v, err := do(tx)
	if err != nil {
		_ = tx.Rollback() // else the connection is dropped, which does the same
		return zero, notDone(broken(err))
	}
	if err := tx.Commit(); err != nil {
		return zero, broken(err)
	}
	return v, nil
}

// broken is err, but not driver.ErrBadConn, with which again would begin anew: a caller
// that stood still in a transaction until it was taken back gets the error.
func broken(err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return errors.New("the connection broke in the middle of a transaction")
	}
	return err
}

// immediately is a transaction of SQLite that has the only writer's lock from
// its beginning.
func immediately[T any](ctx context.Context, conn *sql.Conn, do func(session) (T, error)) (T, error) {
	var zero T
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		drop(ctx, conn) // it may have begun
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

// drop takes back what a connection has begun. A connection of which that is not
// certain is not used again.
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

// yield sends one statement made by grammar.yielding. The value is 0 if no row
// fits; no value is.
func (d *Driver) yield(ctx context.Context, text string, args ...any) (int64, error) {
	return ask(ctx, d, func(s session) (value int64, err error) {
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
