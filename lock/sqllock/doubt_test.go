package sqllock_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// Only requests that the database says it rolled back completely are repeated by the driver itself.
func TestTakenBack(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "40P01"}, true},
		{fmt.Errorf("with more words: %w", &pgconn.PgError{Code: "40001"}), true},
		{&pgconn.PgError{Code: "55P03"}, true}, // lock not available
		{&pgconn.PgError{Code: "23505"}, true}, // created by two at once: a row, a table, a type
		{&pgconn.PgError{Code: "42P07"}, true},
		{&pgconn.PgError{Code: "42710"}, true},
		{&pgconn.PgError{Code: "57P01", Message: "Error 1213"}, false}, // terminated
		{&mysql.MySQLError{Number: 1213, Message: "Deadlock found when trying to get lock"}, true},
		{&mysql.MySQLError{Number: 1205, Message: "Lock wait timeout exceeded"}, true},
		{&mysql.MySQLError{Number: 1020, Message: "Record has changed since last read"}, true},
		{&mysql.MySQLError{Number: 1290, Message: "The server is running with --read-only"}, false},
		{mysql.ErrInvalidConn, false},
		{code(5), true},        // busy
		{code(5 | 2<<8), true}, // busy: snapshot
		{code(6), true},        // locked
		{code(10), false},      // disk
		{errors.New("database is locked"), true},
		{errors.New("EOF"), false},
	} {
		if got := sqllock.TakenBack(c.err); got != c.want {
			t.Errorf("%v: taken back is %v, want %v", c.err, got, c.want)
		}
	}
}

// A code is an error as the drivers of SQLite return it.
type code int

func (c code) Code() int     { return int(c) }
func (c code) Error() string { return fmt.Sprint("code ", int(c)) }

// The records of forced unlocks cannot be read. A lease that is not alive is lost all the same when it is
// renewed; a release of it is doubt, since its owner must learn whether the lease was taken, unless it never knew its fence.
func TestUnreadableRecords(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
		must(t, err)
		other := driver.LeaseRef{Key: "key", Owner: "n/2", Fence: g.Fence, TTL: minute}
		_, err = db.Exec("DROP TABLE cronce_taken")
		must(t, err)
		if _, err := d.Renew(t.Context(), other); !errors.Is(err, driver.ErrLost) {
			t.Errorf("the renewal says %v, want lock.ErrLost", err)
		}
		if err := d.Release(t.Context(), other); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("the release says %v, want doubt", err)
		}
		other.Fence = 0
		if err := d.Release(t.Context(), other); !errors.Is(err, driver.ErrLost) {
			t.Errorf("the release without a fence says %v, want lock.ErrLost", err)
		}
	})
}
