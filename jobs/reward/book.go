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

	offer, list, accept, deliver, withdraw string
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
		find:   d.Bind("SELECT " + recordColumns + " FROM reward_record WHERE family = ? AND reward = ?"),
		raise:  d.Raise("reward_fence", "family", "reward"),
		insert: insert(d),

		offer:    offer(d),
		list:     d.Bind("SELECT " + recordColumns + " FROM reward_record WHERE family = ? AND reward > ? ORDER BY reward LIMIT ?"),
		accept:   step(d, "state = 'claimed', recorded_at = "+d.Now()+", member = ?, fence = ?", "'offered'"),
		deliver:  step(d, "state = 'delivered', delivered_at = "+d.Now(), "'claimed'"),
		withdraw: step(d, "state = 'withdrawn', withdrawn_at = "+d.Now(), "'offered', 'claimed'"),
	}, nil
}

// recordColumns are the columns that scan reads.
const recordColumns = "reward, member, fence, recorded_at, state, offered_at, delivered_at, withdrawn_at"

// scan reads a record of a family.
func scan(family string, row interface{ Scan(into ...any) error }) (Record, error) {
	r := Record{Claim: Claim{Family: family}}
	var at [4]int64
	if err := row.Scan(&r.Reward, &r.Member, &r.Fence, &at[0], &r.State, &at[1], &at[2], &at[3]); err != nil {
		return Record{}, err
	}
	for i, t := range []*time.Time{&r.At, &r.Offered, &r.Delivered, &r.Withdrawn} {
		if at[i] != 0 {
			*t = time.UnixMilli(at[i]).UTC()
		}
	}
	return r, nil
}

// MaxList bounds the records that List returns.
const MaxList = 1000

// List returns up to limit (1 to MaxList) records of a family behind a reward ("": from the first).
// They are in the order of their rewards' bytes, in PostgreSQL in that of the database's collation.
// The next page begins behind the last record's reward.
func (b *Book) List(ctx context.Context, family, after string, limit int) ([]Record, error) {
	if limit < 1 || limit > MaxList {
		return nil, fmt.Errorf("reward: list: %w", &FieldError{"limit", strconv.Itoa(limit), fmt.Sprintf("1 to %d", MaxList)})
	}
	if after != "" && !idPattern.MatchString(after) {
		return nil, fmt.Errorf("reward: list: %w", &FieldError{"after", strconv.Quote(cut(after)), idAllowed})
	}
	if !idPattern.MatchString(family) {
		return nil, fmt.Errorf("reward: list: %w", &FieldError{"family", strconv.Quote(Mask(family)), idAllowed})
	}
	rows, err := b.db.QueryContext(ctx, b.list, family, after, limit)
	if err != nil {
		return nil, fmt.Errorf("reward: list: %w", err)
	}
	defer rows.Close()
	var all []Record
	for rows.Next() {
		r, err := scan(family, rows)
		if err != nil {
			return nil, fmt.Errorf("reward: list: %w", err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reward: list: %w", err)
	}
	return all, nil
}

// Find returns the record of a family and a reward, and whether it exists.
func (b *Book) Find(ctx context.Context, family, reward string) (Record, bool, error) {
	r, err := scan(family, b.db.QueryRowContext(ctx, b.find, family, reward))
	if errors.Is(err, sql.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("read the record: %w", err)
	}
	return r, true, nil
}

// enter stores a fence in the database before the first read: from then on no lower fence writes.
func (b *Book) enter(ctx context.Context, c Claim, fence int64) error {
	if _, err := b.db.ExecContext(ctx, b.raise, c.Family, c.Reward, fence); err != nil {
		return fmt.Errorf("raise the fence: %w", err)
	}
	return nil
}

// record writes the record of a claim unless one exists, and returns the existing one. It may be
// repeated. Fresh allows a reward that was not offered.
func (b *Book) record(ctx context.Context, c Claim, fence int64, fresh bool) (Record, error) {
	steps := []statement{{b.accept, []any{c.Member, fence, c.Family, c.Reward, c.Family, c.Reward, fence}}}
	if fresh {
		steps = append(steps, statement{b.insert, []any{c.Family, c.Reward, c.Member, fence, c.Family, c.Reward, fence}})
	}
	if err := b.write(ctx, c, fence, steps...); err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	r, found, err := b.Find(ctx, c.Family, c.Reward)
	if err == nil && !claimed(r, found) {
		err = fmt.Errorf("record under fence %d: %w", fence, guard.ErrStale)
	}
	return r, err
}

// claimed reports whether a reward is no longer available: it was claimed or withdrawn.
func claimed(r Record, found bool) bool { return found && r.State != Offered }

// move makes a step of a record, and returns the new record. It may be repeated.
func (b *Book) move(ctx context.Context, c Claim, fence int64, query string) (Record, error) {
	err := b.write(ctx, c, fence, statement{query, []any{c.Family, c.Reward, c.Family, c.Reward, fence}})
	if err != nil {
		return Record{}, err
	}
	r, _, err := b.Find(ctx, c.Family, c.Reward)
	return r, err
}

type statement struct {
	query string
	args  []any
}

// write locks the row of the fence first. A claim with a higher fence waits for the lock, and then
// finds the record.
func (b *Book) write(ctx context.Context, c Claim, fence int64, steps ...statement) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	if _, err := tx.ExecContext(ctx, b.raise, c.Family, c.Reward, fence); err != nil {
		return err
	}
	for _, s := range steps {
		if _, err := tx.ExecContext(ctx, s.query, s.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
