package sqllock

import (
	"cmp"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The defaults of [Options].
const (
	DefaultNamespace    = driver.DefaultNamespace
	DefaultPoll         = 10 * time.Millisecond
	DefaultJournalLines = 1000
	DefaultJournalBytes = 256 << 20
)

const (
	minPoll = time.Millisecond
	maxPoll = time.Second

	maxInside = 1000
)

// Options configure where and how a [Driver] stores its data. All processes that share a namespace
// must use the same options. The zero value is ready to use.
type Options struct {
	// Namespace separates applications that share a database: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
	// Empty: DefaultNamespace.
	Namespace string
	// Tables is the prefix of the names of the tables: [a-z_][a-z0-9_]{0,30}. On PostgreSQL the
	// name of a schema and a dot may come before it, if the tables are not in the search path.
	// Empty: cronce_.
	Tables string
	// Poll is the approximate interval at which the first waiter of a process probes while the key
	// changes hands. It probes less often the more owners are before it and the longer nothing
	// changes, down to once a second. 1 ms to 1 s. Zero: DefaultPoll.
	Poll time.Duration
	// Inside is how often in a row a process may pass a key to its own next waiter before owners
	// that came earlier in other processes: 0 to 1,000. Passing a key inside takes one statement
	// and wakes no other process. Zero: never; all owners are served in the order in which they
	// came. The lock.Locker has at most one waiter per key in the store.
	Inside int
	// Listen receives the notification of a release in another process, on PostgreSQL only. Nil:
	// owners that wait find the release by probing.
	Listen Listener
	// JournalLines is how many verdicts of each series are kept, together with its exceptions. Just
	// after old verdicts were dropped it may be up to 1/16 fewer. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes is the approximate limit of all journals of the namespace together. They are
	// weighed once a minute. Above the limit, each new verdict of a series removes two old ones of
	// that series, but never the newest. Zero: DefaultJournalBytes.
	JournalBytes int64
}

// A Driver keeps leases and series in a database. Between its calls it holds no connection and runs
// no goroutine, with two exceptions: the clean-up that a call has started, for some seconds, and
// Options.Listen, until 5 seconds after the last waiter has left. All methods may be called
// concurrently. They return when their context ends, or up to a second later if the driver of the
// database does not react to it; the request that was sent may still be carried out. Make one with [New]: the zero
// Driver cannot be used.
type Driver struct {
	db          *sql.DB
	grammar     grammar
	texts       texts
	ns          string
	poll        time.Duration
	lines       int    // the limit of a journal
	budget      int64  // the limit of all journals together, in bytes
	keptNodes   int    // how many nodes of each span the maintenance keeps
	party       string // identifies this process in queues
	listen      Listener
	waiters     waiters
	listening   listening
	inside      int
	probes      chan struct{} // full while maxProbes requests run
	maintenance maintenance
}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.Waiter        = (*Driver)(nil)
	_ driver.Sharer        = (*Driver)(nil)
	_ driver.MultiAcquirer = (*Driver)(nil)
	_ driver.MultiRenewer  = (*Driver)(nil)
	_ driver.Inspector     = (*Driver)(nil)
	_ driver.Forcer        = (*Driver)(nil)
	_ series.Numbered      = (*Driver)(nil)
	_ series.Controlled    = (*Driver)(nil)
	_ series.Peeker        = (*Driver)(nil)
	_ series.Journaled     = (*Driver)(nil)
	_ series.OutputKeeper  = (*Driver)(nil)
	_ driver.Clocked       = (*Driver)(nil)
	_ series.Membership    = (*Driver)(nil)
	_ driver.StoreChecker  = (*Driver)(nil)
	_ driver.Namespaced    = (*Driver)(nil)
)

// New returns a Driver on a database. The caller keeps ownership of db. New sends nothing: create
// the tables with [Migrations] or [Driver.CreateTables], and check the database with
// [Driver.Check], which a scheduler calls itself. The error is a *lock.ArgumentError.
func New(db *sql.DB, d Dialect, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	g, known := grammars[d]
	switch {
	case db == nil:
		return nil, driver.Refuse("db", "nil", "an open database")
	case !known:
		return nil, driver.Refuse("dialect", strconv.Itoa(int(d)), "PostgreSQL, MySQL or SQLite")
	case strings.Contains(o.Tables, ".") && d != PostgreSQL:
		return nil, driver.Refuse("Options.Tables", strconv.Quote(o.Tables), "no schema on "+d.String())
	case o.Listen != nil && d != PostgreSQL:
		return nil, driver.Refuse("Options.Listen", "a Listener", "nil on "+d.String())
	}
	g.prefix = o.Tables
	return &Driver{db: db, grammar: g, texts: g.texts(), ns: o.Namespace, poll: o.Poll,
		lines: o.JournalLines, budget: o.JournalBytes, keptNodes: keptNodes, party: strings.ReplaceAll(uuid.NewString(), "-", ""), listen: o.Listen, inside: o.Inside, probes: make(chan struct{}, maxProbes)}, nil
}

// Namespace returns Options.Namespace, or DefaultNamespace if it is empty.
func (d *Driver) Namespace() string { return d.ns }

func (o Options) withDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.Poll = cmp.Or(o.Poll, DefaultPoll)
	o.JournalLines = cmp.Or(o.JournalLines, DefaultJournalLines)
	o.JournalBytes = cmp.Or(o.JournalBytes, DefaultJournalBytes)
	return o
}

var tablePrefix = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,30}$`)

func (o Options) check() error {
	if err := cmp.Or(driver.CheckNamespace(o.Namespace), series.CheckJournal(o.JournalLines, o.JournalBytes)); err != nil {
		return err
	}
	switch {
	case o.Tables != "" && !tablePrefix.MatchString(o.Tables):
		return driver.Refuse("Options.Tables", strconv.Quote(o.Tables), tablePrefix.String())
	case o.Poll < minPoll || o.Poll > maxPoll:
		return driver.Refuse("Options.Poll", o.Poll.String(), fmt.Sprintf("%v to %v", minPoll, maxPoll))
	case o.Inside < 0 || o.Inside > maxInside:
		return driver.Refuse("Options.Inside", strconv.Itoa(o.Inside), fmt.Sprintf("0 to %d", maxInside))
	}
	return nil
}
