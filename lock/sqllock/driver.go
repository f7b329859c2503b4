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
	DefaultNamespace    = "cronce"
	DefaultPoll         = 10 * time.Millisecond
	DefaultJournalLines = 1000
	DefaultJournalBytes = 256 << 20
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
	// JournalLines is how many verdicts are kept of each series, or up to 1/16
	// fewer just after old ones were dropped. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes bounds the journals of the namespace together, about: they are
	// weighed once a minute. Over it, each new verdict costs its series two old
	// ones, but never the newest. Zero: DefaultJournalBytes.
	JournalBytes int64
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
	lines   int   // how long a journal may be
	budget  int64 // how many bytes all journals may have
	waiters waiters
	chores  chores
}

var (
	_ lock.Driver     = (*Driver)(nil)
	_ lock.Waiter     = (*Driver)(nil)
	_ lock.Sharer     = (*Driver)(nil)
	_ lock.Several    = (*Driver)(nil)
	_ lock.Inspector  = (*Driver)(nil)
	_ lock.Numbered   = (*Driver)(nil)
	_ lock.Peeker     = (*Driver)(nil)
	_ lock.Journaled  = (*Driver)(nil)
	_ lock.Clocked    = (*Driver)(nil)
	_ lock.Membership = (*Driver)(nil)
	_ lock.Fitness    = (*Driver)(nil)
	_ lock.Namespaced = (*Driver)(nil)
)

// New returns a Driver on a database, which stays the caller's. It sends
// nothing: the tables must be there, see [Migrations] and [Driver.CreateTables],
// and [Driver.Check] tells whether the database is fit; a scheduler asks. An error is a
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
	return &Driver{db: db, grammar: g, texts: g.texts(), ns: o.Namespace, poll: o.Poll,
		lines: o.JournalLines, budget: o.JournalBytes}, nil
}

// Namespace returns Options.Namespace, or what stands for it.
func (d *Driver) Namespace() string { return d.ns }

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.JournalLines == 0 {
		o.JournalLines = DefaultJournalLines
	}
	if o.JournalBytes == 0 {
		o.JournalBytes = DefaultJournalBytes
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
	case o.JournalLines < 1:
		return refuse("Options.JournalLines", strconv.Itoa(o.JournalLines), "1 or more")
	case o.JournalBytes < 1:
		return refuse("Options.JournalBytes", strconv.FormatInt(o.JournalBytes, 10), "1 or more")
	}
	return nil
}

func refuse(argument, value, allowed string) error {
	return &lock.ArgumentError{Argument: argument, Value: value, Allowed: allowed}
}
