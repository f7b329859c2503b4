package stock

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

// A book is the database's description of a sale's shelf.
type book struct {
	identity string // random id of the database
	epoch    string // of the shelf that is built from it
	mark     int64  // number of the last settlement; 0 before the first
	changes  int64  // number of changes of the epoch that the book has at least
	products int64  // number of products before the first settlement; 0 after it
}

// book reads the book of a sale, and creates it if it does not exist.
func (b *Database) book(ctx context.Context, sale string) (book, error) {
	if err := b.Migrate(ctx); err != nil {
		return book{}, err
	}
	found, err := b.readBook(ctx, sale)
	if errors.Is(err, sql.ErrNoRows) {
		if err = b.beginBook(ctx, sale); err == nil {
			found, err = b.readBook(ctx, sale)
		}
	}
	if err != nil {
		return book{}, fmt.Errorf("stock: read the book: %w", err)
	}
	return found, nil
}

func (b *Database) readBook(ctx context.Context, sale string) (found book, err error) {
	query := b.dialect.Bind("SELECT i.id, k.epoch, k.mark, k.changes, CASE k.mark WHEN 0 THEN (SELECT COUNT(*) FROM product WHERE sale = k.sale) ELSE 0 END" +
		" FROM stock_identity i, stock_book k WHERE k.sale = ?")
	err = b.db.QueryRowContext(ctx, query, sale).Scan(&found.identity, &found.epoch, &found.mark, &found.changes, &found.products)
	return found, err
}

// beginBook creates the identity of the database and the book of the sale. Existing rows stay as
// they are.
func (b *Database) beginBook(ctx context.Context, sale string) error {
	insert, ignored := "INSERT INTO ", " ON CONFLICT DO NOTHING"
	if b.dialect == MySQL {
		insert, ignored = "INSERT IGNORE INTO ", ""
	}
	if _, err := b.db.ExecContext(ctx, b.dialect.Bind(insert+"stock_identity (single, id) VALUES (1, ?)"+ignored), rand.Text()); err != nil {
		return err
	}
	_, err := b.db.ExecContext(ctx, b.dialect.Bind(insert+"stock_book (sale, epoch, mark) VALUES (?, ?, 0)"+ignored), sale, rand.Text())
	return err
}

// A position is the place in the book at which a transaction writes.
type position struct {
	epoch   string
	mark    int64 // number of the settlement; 0: not a settlement
	changes int64 // number of changes that the store had acknowledged
}

// moveBook moves the book to a position and locks its row until the transaction ends. It must be
// the first statement that reads, because a MySQL transaction sees all rows as of its first read.
func (tx *transaction) moveBook(ctx context.Context, to position) error {
	at, err := tx.lockBook(ctx)
	switch {
	case err != nil:
		return err
	case at.epoch != to.epoch:
		return fmt.Errorf("the shelf was rebuilt since: %w", ErrStockUnknown)
	case to.mark != 0 && to.mark < at.mark:
		return fmt.Errorf("settlement %d comes after %d: %w", to.mark, at.mark, ErrStockUnknown)
	case to.mark <= at.mark && to.changes <= at.changes:
		return nil
	}
	query := tx.dialect.Bind("UPDATE stock_book SET mark = ?, changes = ? WHERE sale = ?")
	if _, err := tx.tx.ExecContext(ctx, query, max(to.mark, at.mark), max(to.changes, at.changes), tx.sale); err != nil {
		return fmt.Errorf("write the book: %w", err)
	}
	return nil
}

// lockBook reads the position of the book and locks its row until the transaction ends.
func (tx *transaction) lockBook(ctx context.Context) (at position, err error) {
	query := "SELECT epoch, mark, changes, events, seq FROM stock_book WHERE sale = ?"
	if tx.dialect != SQLite { // a transaction of SQLite locks the whole database
		query += " FOR UPDATE"
	}
	if err := tx.tx.QueryRowContext(ctx, tx.dialect.Bind(query), tx.sale).Scan(&at.epoch, &at.mark, &at.changes, &tx.events.wanted, &tx.events.seq); err != nil {
		return position{}, fmt.Errorf("read the book: %w", err)
	}
	return at, nil
}

// newEpoch begins a new epoch in the book, if f agrees. Transactions of the previous epoch can
// write no more. It calls f with the previous book while the row is locked, so that two concurrent
// rebuilds run in the same order in the book and in the store.
func (b *Database) newEpoch(ctx context.Context, sale string, f func(before book, epoch string) error) (epoch string, err error) {
	before, err := b.book(ctx, sale)
	if err != nil {
		return "", err
	}
	epoch = rand.Text()
	err = b.transact(ctx, sale, func(tx *transaction) error {
		at, err := tx.lockBook(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_book SET epoch = ?, changes = 0 WHERE sale = ?"), epoch, sale); err != nil {
			return err
		}
		before.epoch, before.mark, before.changes = at.epoch, at.mark, at.changes
		return f(before, epoch)
	})
	return epoch, err
}
