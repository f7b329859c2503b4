package sqlserver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

// A Lossy database loses the reply to one call: the call is carried out, its caller does not get
// the reply, and the connection is gone.
type Lossy struct {
	Calls atomic.Int64 // calls until the one whose reply is lost; below 0: no reply is lost
	Late  atomic.Int64 // by how many ns each reply is delayed

	// Before is called before each statement that returns no rows, and before the COMMIT or ROLLBACK of a transaction, if it
	// is not nil. The statement is not sent if Before returns an error, which its caller gets. Set it before the database is used.
	Before func(query string) error

	driver sqldriver.Driver
	dsn    string
}

// OpenLossy opens a database of a driver of database/sql through a Lossy, which loses no reply yet.
func OpenLossy(t testing.TB, driver, dsn string) (*sql.DB, *Lossy) {
	t.Helper()
	l := &Lossy{driver: Connect(t, driver, dsn).Driver(), dsn: dsn}
	l.Calls.Store(-1)
	db := sql.OpenDB(l)
	db.SetMaxOpenConns(4)
	t.Cleanup(func() { _ = db.Close() })
	return db, l
}

// Driver returns the driver of the database.
func (l *Lossy) Driver() sqldriver.Driver { return l.driver }

// Connect opens a connection that can lose replies.
func (l *Lossy) Connect(context.Context) (sqldriver.Conn, error) {
	c, err := l.driver.Open(l.dsn)
	if err != nil {
		return nil, err
	}
	return &lossyConn{Conn: c, lossy: l}, nil
}

func (l *Lossy) before(query string) error {
	if l.Before == nil {
		return nil
	}
	return l.Before(query)
}

// lost reports whether the reply that has just arrived is to be lost.
func (l *Lossy) lost() bool { return l.Calls.Add(-1) == 0 }

// Again loses one reply after the other, with some calls between them, until it is stopped.
func (l *Lossy) Again() (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			l.Calls.Store(1 + rand.Int64N(10))
			select {
			case <-over:
				l.Calls.Store(-1)
				return
			case <-time.After(rand.N(100 * time.Millisecond)):
			}
		}
	}()
	return func() { close(over); <-done }
}

type lossyConn struct {
	sqldriver.Conn
	lossy *Lossy
	gone  bool
}

// lose returns the result that the caller gets instead of a reply.
func (c *lossyConn) lose(err error) error { return c.loseAfter(err, func() {}) }

// loseAfter is lose, but calls read before it drops the connection of a lost reply.
func (c *lossyConn) loseAfter(err error, read func()) error {
	if late := c.lossy.Late.Load(); late > 0 {
		<-time.After(time.Duration(late))
	}
	if c.gone || c.lossy.lost() {
		if !c.gone {
			c.gone = true
			read()
			_ = c.Conn.Close()
		}
		return io.ErrUnexpectedEOF
	}
	return err
}

func (c *lossyConn) IsValid() bool { return !c.gone }

func (c *lossyConn) Close() error {
	if c.gone {
		return nil
	}
	return c.Conn.Close()
}

func (c *lossyConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if c.gone {
		return nil, sqldriver.ErrBadConn
	}
	if err := c.lossy.before(query); err != nil {
		return nil, err
	}
	r, err := c.Conn.(sqldriver.ExecerContext).ExecContext(ctx, query, args)
	return r, c.lose(err)
}

func (c *lossyConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if c.gone {
		return nil, sqldriver.ErrBadConn
	}
	r, err := c.Conn.(sqldriver.QueryerContext).QueryContext(ctx, query, args)
	return r, c.loseAfter(err, func() {
		if err == nil {
			_ = r.Close() // the statement is complete once its result is read
		}
	})
}

func (c *lossyConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.Conn.(sqldriver.ConnBeginTx).BeginTx(ctx, opts)
	return &lossyTx{tx, c}, c.lose(err)
}

type lossyTx struct {
	tx   sqldriver.Tx
	conn *lossyConn
}

func (t *lossyTx) Commit() error {
	if err := t.conn.lossy.before("COMMIT"); err != nil {
		return err
	}
	return t.conn.lose(t.tx.Commit())
}

func (t *lossyTx) Rollback() error {
	if t.conn.gone {
		return sqldriver.ErrBadConn
	}
	if err := t.conn.lossy.before("ROLLBACK"); err != nil {
		return err
	}
	return t.tx.Rollback()
}
