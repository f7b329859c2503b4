package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The defaults of [Options].
const (
	DefaultNamespace    = driver.DefaultNamespace
	DefaultSession      = 20 * time.Second
	DefaultJournalLines = series.DefaultJournalLines
	DefaultJournalBytes = 64 << 20
)

// The bounds of Options.Session.
const (
	minSession = 500 * time.Millisecond
	maxSession = time.Hour
)

// Options say where and how a [Driver] keeps what it keeps. All processes that
// share a namespace must use the same Namespace, JournalLines and JournalBytes.
// The zero value is ready to use.
type Options struct {
	// Namespace is the node below the root that holds everything:
	// [A-Za-z0-9][A-Za-z0-9._-]{0,63}. Two applications on one ensemble must
	// choose two. Empty: DefaultNamespace.
	Namespace string
	// Session is the session timeout that is asked for, 500 ms to 1 h; the server
	// may give another, by default 2 to 20 of its ticks. It is how long the keys
	// of a process that died stay taken, and half of it is how long a plain lease
	// may be believed in after its last renewal. It should be 3 ticks or more, of an
	// ensemble one and a half times syncLimit + 1 of them (18 s of the usual 5 and
	// 2 s): a leader that stands still for most of a session is replaced then before
	// it can end it. Zero: DefaultSession.
	Session time.Duration
	// Dial opens a connection to a server, as for TLS. Nil: net.DialTimeout.
	Dial func(network, address string, timeout time.Duration) (net.Conn, error)
	// Scheme and Auth are what the session authenticates with, as "digest" and
	// "user:password". Empty: it does not.
	Scheme string
	Auth   []byte
	// ACL is what the nodes are created with. Nil: all rights for the client that created
	// them if there is a Scheme, else for every client.
	ACL []zk.ACL
	// JournalLines is how many verdicts are kept of each series, or a few fewer
	// just after old ones were dropped. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes bounds the journals of the namespace together: ZooKeeper keeps
	// all data in memory. Each series has its equal part, and its newest verdicts
	// whatever that is. Zero: DefaultJournalBytes.
	JournalBytes int64
}

// A Driver keeps leases and series in ZooKeeper. It opens its session with the
// first request and keeps it until [Driver.Close]; a session that expired is
// followed by a new one. All methods may be called concurrently. They return when
// their context ends; what was sent may then still be done.
type Driver struct {
	options Options
	session session
	paths   layout
	places  places
	reads   reads
	clock   clock
	bases   bases
}

var (
	_ driver.Driver       = (*Driver)(nil)
	_ driver.Waiter       = (*Driver)(nil)
	_ driver.MultiRenewer = (*Driver)(nil)
	_ driver.Inspector    = (*Driver)(nil)
	_ driver.Sharer       = (*Driver)(nil)
	_ driver.Forcer       = (*Driver)(nil)
	_ series.Numbered     = (*Driver)(nil)
	_ series.Controlled   = (*Driver)(nil)
	_ series.Journaled    = (*Driver)(nil)
	_ series.OutputKeeper = (*Driver)(nil)
	_ driver.Clocked      = (*Driver)(nil)
	_ series.Membership   = (*Driver)(nil)
	_ driver.Namespaced   = (*Driver)(nil)
	_ driver.Explainer    = (*Driver)(nil)
)

// New returns a Driver on the servers (host:port) of one ensemble. It sends and
// starts nothing. An error is a *lock.ArgumentError.
func New(servers []string, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(servers); err != nil {
		return nil, err
	}
	d := &Driver{options: o, paths: newLayout(o.Namespace)}
	d.session.servers, d.session.options = slices.Clone(servers), &d.options
	return d, nil
}

// Namespace returns Options.Namespace, or what stands for it.
func (d *Driver) Namespace() string { return d.options.Namespace }

func (o Options) withDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.Session = cmp.Or(o.Session, DefaultSession)
	o.JournalLines = cmp.Or(o.JournalLines, DefaultJournalLines)
	o.JournalBytes = cmp.Or(o.JournalBytes, DefaultJournalBytes)
	if o.Dial == nil {
		o.Dial = net.DialTimeout
	}
	if o.ACL == nil && o.Scheme != "" {
		o.ACL = zk.AuthACL(zk.PermAll)
	}
	if o.ACL == nil {
		o.ACL = zk.WorldACL(zk.PermAll)
	}
	return o
}

func (o Options) check(servers []string) error {
	switch {
	case len(servers) == 0 || slices.Contains(servers, ""):
		return driver.Refuse("servers", strconv.Quote(strings.Join(servers, ",")), "host:port of 1 server or more")
	case o.Namespace == "zookeeper":
		return driver.Refuse("Options.Namespace", strconv.Quote(o.Namespace), "another name: it is ZooKeeper's own")
	case o.Session < minSession || o.Session > maxSession:
		return driver.Refuse("Options.Session", o.Session.String(), fmt.Sprintf("%v to %v", minSession, maxSession))
	}
	return cmp.Or(driver.CheckNamespace(o.Namespace), series.CheckJournal(o.JournalLines, o.JournalBytes))
}

// Close ends the session, and with it at once all plain leases of this Driver.
// Requests after it are doubt.
func (d *Driver) Close() error {
	d.session.close() // ends calls that wait, and places
	d.places.close()
	return nil
}

// bounded calls f with the session's connection and returns its answer, or doubt
// when ctx ends first: a request that was sent cannot be called back, so f then
// finishes beside, and late, unless nil, is given what it returned without an
// error.
func bounded[T any](ctx context.Context, d *Driver, what string, f func(*zk.Conn) (T, error), late func(*zk.Conn, T)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("zklock: %s: %w", what, err)
	}
	c, err := d.session.begin()
	if err != nil {
		return none, fmt.Errorf("zklock: %s: %w", what, err)
	}
	type answer struct {
		value T
		err   error
	}
	answered, left := make(chan answer), make(chan struct{})
	go func() {
		defer d.session.end()
		var a answer
		if a.err = d.session.ready(c); a.err == nil {
			a.value, a.err = f(c)
		}
		select {
		case answered <- a:
		case <-left:
			if a.err == nil && late != nil {
				late(c, a.value)
			}
		}
	}()
	select {
	case a := <-answered:
		return a.value, named(what, a.err)
	case <-ctx.Done():
		close(left)
		return none, fmt.Errorf("zklock: %s: %w", what, d.session.doubt(ctx.Err()))
	}
}

// named says what was attempted, unless err is one of the lock package's answers.
func named(what string, err error) error {
	if err == nil || errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrFree) || isHeld(err) {
		return err
	}
	return fmt.Errorf("zklock: %s: %w", what, err)
}

func isHeld(err error) bool {
	_, is := errors.AsType[*driver.HeldError](err)
	return is
}
