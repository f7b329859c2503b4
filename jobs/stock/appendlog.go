package stock

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock/internal/appendlog"
	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An AppendLog holds the orders of a sale that an append log of Redis names.
type AppendLog struct {
	// Read and NotRead are the names of the files that were read, and of those with a snapshot in RDB
	// form, whose orders are not known. A file that begins with a snapshot and goes on with commands is
	// in both.
	Read, NotRead []string
	// Earlier is the number of records that are left out because the shelf was rebuilt after them:
	// those orders were settled, or an earlier rebuild has listed them as lost.
	Earlier int

	records map[string]string // by order id: the last record that was not deleted
}

// Orders returns the number of orders in the log, including those that the book has.
func (l *AppendLog) Orders() int { return len(l.records) }

// ReadAppendLog reads the records of the sale's orders from an append log. The path is a folder
// (appenddirname) with the manifest and the files that it names, or one file. FLUSHALL and FLUSHDB
// remove no record that was written before them: these records are the purpose of the call. A
// completed rebuild of the shelf is a border: orders before it were settled, or lost earlier.
//
// The end of the last file may be missing, as Redis itself allows. Other damage is an error that
// names the file and the offset. A log that consists of a snapshot alone is an error.
//
// It holds one record per order of the log, and one transaction, in memory.
func (s *Sale) ReadAppendLog(ctx context.Context, path string) (*AppendLog, error) {
	l, err := appendlog.Read(ctx, path, appendlog.Sale{Orders: s.key(keyOrder), Shelf: s.key(keyShelf), DB: selectedDB(s.client)})
	if err != nil {
		return nil, fmt.Errorf("stock: read append log: %w", err)
	}
	return &AppendLog{Read: l.Read, NotRead: l.NotRead, Earlier: l.Earlier, records: l.Records}, nil
}

// selectedDB returns the number of the database that a client uses.
func selectedDB(client redis.UniversalClient) int {
	if c, ok := client.(*redis.Client); ok {
		return c.Options().DB
	}
	return 0 // a cluster has no other
}

// join adds the orders of a log to those that the store still has. It adds an order if the book
// lacks it or has it in an earlier state. Where the store has the order as far as the log, the
// store's record is kept. Orders that wait for an operator's decision, or that an operator has
// decided about, are left out.
func (s *Sale) join(ctx context.Context, log *AppendLog, got *batch) error {
	disputes, err := s.Disputes(ctx)
	if err != nil {
		return err
	}
	passed := map[string]bool{}
	for _, d := range disputes {
		passed[d.ID] = true
	}
	for _, u := range got.unread {
		passed[u.id] = true
	}
	at := map[string]int{} // index in got.records, by order id
	for i, r := range got.records {
		at[r.ID] = i
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(log.records)), maxBatch) {
		found, err := s.options.Book.find(ctx, s.ID(), some)
		if err != nil {
			return fmt.Errorf("look up orders: %w", err)
		}
		decided, err := s.options.Book.decidedAbout(ctx, s.ID(), some)
		if err != nil {
			return fmt.Errorf("look up decisions: %w", err)
		}
		for _, id := range some {
			have, known := found[id]
			r, err := parseRecord(id, log.records[id])
			i, stored := at[id]
			switch {
			case passed[id], known && (err != nil || have.knows(r) || have.later(r)), err == nil && decided[placedAs{id, r.Placed.UnixMilli()}]:
			case err != nil && !stored:
				got.unread = append(got.unread, unread{id, err})
			case err != nil:
			case !stored:
				got.records = append(got.records, r)
			case r.Placed.Equal(got.records[i].Placed) && (r.State.follows(got.records[i].State) || r.State == got.records[i].State && len(r.Payments) > len(got.records[i].Payments)):
				got.records[i] = r
			}
		}
	}
	got.lost = slices.DeleteFunc(got.lost, func(id string) bool { return log.records[id] != "" })
	return nil
}

// A placedAs identifies an order by its id and the time at which it was placed, in Unix ms.
type placedAs struct {
	id     string
	placed int64
}

// decidedAbout returns which of the given orders were disputed and decided by an operator. Such an
// order may continue under another id, or its payment was refunded, so the book does not have it
// under this id.
func (b *Database) decidedAbout(ctx context.Context, sale string, ids []string) (map[placedAs]bool, error) {
	query := "SELECT order_id, store_has FROM stock_decision WHERE sale = ? AND action IN (?, ?, ?) AND order_id IN (" + sqltext.Marks(len(ids)) + ")"
	decided := map[placedAs]bool{}
	err := eachRow(ctx, b.db, b.dialect, query, argsOf(ids, sale, string(Accept), string(Refund), string(Drop)), func(row *sql.Rows) error {
		var id, line string
		err := row.Scan(&id, &line)
		if r, unreadable := parseRecord(id, line); err == nil && unreadable == nil {
			decided[placedAs{id, r.Placed.UnixMilli()}] = true
		}
		return err
	})
	return decided, err
}
