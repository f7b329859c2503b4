package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/lock/driver"
)

// A late database ignores contexts: it answers a query with the row of a key, which n/1 holds with the fence 7, once
// the test lets it.
type late struct {
	breaking
	answer chan struct{}
}

func (l late) Connect(context.Context) (sqldriver.Conn, error) { return l, nil }

func (l late) ExecContext(context.Context, string, []sqldriver.NamedValue) (sqldriver.Result, error) {
	return sqldriver.RowsAffected(1), nil
}

func (l late) QueryContext(context.Context, string, []sqldriver.NamedValue) (sqldriver.Rows, error) {
	<-l.answer
	return &oneRow{}, nil
}

type oneRow struct{ read bool }

func (r *oneRow) Columns() []string { return make([]string, 7) }
func (r *oneRow) Close() error      { return nil }

func (r *oneRow) Next(values []sqldriver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(values, []sqldriver.Value{"key", "n/1", int64(7), int64(1) << 60, int64(0), "", int64(1)})
	return nil
}

// A renewal with others that was given up, since the database did not answer in time, stays doubt: an answer that comes
// later does not make it a grant. Whether the answer is still read then is up to database/sql, so there are many.
func TestRenewalAfterItWasGivenUp(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			db := late{answer: make(chan struct{})}
			d := &Driver{db: sql.OpenDB(db), grammar: grammars[SQLite]}
			defer d.db.Close()
			ctx, stop := context.WithCancel(t.Context())
			go func() { synctest.Wait(); stop() }()
			answers := d.RenewAll(ctx, []driver.LeaseRef{{Key: "key", Owner: "n/1", Fence: 7, TTL: grace}})
			close(db.answer)
			synctest.Wait()
			if a := answers[0]; !errors.Is(a.Err, context.Canceled) || a.Fence != 0 {
				t.Fatalf("the answer is now %+v", a)
			}
		})
	}
}
