package rewarddemo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
)

// errTaken is the error of code that reads first: it does not know which member has the reward.
var errTaken = errors.New("refused: the family has it")

// A naiveBook records rewards like most first versions: it reads whether there is a record, and
// writes one if not. No lock prevents another claim between the two steps, and no unique key
// refuses a second record.
type naiveBook struct {
	db   *sql.DB
	work func() // runs between reading and recording
}

func newNaiveBook(ctx context.Context, db *sql.DB, work func()) (*naiveBook, error) {
	_, err := db.ExecContext(ctx, "CREATE TABLE naive_record (family TEXT, reward TEXT, member TEXT)")
	if err != nil {
		return nil, fmt.Errorf("make the table: %w", err)
	}
	return &naiveBook{db: db, work: work}, nil
}

func (b *naiveBook) claim(ctx context.Context, family, reward, member string) error {
	n, err := b.records(ctx)
	if err != nil {
		return err
	}
	if n > 0 {
		return errTaken
	}
	b.work()
	_, err = b.db.ExecContext(ctx, "INSERT INTO naive_record (family, reward, member) VALUES (?, ?, ?)", family, reward, member)
	return err
}

func (b *naiveBook) records(ctx context.Context) (n int, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM naive_record").Scan(&n)
	return n, err
}

// together returns work that ends after n calls have begun it, so that all n callers have read
// before any of them writes.
func together(ctx context.Context, n int32) func() {
	var begun atomic.Int32
	allRead := make(chan struct{})
	return func() {
		if begun.Add(1) == n {
			close(allRead)
		}
		select {
		case <-allRead:
		case <-ctx.Done():
		}
	}
}
