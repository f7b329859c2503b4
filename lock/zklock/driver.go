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
	DefaultJournalLines = 1000
	DefaultJournalBytes = 64 << 20
)

// The bounds of Options.Session.
const (
	minSession = 500 * time.Millisecond
	maxSession = time.Hour
)

// Options configure where and how a [Driver] stores its data. All processes that share a namespace
// must use the same Namespace, JournalLines and JournalBytes. The zero value is ready to use.
type Options struct {
	// Namespace is the node below the root that holds everything: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
	// Two applications on one ensemble must choose two. Empty: DefaultNamespace.
	Namespace string
	// Session is the requested session timeout, 500 ms to 1 h. The server may give another, by
	// default 2 to 20 of its ticks. The keys of a process that died stay held for the timeout, and
	// a plain lease is trusted for half of it after its last renewal. It should be at least 3 ticks
	// and, with an ensemble, at least one and a half times syncLimit + 1 ticks (18 s with the usual
	// 5 and 2 s): then a leader that stands still for most of a session is replaced before it can
	// end the session. Zero: DefaultSession.
	Session time.Duration
	// Dial opens a connection to a server, for example with TLS. Nil: net.DialTimeout.
	Dial func(network, address string, timeout time.Duration) (net.Conn, error)
	// Scheme and Auth are the credentials of the session, for example "digest" and "user:password".
	// Empty: the session does not authenticate.
	Scheme string
	Auth   []byte
	// ACL is the ACL of the nodes that are created. Nil: all rights for the client that created
	// them if there is a Scheme, otherwise for every client.
	ACL []zk.ACL
	// JournalLines is how many verdicts of each series are kept. Just after old verdicts were
	// dropped it may be a few fewer. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes limits all journals of the namespace together, since ZooKeeper keeps all data in
	// memory. Each series may use an equal share, but always keeps its newest verdicts. Zero:
	// DefaultJournalBytes.
	JournalBytes int64
}

// A Driver keeps leases and series in ZooKeeper. It opens its session with the first request and
// keeps it until [Driver.Close]; after a session has expired it opens a new one. All methods may be
// called concurrently. They return when their context ends; the request that was sent may still be
// carried out. Make one with [New]: the zero
// Driver cannot be used.
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

// New returns a Driver on the servers (host:port) of one ensemble. It sends and starts nothing. The
// error is a *lock.ArgumentError.
func New(servers []string, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(servers); err != nil {
		return nil, err
	}
	d := &Driver{options: o, paths: newLayout(o.Namespace)}
	d.session.servers, d.session.options = slices.Clone(servers), &d.options
	return d, nil
}

// Namespace returns Options.Namespace, or DefaultNamespace if it is empty.
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
		return driver.Refuse("Options.Namespace", strconv.Quote(o.Namespace), "another name: ZooKeeper uses this one")
	case o.Session < minSession || o.Session > maxSession:
		return driver.Refuse("Options.Session", o.Session.String(), fmt.Sprintf("%v to %v", minSession, maxSession))
	}
	return cmp.Or(driver.CheckNamespace(o.Namespace), series.CheckJournal(o.JournalLines, o.JournalBytes))
}

// Close ends the session, and with it all plain leases of this Driver at once. Later requests
// return doubt.
func (d *Driver) Close() error {
	d.session.close() // ends waiting calls, and places
	d.places.close()
	return nil
}

// bounded calls f with the session's connection and returns its answer, or doubt when ctx ends
// first. A request that was sent cannot be recalled, so f then finishes in the background; if it
// succeeds, late, unless nil, is called with its result.
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

// named adds the attempted operation to err, unless err is an answer of the lock package.
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
