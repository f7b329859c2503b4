package reward

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/database"
	"github.com/cronce/cronce/lock/guard"
)

//go:embed migrations
var migrations embed.FS

// A Book is the table with the records. It may be used concurrently, and by many
// processes at once.
type Book struct {
	db                  *sql.DB
	find, raise, insert string
}

// Open creates the tables of a Book in a database, or brings them up to date, and
// returns the Book. Nodes may do so at the same moment. The caller closes db,
// whose user must be allowed to create tables, unless they are there already.
// An SQLite database needs a busy timeout (_pragma=busy_timeout(5000)). The error
// is a *FieldError if db is nil or the dialect unknown.
func Open(ctx context.Context, db *sql.DB, d Dialect) (*Book, error) {
	switch {
	case db == nil:
		return nil, fmt.Errorf("reward: open: %w", &FieldError{"db", "nil", "a database"})
	case d > PostgreSQL:
		return nil, fmt.Errorf("reward: open: %w", &FieldError{"dialect", strconv.Itoa(int(d)), "SQLite, MySQL or PostgreSQL"})
	}
	if err := database.Migrate(ctx, db, d, migrations, "reward_schema"); err != nil {
		return nil, fmt.Errorf("reward: open: create or update the tables: %w", err)
	}
	return &Book{db: db,
		find:   d.Bind("SELECT member, fence, recorded_at FROM reward_record WHERE family = ? AND reward = ?"),
		raise:  d.Raise("reward_fence", "family", "reward"),
		insert: insert(d),
	}, nil
}

// Find returns the record of a family and a reward, and whether there is one.
func (b *Book) Find(ctx context.Context, family, reward string) (Record, bool, error) {
	r := Record{Claim: Claim{Family: family, Reward: reward}}
	var at int64
	err := b.db.QueryRowContext(ctx, b.find, family, reward).Scan(&r.Member, &r.Fence, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("look for the record: %w", err)
	}
	r.At = time.UnixMilli(at).UTC()
	return r, true, nil
}

// enter brings a fence to the database before the first look: from then on no
// lower one writes.
func (b *Book) enter(ctx context.Context, c Claim, fence int64) error {
	if _, err := b.db.ExecContext(ctx, b.raise, c.Family, c.Reward, fence); err != nil {
		return fmt.Errorf("bring the fence: %w", err)
	}
	return nil
}

// record writes the record of a claim, unless there is one already, and returns
// the one that there is. It may be repeated.
func (b *Book) record(ctx context.Context, c Claim, fence int64) (Record, error) {
	if err := b.write(ctx, c, fence); err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	r, found, err := b.Find(ctx, c.Family, c.Reward)
	if err == nil && !found {
		err = fmt.Errorf("record under fence %d: %w", fence, guard.ErrStale)
	}
	return r, err
}

// write locks the row of the fence first: whoever brings a higher fence after
// that waits, and then finds the record.
func (b *Book) write(ctx context.Context, c Claim, fence int64) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing, after a commit
	if _, err := tx.ExecContext(ctx, b.raise, c.Family, c.Reward, fence); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, b.insert, c.Family, c.Reward, c.Member, fence, c.Family, c.Reward, fence); err != nil {
		return err
	}
	return tx.Commit()
}
