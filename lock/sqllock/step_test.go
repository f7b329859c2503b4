package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"slices"
	"testing"
)

// A breaking database fails each statement, and its connections break when a transaction is committed.
type breaking struct{ sent *[]string }

func (b breaking) Connect(context.Context) (sqldriver.Conn, error) { return b, nil }
func (b breaking) Driver() sqldriver.Driver                        { return nil }
func (b breaking) Prepare(string) (sqldriver.Stmt, error)          { return nil, errors.New("disk I/O error") }
func (b breaking) Close() error                                    { return nil }
func (b breaking) Begin() (sqldriver.Tx, error)                    { return b, nil }
func (b breaking) Commit() error                                   { return sqldriver.ErrBadConn }
func (b breaking) Rollback() error                                 { return nil }

func (b breaking) ExecContext(_ context.Context, query string, _ []sqldriver.NamedValue) (sqldriver.Result, error) {
	if b.sent != nil {
		*b.sent = append(*b.sent, query)
	}
	return nil, errors.New("disk I/O error")
}

func (b breaking) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) { return b, nil }

// A transaction whose connection breaks within it, or when it is committed, is doubt and not repeated: it may have been
// carried out, or its caller stood still for too long.
func TestBrokenTransactionIsNotRepeated(t *testing.T) {
	d := &Driver{db: sql.OpenDB(breaking{}), grammar: grammars[PostgreSQL]}
	for name, within := range map[string]error{"within it": sqldriver.ErrBadConn, "when it is committed": nil} {
		calls := 0
		_, err := step(t.Context(), d, func(session) (none, error) { calls++; return none{}, within })
		if err == nil || errors.Is(err, sqldriver.ErrBadConn) || calls != 1 {
			t.Errorf("%s: after %d calls the error is %v", name, calls, err)
		}
	}
}

// A transaction of SQLite whose begin fails may have begun all the same, so it is rolled back.
func TestFailedBeginIsRolledBack(t *testing.T) {
	var sent []string
	d := &Driver{db: sql.OpenDB(breaking{&sent}), grammar: grammars[SQLite]}
	_, err := step(t.Context(), d, func(session) (none, error) { return none{}, nil })
	if want := []string{"BEGIN IMMEDIATE", "ROLLBACK"}; err == nil || !slices.Equal(sent, want) {
		t.Errorf("%q is sent, want %q; the error is %v", sent, want, err)
	}
}
