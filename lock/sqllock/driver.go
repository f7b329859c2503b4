package sqllock

import (
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock"
)

// The defaults of [Options].
const (
	DefaultNamespace = "cronce"
	DefaultPoll      = 20 * time.Millisecond
)

const (
	minPoll = time.Millisecond
	maxPoll = time.Second
)

// Options say where and how a [Driver] keeps what it keeps. All processes that
// share a namespace must use the same options. The zero value is ready to use.
type Options struct {
	// Namespace keeps applications on one database apart:
	// [A-Za-z0-9][A-Za-z0-9._-]{0,63}. Empty: DefaultNamespace.
	Namespace string
	// Poll is how often the first in the queue of a key looks whether it is its
	// turn, about; those behind it look more rarely. 1 ms to 1 s. Zero:
	// DefaultPoll.
	Poll time.Duration
}

// A Driver keeps leases and series in a database. It starts nothing and holds no
// connection between its calls. All methods may be called concurrently. They
// return when their context ends, or where the database's own driver does not
// heed it up to a second later; what was sent may then still be done.
type Driver struct {
	db      *sql.DB
	grammar grammar
	texts   texts
	ns      string
	poll    time.Duration
	waiters waiters
	sweeps  sweeps
}

var (
	_ lock.Driver     = (*Driver)(nil)
	_ lock.Waiter     = (*Driver)(nil)
	_ lock.Inspector  = (*Driver)(nil)
	_ lock.Clocked    = (*Driver)(nil)
	_ lock.Membership = (*Driver)(nil)
)

// New returns a Driver on a database, which stays the caller's. It sends
// nothing: the tables must be there, see [Migrations] and [Driver.CreateTables],
// and [Driver.Check] tells whether the database is fit. An error is a
// *lock.ArgumentError.
func New(db *sql.DB, d Dialect, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	g, known := grammars[d]
	switch {
	case db == nil:
		return nil, refuse("db", "nil", "an open database")
	case !known:
		return nil, refuse("dialect", strconv.Itoa(int(d)), "PostgreSQL, MySQL or SQLite")
	}
	return &Driver{db: db, grammar: g, texts: g.texts(), ns: o.Namespace, poll: o.Poll}, nil
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	return o
}

var namespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (o Options) check() error {
	switch {
	case !namespace.MatchString(o.Namespace):
		return refuse("Options.Namespace", strconv.Quote(o.Namespace), namespace.String())
	case o.Poll < minPoll || o.Poll > maxPoll:
		return refuse("Options.Poll", o.Poll.String(), fmt.Sprintf("%v to %v", minPoll, maxPoll))
	}
	return nil
}

func refuse(argument, value, allowed string) error {
	return &lock.ArgumentError{Argument: argument, Value: value, Allowed: allowed}
}
