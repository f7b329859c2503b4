package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Store is what a scheduler needs below it: numbered leases with a journal, a
// clock, and a list of nodes. The drivers of package lock that have these are
// stores; a Redlock cannot be one, because one step over several masters does
// not exist. One that is also a driver.StoreChecker is asked when a node starts.
type Store interface {
	driver.Driver
	series.Numbered
	series.Journaled
	driver.Clocked
	series.Membership
}

// Config configures a Node. Only Store and Jobs are required.
type Config struct {
	// Name is shown in logs and journal, with a random part behind it that makes
	// it unique: [A-Za-z0-9][A-Za-z0-9._-]{0,62}. Empty: the host's name.
	Name string
	// Namespace is the beginning of run ids, which keeps those of two applications
	// apart. Empty: the store's own, or "cronce" if it has none (driver.Namespaced).
	Namespace string
	// Store decides. All nodes of a cluster share one.
	Store Store
	// Jobs are registered before Run; more can be added with Add.
	Jobs []Job
	// Middleware wraps the functions of all jobs: the first is the outermost. Empty: none.
	Middleware []Middleware
	// Logger gets the log lines, each with the time of its event. Nothing of the scheduler
	// waits for it: one goroutine calls its handler, and if that is slow, up to 16,384 lines
	// with up to 16 MiB of text wait. Later ones are lost, and so are lines for which the
	// handler returns an error, panics or ends its goroutine. The next line that is written
	// has a line "log lines lost" with their count before it, and Stats counts them all. A
	// change of the level is noticed within a second. Nil: none.
	Logger *slog.Logger
	// Observers are notified of each event on this node, for metrics, traces or alerts. Each
	// has a queue and a goroutine of its own. Nothing of the scheduler waits for it: if it is
	// slow, up to 16,384 events wait, and others are dropped. The first and the last are kept.
	// An event in which it panics or ends its goroutine counts as dropped, and is logged. The
	// next event has the number of those that were dropped, and Stats counts all. Run delivers
	// what waits before it returns, for up to CancelGrace. Empty: none.
	Observers []Observer
	// Zone is the zone of specs that name none. Nil: UTC, never the machine's TZ. It
	// must be one of the time zone database, as time.LoadLocation gives it: its name is
	// what is recorded. For UTC+8 that is Etc/GMT-8.
	Zone *time.Location
	// Concurrency is how many runs this node has at once. Zero: 1000. Negative:
	// no bound. Without a free slot a tick is left to the other nodes, and is
	// claimed once a slot is free if no other node took it.
	Concurrency int
	// Grace is how long a drain waits for runs before it ends their contexts. Zero: 20s.
	Grace time.Duration
	// CancelGrace is how long a run may go on after its context ended before it is
	// named in the log, and how long a drain waits for it then. Zero: 5s.
	CancelGrace time.Duration
	// Spread is how long a node leaves ticks to the node whose share they are.
	// Zero: 25ms. Negative: not at all.
	Spread time.Duration
	// StoreTimeout bounds one request to the store. Zero: 2s.
	StoreTimeout time.Duration
	// ClockWarn is how far this machine's clock may be off the store's before it
	// is warned of. Zero: 500ms.
	ClockWarn time.Duration
	// ClockOffset shifts what this node believes the time to be. It is for tests:
	// it changes nothing but the warning.
	ClockOffset time.Duration
}

var (
	jobName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
)

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	if store, named := c.Store.(driver.Namespaced); named && c.Namespace == "" {
		c.Namespace = store.Namespace()
	}
	c.Namespace = cmp.Or(c.Namespace, "cronce")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	switch {
	case c.Concurrency == 0:
		c.Concurrency = 1000
	case c.Concurrency < 0:
		c.Concurrency = unbounded
	}
	c.Spread = max(orDefault(c.Spread, 25*time.Millisecond), 0)
	c.Grace = orDefault(c.Grace, 20*time.Second)
	c.CancelGrace = orDefault(c.CancelGrace, 5*time.Second)
	c.StoreTimeout = orDefault(c.StoreTimeout, 2*time.Second)
	c.ClockWarn = orDefault(c.ClockWarn, 500*time.Millisecond)
	return c
}

const unbounded = 1 << 40

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// faults returns what is wrong with the configuration itself, not its jobs.
func (c *Config) faults() (errs []error) {
	if c.Store == nil {
		errs = append(errs, errors.New("store: is nil, a lock store is needed"))
	}
	if !nodeName.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name: is %s, must be %s", text.Quote(c.Name), nodeName))
	}
	if err := driver.CheckName("namespace", c.Namespace); err != nil {
		errs = append(errs, fmt.Errorf("namespace: %w", err))
	}
	for i, m := range c.Middleware {
		if m == nil {
			errs = append(errs, fmt.Errorf("middleware[%d]: is nil", i))
		}
	}
	for i, o := range c.Observers {
		if o == nil {
			errs = append(errs, fmt.Errorf("observers[%d]: is nil", i))
		}
	}
	if err := spec.CheckZone(c.Zone); err != nil {
		errs = append(errs, fmt.Errorf("zone: %w", err))
	}
	for _, d := range []struct {
		path  string
		value time.Duration
	}{{"grace", c.Grace}, {"cancel_grace", c.CancelGrace}, {"store_timeout", c.StoreTimeout}, {"clock_warn", c.ClockWarn}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s: is %v, must be 0 or more", d.path, d.value))
		}
	}
	return errs
}
