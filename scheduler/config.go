package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/cronce/cronce/internal/absent"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Store is the storage that a scheduler needs: numbered leases with a journal, a clock, and a
// list of nodes. The drivers of package lock that implement these interfaces are stores. A Redlock
// cannot be a Store, because no atomic step spans several masters. If a Store also implements
// driver.StoreChecker, a node checks it when it starts.
type Store interface {
	driver.Driver
	series.Numbered
	series.Journaled
	driver.Clocked
	series.Membership
}

// Config configures a Node. Only Store is required.
type Config struct {
	// Name is shown in logs and in the journal, followed by a random part that makes it unique. It
	// must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}. Empty: the host's name.
	Name string
	// Namespace is the beginning of run ids. It keeps the run ids of two applications
	// apart. Empty: the store's own namespace (driver.Namespaced), or "cronce" if it has none.
	Namespace string
	// Store decides each tick. All nodes of a cluster share one store.
	Store Store
	// Jobs are registered before Run; more can be added with Add.
	Jobs []Job
	// Middleware wraps the functions of all jobs: the first is the outermost. Empty: none.
	Middleware []Middleware
	// Logger gets the log lines, each with the time of its event. The scheduler never waits for
	// it: one goroutine calls its handler. If the handler is slow, up to 16,384 lines with up to
	// 16 MiB of text wait: the oldest ones and the newest. The lines between these are lost, and
	// so are lines for which the handler returns an error, panics or ends its goroutine. After a
	// loss, the next line that is written follows a line "log lines lost" with the count, and
	// Stats has the total. A change of the level takes effect within a second. Nil: no log.
	Logger *slog.Logger
	// Observers are notified of each event on this node, for metrics, traces or alerts. Each has a
	// queue and a goroutine of its own, and the scheduler never waits for it. If an Observer is
	// slow, up to 16,384 events wait: the oldest ones and the newest. The events between these are
	// dropped. If an Observer panics or ends its goroutine, the event counts as dropped and the
	// failure is logged. The next event has the number of dropped events, and Stats has the total.
	// Before Run returns, it delivers the waiting events, for up to CancelGrace. Empty: none.
	Observers []Observer
	// Zone is the zone of specs that name none. It must come from the time zone database, as
	// time.LoadLocation returns it, because its name is recorded. For UTC+8 use Etc/GMT-8. Nil:
	// UTC, never the machine's TZ.
	Zone *time.Location
	// Concurrency is the number of runs that this node has at once. Without a free slot the node
	// leaves a tick to the other nodes; it claims the tick once a slot is free, if no other node
	// took it. Zero: 1000. Negative: no bound.
	Concurrency int
	// Grace is how long a drain waits for runs before it cancels their contexts, at most 24h. Zero: 20s.
	Grace time.Duration
	// CancelGrace is how long a run may continue after its context ended before the log names it,
	// and how long a drain then waits for it, at most 24h. Zero: 5s.
	CancelGrace time.Duration
	// Spread is how long a node waits before it claims a tick that belongs to another node's share.
	// At most 1m. Zero: 25ms. Negative: no wait.
	Spread time.Duration
	// StoreTimeout bounds one request to the store. Zero: 2s. Otherwise it is 10ms to 5m.
	StoreTimeout time.Duration
	// ClockWarn is the offset between this machine's clock and the store's above which the node
	// logs a warning. Zero: 500ms.
	ClockWarn time.Duration
	// ClockOffset shifts the time that this node reads from its machine. It is for tests: it
	// changes only the warning.
	ClockOffset time.Duration
}

var (
	jobName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
)

// withDefaults replaces zero fields by their defaults.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	if absent.Is(c.Store) {
		c.Store = nil // also one that an interface hides: no method of it may be called
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

// minStoreTimeout is the least Config.StoreTimeout: within less no store answers reliably, so no tick would ever be claimed.
const minStoreTimeout = 10 * time.Millisecond

// Upper bounds of a configuration. A larger value is an error: a wrong unit or an additional digit.
const (
	maxGrace        = 24 * time.Hour
	maxSpread       = time.Minute
	maxStoreTimeout = 5 * time.Minute
)

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// faults returns the faults of the configuration itself, without the faults of its jobs.
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
		if absent.Is(o) {
			errs = append(errs, fmt.Errorf("observers[%d]: is nil", i))
		}
	}
	if err := spec.CheckZone(c.Zone); err != nil {
		errs = append(errs, fmt.Errorf("zone: %w", err))
	}
	return append(errs, c.durationFaults()...)
}

func (c *Config) durationFaults() (errs []error) {
	for _, d := range []struct {
		path        string
		value, most time.Duration // no bound if most is 0
		shown       string
	}{
		{"grace", c.Grace, maxGrace, "24h"}, {"cancel_grace", c.CancelGrace, maxGrace, "24h"}, {"spread", c.Spread, maxSpread, "1m"},
		{"store_timeout", c.StoreTimeout, maxStoreTimeout, "5m"}, {"clock_warn", c.ClockWarn, 0, ""},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s: is %v, must be 0 or more", d.path, d.value))
		} else if d.most > 0 && d.value > d.most {
			errs = append(errs, fmt.Errorf("%s: is %v, must be up to %s", d.path, d.value, d.shown))
		}
	}
	if t := c.StoreTimeout; t > 0 && t < minStoreTimeout {
		errs = append(errs, fmt.Errorf("store_timeout: is %v, must be %v or more, or 0 for the default", t, minStoreTimeout))
	}
	return errs
}
