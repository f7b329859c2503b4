package stock

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// Release is one run of releaseExpired, with a lease and steps that the test
// decides about.
func Release(ctx context.Context, s *Sale, fence int64, step func(string) error) error {
	return s.release(ctx, testWork(fence, step))
}

func testWork(fence int64, step func(string) error) work {
	return work{fence: fence, check: func() error { return nil }, log: slog.New(slog.DiscardHandler), step: step}
}

// Settle is one run of settleOrders, with a lease and steps that the test decides
// about. It returns how many orders it has settled.
func Settle(ctx context.Context, s *Sale, b *Database, batch int, fence int64, step func(string) error) (int, error) {
	run := newSettler(withBook(s, b), batch, testWork(fence, step))
	err := run.run(ctx)
	return run.orders, err
}

// Reconciliation is one run of reconcile, with a lease and steps that the test decides about.
func Reconciliation(ctx context.Context, s *Sale, b *Database, fence int64, step func(string) error, log *slog.Logger) error {
	w := testWork(fence, step)
	if log != nil {
		w.log = log
	}
	return withBook(s, b).reconcile(ctx, w)
}

// Enter begins a transaction of settleOrders with a fence, and calls f in the
// middle of it.
func Enter(ctx context.Context, b *Database, s *Sale, fence int64, f func()) error {
	if _, err := b.book(ctx, s.ID()); err != nil {
		return err
	}
	return b.transact(ctx, s.ID(), func(tx *transaction) error {
		if _, err := tx.lockBook(ctx); err != nil {
			return err
		}
		if err := tx.enter(ctx, settling, fence); err != nil {
			return err
		}
		f()
		return nil
	})
}

// withBook returns a sale with a book: s, or another process of it.
func withBook(s *Sale, b *Database) *Sale {
	if s.options.Book != nil {
		return s
	}
	o := s.options
	o.Book = b
	kept, err := NewSale(s.client, o)
	if err != nil {
		panic(err)
	}
	return kept
}

// ParseRecord reads a record as it is stored.
func ParseRecord(id, line string) (Record, error) { return parseRecord(id, line) }

// Line is a record as it is stored.
func Line(r Record) (string, error) { return r.line() }

// SettleLogging is one run of settleOrders with a log.
func SettleLogging(ctx context.Context, s *Sale, b *Database, batch int, fence int64, log *slog.Logger) error {
	w := testWork(fence, nil)
	w.log = log
	return newSettler(withBook(s, b), batch, w).run(ctx)
}

// Statements are those that MySQL is sent, as far as they differ between the
// databases, and what makes its tables.
func Statements() ([]string, error) {
	tables, err := fs.ReadFile(migrations, "migrations/mysql/00001_tables.sql")
	book, err2 := fs.ReadFile(migrations, "migrations/mysql/00002_book.sql")
	checks, err3 := fs.ReadFile(migrations, "migrations/mysql/00003_balance.sql")
	prices, err4 := fs.ReadFile(migrations, "migrations/mysql/00004_price.sql")
	changes, err5 := fs.ReadFile(migrations, "migrations/mysql/00005_changes.sql")
	events, err6 := fs.ReadFile(migrations, "migrations/mysql/00009_events.sql")
	return []string{
		string(tables), string(book), string(checks), string(prices), string(changes), string(events), sqltext.UnlessThere(MySQL), sqltext.Bound(MySQL), MySQL.Raise("stock_fence", "sale", "job"),
		sqltext.Upsert(MySQL, "sale, sku", []string{"put_in"}), MySQL.Now(),
	}, errors.Join(err, err2, err3, err4, err5, err6)
}

// FirstTables makes the tables as the first version did.
func FirstTables(d Dialect) (string, error) {
	text, err := fs.ReadFile(migrations, "migrations/"+d.String()+"/00001_tables.sql")
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	return up, err
}

// Sweep deletes delivered events that are older than retention.
func Sweep(ctx context.Context, s *Sale, retention time.Duration) error {
	return s.options.Book.sweepEvents(ctx, s.ID(), retention)
}

// Refusals by their codes, and bounds.
var (
	ErrBuyerLimit = refusal("buyer-limit")
	ErrNotBegun   = refusal("not-begun")
	ErrEnded      = errEnded
	ErrUnpriced   = errUnpriced
	ErrConflict   = errConflict
	ErrUnpaid     = errUnpaid
	ErrRefunded   = errRefunded
	ErrReference  = errReference
	ErrPayments   = errPayments
	ErrTooLow     = errTooLow
	ErrFull       = errFull
)

const (
	MaxAmount        = maxAmount
	MaxItems         = maxItems
	MaxPayments      = maxPayments
	MaxProducts      = maxProducts
	MaxQuantity      = maxQuantity
	MaxReceiver      = maxReceiver
	MaxTotal         = maxTotal
	MaxBuyer         = maxBuyer
	DefaultRetention = defaultRetention
)
