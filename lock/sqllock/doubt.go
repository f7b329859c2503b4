package sqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

const (
	grace       = time.Second // that a database driver gets to notice the end of a context
	tries       = 30          // how often a request is sent that the database rolls back
	connections = 5           // read-only connections that are dropped in a row before the error is returned
)

// pauses are the pauses between two tries.
var pauses = wait.Backoff{First: 500 * time.Microsecond, Longest: 100 * time.Millisecond, Spread: true}

// none is the result of calls that return only an error.
type none struct{}

// retry calls ask until it succeeds or its error is doubt. It repeats a request only if the
// database reports that it rolled the request back completely: a deadlock, a serialisation failure,
// a busy lock. It also repeats it a few times on other connections if this one is read-only. Any
// other request may have been carried out.
func retry[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for i := 1; ; i++ {
		v, err := wait.Call(ctx, grace, func(context.Context) (T, error) { return ask() })
		if err == nil || i == tries || !takenBack(err) && (!unusable(err) || i == connections) {
			return v, contextError(ctx, err)
		}
		_ = wait.Sleep(ctx, pauses.After(i))
		if ctx.Err() != nil {
			return v, contextError(ctx, err)
		}
	}
}

// contextError returns err, wrapped with the end of ctx if ctx has ended: some drivers do not report it.
func contextError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// takenBack reports whether the database says that it did nothing of the request. The caller
// chooses the driver of the database, so its errors are recognised by a code or a text that
// drivers have in common.
func takenBack(err error) bool {
	if errors.Is(err, driver.ErrBadConn) { // the contract of database/sql
		return true
	}
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok { // PostgreSQL
		switch state.SQLState() {
		case "40001", "40P01", "55P03": // serialisation, deadlock, lock not available
			return true
		case "23505", "42P07", "42710": // two processes created the same row, table or type at once
			return true
		}
		return false
	}
	if code, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok { // SQLite
		primary := code.Code() & 0xff
		return primary == 5 || primary == 6 // busy, locked
	}
	text := err.Error()
	for _, known := range []string{
		"Error 1213", "Error 1205", "Error 1020", // MySQL: deadlock, lock wait, changed since it was read
		"database is locked", "database table is locked", // SQLite
	} {
		if strings.Contains(text, known) {
			return true
		}
	}
	return false
}

// errUnusable is the error of a session that has no clock: see grammar.clock.
var errUnusable = errors.New("this session is not usable: it is on a replica or on a server that is read-only," +

	" or it does not commit each statement (autocommit=0, or a completion_type other than NO_CHAIN)")

// An instant is a column that holds the database's clock, in µs.
type instant int64

// Scan returns errUnusable for NULL, which a session that is not usable returns.
func (i *instant) Scan(value any) error {
	var us sql.NullInt64
	if err := us.Scan(value); err != nil {
		return err
	}
	if !us.Valid {
		return errUnusable
	}
	*i = instant(us.Int64)
	return nil
}

// unusable reports whether a session did nothing and will do nothing later, because its server is
// read-only. The caller chooses the driver of the database, so its errors are recognised by the
// codes that drivers have in common.
func unusable(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, errUnusable) {
		return true
	}
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok { // PostgreSQL: a read-only transaction
		return state.SQLState() == "25006"
	}
	for _, known := range []string{"Error 1290", "Error 1792", "Error 1836"} { // MySQL: read-only
		if strings.Contains(err.Error(), known) {
			return true
		}
	}
	return false
}
