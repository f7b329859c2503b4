package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// Transact calls f in a transaction. It commits the transaction if f returns nil, and otherwise rolls it back. If neither
// succeeds, it closes the connection: the next request on it would commit the rest of this one. A server of a Galera
// cluster without a majority refuses both. An error of the commit is doubt.
func Transact(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	conn, tx, err := begin(ctx, db)
	if err != nil {
		return err
	}
	defer conn.Close()
	committed := false
	defer func() {
		if !committed && tx.Rollback() != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	err = tx.Commit()
	committed = err == nil
	return err
}

// begin begins a transaction. It tries again if a connection of the pool is broken, as [sql.DB.BeginTx] does.
func begin(ctx context.Context, db *sql.DB) (*sql.Conn, *sql.Tx, error) {
	for tries := 1; ; tries++ {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil {
			return conn, tx, nil
		}
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) || tries == 3 {
			return nil, nil, err
		}
	}
}
