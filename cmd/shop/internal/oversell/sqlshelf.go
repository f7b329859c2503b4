package oversell

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock/guard"
)

// Tables are the tables of a run's products in a database. Their names begin with the run's.
type Tables struct {
	DB      *sql.DB
	Dialect Dialect
	Run     string // letters, digits and _
}

func (t Tables) productTable() string { return t.Run + "_product" }
func (t Tables) orderTable() string   { return t.Run + "_order" }

// Create makes the tables.
func (t Tables) Create(ctx context.Context) error {
	for _, q := range []string{
		"CREATE TABLE " + t.productTable() + " (name VARCHAR(64) PRIMARY KEY, stock BIGINT NOT NULL, fence BIGINT NOT NULL)",
		"CREATE TABLE " + t.orderTable() + " (id VARCHAR(64) PRIMARY KEY, product VARCHAR(64) NOT NULL)",
	} {
		if _, err := t.DB.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("create a table for the sale: %w", err)
		}
	}
	return nil
}

// Drop removes the tables.
func (t Tables) Drop(ctx context.Context) error {
	_, first := t.DB.ExecContext(ctx, "DROP TABLE "+t.productTable())
	_, second := t.DB.ExecContext(ctx, "DROP TABLE "+t.orderTable())
	return errors.Join(first, second)
}

// Shelf returns the shelf of one product.
func (t Tables) Shelf(product string) *SQLShelf {
	return &SQLShelf{Tables: t, product: product}
}

// A SQLShelf keeps a product in a database: a row for it, and one for each order.
type SQLShelf struct {
	Tables
	product string
}

// conn executes statements: a database or a transaction.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *SQLShelf) exec(ctx context.Context, c conn, query string, args ...any) (sql.Result, error) {
	return c.ExecContext(ctx, s.Dialect.Bind(query), args...)
}

func (s *SQLShelf) number(ctx context.Context, c conn, query string, args ...any) (n int, err error) {
	err = c.QueryRowContext(ctx, s.Dialect.Bind(query), args...).Scan(&n)
	return n, err
}

// Fill implements [Shelf].
func (s *SQLShelf) Fill(ctx context.Context, stock int) error {
	_, first := s.exec(ctx, s.DB, "DELETE FROM "+s.orderTable()+" WHERE product = ?", s.product)
	_, second := s.exec(ctx, s.DB, "DELETE FROM "+s.productTable()+" WHERE name = ?", s.product)
	_, third := s.exec(ctx, s.DB, "INSERT INTO "+s.productTable()+" (name, stock, fence) VALUES (?, ?, 0)", s.product, stock)
	return errors.Join(first, second, third)
}

// Left implements [Shelf].
func (s *SQLShelf) Left(ctx context.Context) (int, error) {
	return s.number(ctx, s.DB, "SELECT stock FROM "+s.productTable()+" WHERE name = ?", s.product)
}

// Orders implements [Shelf].
func (s *SQLShelf) Orders(ctx context.Context) (int, error) {
	return s.number(ctx, s.DB, "SELECT COUNT(*) FROM "+s.orderTable()+" WHERE product = ?", s.product)
}

// ReadLeft implements [GuardedShelf]. It writes the fence before it reads the stock: a write with a
// lower fence has either happened before, and is read, or is refused.
func (s *SQLShelf) ReadLeft(ctx context.Context, fence int64) (int, error) {
	r, err := s.exec(ctx, s.DB, "UPDATE "+s.productTable()+" SET fence = ? WHERE name = ? AND "+guard.Condition("fence", "?"), fence, s.product, fence)
	if err != nil {
		return 0, err
	}
	if err := guard.Written(r); err != nil {
		return 0, err
	}
	return s.Left(ctx)
}

// Sell implements [GuardedShelf].
func (s *SQLShelf) Sell(ctx context.Context, fence int64, left int, order string) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	r, err := s.exec(ctx, tx, "UPDATE "+s.productTable()+" SET stock = ?, fence = ? WHERE name = ? AND "+guard.Condition("fence", "?"),
		left, fence, s.product, fence)
	if err != nil {
		return err
	}
	if err := guard.Written(r); err != nil {
		return err
	}
	if err := s.order(ctx, tx, order); err != nil {
		return err
	}
	return tx.Commit()
}

// leftForUpdate reads the stock and locks its row until the transaction ends.
func (s *SQLShelf) leftForUpdate(ctx context.Context, tx *sql.Tx) (int, error) {
	query := "SELECT stock FROM " + s.productTable() + " WHERE name = ?"
	if s.Dialect != SQLite { // a transaction of SQLite locks the whole database
		query += " FOR UPDATE"
	}
	return s.number(ctx, tx, query, s.product)
}

// write writes the number of items left, and an order.
func (s *SQLShelf) write(ctx context.Context, tx *sql.Tx, left int, order string) error {
	if _, err := s.exec(ctx, tx, "UPDATE "+s.productTable()+" SET stock = ? WHERE name = ?", left, s.product); err != nil {
		return err
	}
	return s.order(ctx, tx, order)
}

// take takes an item for an order, if there is one.
func (s *SQLShelf) take(ctx context.Context, tx *sql.Tx, order string) (bool, error) {
	r, err := s.exec(ctx, tx, "UPDATE "+s.productTable()+" SET stock = stock - 1 WHERE name = ? AND stock >= 1", s.product)
	if err != nil {
		return false, err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, s.order(ctx, tx, order)
}

func (s *SQLShelf) order(ctx context.Context, tx *sql.Tx, order string) error {
	_, err := s.exec(ctx, tx, "INSERT INTO "+s.orderTable()+" (id, product) VALUES (?, ?)", order, s.product)
	return err
}
