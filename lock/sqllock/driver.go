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
	DefaultJournalLines = series.DefaultJournalLines
	DefaultJournalBytes = 256 << 20
)

const (
	minPoll = time.Millisecond
	maxPoll = time.Second

	maxInside = 1000
)

// Options say where and how a [Driver] keeps what it keeps. All processes that
// share a namespace must use the same options. The zero value is ready to use.
type Options struct {
	// Namespace keeps applications on one database apart:
	// [A-Za-z0-9][A-Za-z0-9._-]{0,63}. Empty: DefaultNamespace.
	Namespace string
	// Tables is what the names of the tables begin with: [a-z_][a-z0-9_]{0,30}, on
	// PostgreSQL with the name of a schema and a dot before that, if they are not in the
	// search path. Empty: cronce_.
	Tables string
	// Poll is how often, about, the first waiter of a process probes whether it is its
	// turn while the key changes hands; it probes more rarely the more are before it,
	// and the longer nothing changes, down to once a second. 1 ms to 1 s. Zero:
	// DefaultPoll.
	Poll time.Duration
	// Inside is how often in a row a process may pass a key on to its own next waiter
	// before those that came earlier in other processes, 0 to 1,000: that takes one
	// statement and wakes no other process. Zero: never, all are served in the order
	// in which they came. The lock.Locker has at most one waiter per key in the store.
	Inside int
	// Listen is how owners that wait are woken by a release in another process, on
	// PostgreSQL only. Nil: they probe.
	Listen Listener
	// JournalLines is how many verdicts are kept of each series, or up to 1/16
	// fewer just after old ones were dropped. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes bounds the journals of the namespace together, about: they are
	// weighed once a minute. Over it, each new verdict costs its series two old
	// ones, but never the newest. Zero: DefaultJournalBytes.
	JournalBytes int64
}

// A Driver keeps leases and series in a database. Between its calls it holds no
// connection, and nothing of it runs but the clean-up that a call has started, for some
// seconds, and Options.Listen, until 5 seconds after the last waiter has left. All
// methods may be called concurrently. They
// return when their context ends, or where the database's own driver does not
// heed it up to a second later; what was sent may then still be done.
type Driver struct {
	db          *sql.DB
	grammar     grammar
	texts       texts
	ns          string
	poll        time.Duration
	lines       int    // how long a journal may be
	budget      int64  // how many bytes all journals may have
	keptNodes   int    // how many nodes of each span the maintenance leave
	party       string // this process, as a waiter
	listen      Listener
	waiters     waiters
	listening   listening
	inside      int
	probes      chan struct{} // full while as many probe as may
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

// New returns a Driver on a database, which stays the caller's. It sends
// nothing: the tables must be there, see [Migrations] and [Driver.CreateTables],
// and [Driver.Check] returns whether the database is fit; a scheduler asks. An error is a
// *lock.ArgumentError.
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

// Namespace returns Options.Namespace, or what stands for it.
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
