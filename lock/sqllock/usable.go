package sqllock

import (
	"database/sql"
	"errors"
	"strings"
)

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
