package sqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

const (
	grace       = time.Second            // for a database's driver to see that a context has ended
	tries       = 30                     // of what the database took back
	firstPause  = 500 * time.Microsecond // between them, doubled up to
	connections = 5                      // that are dropped in a row because nothing can be written on them
	maxPause    = 100 * time.Millisecond
)

// none is the value of what has none.
type none struct{}

// again asks until the database answers, or it is doubt. It asks again only when
// the database says that it took the request back whole: a deadlock, a
// serialisation that failed, a lock that was busy; and a few times on other
// connections if nothing can be written on this one. All else may have been done.
func again[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for i, pause := 1, firstPause; ; i, pause = i+1, min(2*pause, maxPause) {
		v, err := wait.Call(ctx, grace, func(context.Context) (T, error) { return ask() })
		if err == nil || i == tries || !takenBack(err) && (!unusable(err) || i == connections) {
			return v, ended(ctx, err)
		}
		_ = wait.Sleep(ctx, pause/2+rand.N(pause))
		if ctx.Err() != nil {
			return v, ended(ctx, err)
		}
	}
}

// ended is err, with the end of ctx if that is its cause: not every driver says so.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// takenBack reports whether the database says that it did nothing of what was
// asked. The drivers are the caller's, so their errors are known by what they
// have in common.
func takenBack(err error) bool {
	if errors.Is(err, driver.ErrBadConn) { // so database/sql has it
		return true
	}
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok { // PostgreSQL
		switch state.SQLState() {
		case "40001", "40P01", "55P03": // serialisation, deadlock, lock not available
			return true
		case "23505", "42P07", "42710": // two made the same at once: a row, a table, its type
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

// errUnusable is what a session answers that has no clock: see grammar.clock.
var errUnusable = errors.New("this session is not usable: it is on a replica or on a server that is read-only," +

	" or it does not commit each statement (autocommit=0, or a completion_type other than NO_CHAIN)")

// An instant is a column with the database's clock, in µs.
type instant int64

// Scan refuses the NULL of a session that is not usable.
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

// unusable reports whether a session did nothing and would do nothing later: its
// server is only read from. The drivers are the caller's, so their errors are known
// by what they have in common.
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
