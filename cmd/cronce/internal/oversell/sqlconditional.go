package oversell

import (
	"context"
	"database/sql"
)

// SQLConditional lets the database decide: UPDATE … WHERE stock >= 1 takes an item
// if there is one, in one statement, and the order is written in the same
// transaction. No buyer reads first, so there is nothing that could be out of date,
// and nothing to lock. The work is done before, for as many buyers at once as
// there are.
type SQLConditional struct {
	DB    *sql.DB
	Shelf *SQLShelf
	Work  Work
}

// Buy implements [Strategy].
func (s *SQLConditional) Buy(ctx context.Context, order string) error {
	if err := s.Work(ctx); err != nil {
		return err
	}
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing, after a commit
	taken, err := s.Shelf.take(ctx, tx, order)
	if err != nil {
		return err
	}
	if !taken {
		return ErrSoldOut
	}
	return tx.Commit()
}
