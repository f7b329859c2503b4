package oversell

import (
	"context"
	"database/sql"
)

// SQLConditional leaves the decision to the database: UPDATE … WHERE stock >= 1 takes an item if one
// is left, in one statement, and the same transaction writes the order. No buyer reads first, so no
// value can be out of date, and no lock is needed. The work comes before that, for all buyers at once.
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
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	taken, err := s.Shelf.take(ctx, tx, order)
	if err != nil {
		return err
	}
	if !taken {
		return ErrSoldOut
	}
	return tx.Commit()
}
