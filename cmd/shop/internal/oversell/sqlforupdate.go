package oversell

import (
	"context"
	"database/sql"
	"errors"
)

// SQLForUpdate locks the product's row in a transaction, reads, checks and writes, and commits. It
// is correct, but it holds a connection and a transaction during the work: one buyer per connection
// waits in the database, and a process that is paused holds the row until the database ends its
// transaction. SQLite has no row locks: BEGIN IMMEDIATE, which _txlock=immediate makes of Begin,
// locks the whole database.
type SQLForUpdate struct {
	DB    *sql.DB
	Shelf *SQLShelf
	Work  Work

	line
}

// Buy implements [Strategy].
func (s *SQLForUpdate) Buy(ctx context.Context, order string) error {
	waiting, stop := s.waiting(ctx)
	defer stop()
	conn, err := s.DB.Conn(waiting)
	if err != nil {
		return soldOut(errors.Join(err, context.Cause(waiting)))
	}
	defer conn.Close()
	return s.ended(s.sell(ctx, conn, order))
}

// sell reads, checks and writes in one transaction.
func (s *SQLForUpdate) sell(ctx context.Context, conn *sql.Conn, order string) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	left, err := s.Shelf.leftForUpdate(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.turn(); err != nil {
		return err
	}
	if left < 1 {
		return ErrSoldOut
	}
	if err := s.Work(ctx); err != nil {
		return err
	}
	if err := s.Shelf.write(ctx, tx, left-1, order); err != nil {
		return err
	}
	return tx.Commit()
}
