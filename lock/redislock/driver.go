package redislock

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/cronce/cronce/internal/absent"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The defaults of [Options].
const (
	DefaultNamespace    = driver.DefaultNamespace
	DefaultPartitions   = 1
	DefaultJournalLines = 1000
	DefaultJournalBytes = 256 << 20
	DefaultAckTimeout   = 500 * time.Millisecond
)

const (
	maxPartitions = 1024
	maxAckTimeout = time.Minute
)

// Options say where a [Driver] keeps its data, and how much. All processes that share a namespace
// must use the same options: with other partitions, or another grouping, they keep the same series and
// locks under other keys, and do not exclude each other. [Driver.Agree] notices this. The zero
// value is ready to use.
type Options struct {
	// Namespace is the beginning of all keys: [A-Za-z0-9][A-Za-z0-9._-]{0,63}. Two applications on
	// one server must choose different ones. Empty: DefaultNamespace.
	Namespace string
	// Partitions is the number of hash slots over which series are spread, 1 to 1024. Zero:
	// DefaultPartitions. More than one is of use in a Cluster only. It cannot change once series exist:
	// they would be read from another partition.
	Partitions int
	// GroupBy puts plain locks into one hash slot if their keys are the same up to the last GroupBy
	// in them, so that AcquireAll takes them in one step in a Cluster too. With "/" user/7/cart and
	// user/7/wallet share a slot. It is at most 16 bytes that print. Empty: each lock has its own
	// slot. A single server takes any locks in one step. It cannot change while locks are held.
	GroupBy string
	// JournalLines is how many verdicts are kept of each series; just after old ones were deleted,
	// up to 1/16 fewer. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes bounds the journals of the namespace together; each partition has an equal part.
	// Above it, each new verdict deletes two old ones of its series, but never the newest. Zero:
	// DefaultJournalBytes.
	JournalBytes int64
	// AckTimeout is how long a request waits for its replicas. The wait is shorter if a fifth of
	// the request's TTL, half of the client's ReadTimeout, or the rest of the context's time is.
	// Zero: DefaultAckTimeout.
	AckTimeout time.Duration
	// Check says which findings [Driver.CheckStore] refuses. The zero value refuses those that
	// break a promise, and warns of the others.
	Check CheckOptions
}

// A Driver keeps leases and series in Redis. It does not close the client, which belongs to the
// caller. Only a wait starts a goroutine, for one subscription, which ends a few seconds after the
// last waiter or at once with [Driver.Close]; NotifyRuns has a subscription of its own. All methods may be called concurrently. They return
// when the deadline of their context passes. A context that is cancelled earlier ends them within
// the client's ReadTimeout, or at once if the client does not respect deadlines. A request that was
// sent may then still be carried out. Make one with [New]: the zero
// Driver cannot be used.
type Driver struct {
	client    redis.UniversalClient
	prompt    bool // the client ends its requests with the deadlines of their contexts
	pipelines *pipelines
	scripts   *scripts
	keys      layout
	lines     string        // the bound of a journal
	budget    int64         // the bound, in bytes, of the journals of a partition
	bytes     string        // the same as text
	acks      time.Duration // how long a request waits for replicas
	inbox     *inbox
	roll      roll
	groups    groupNotices
	ns        string
	check     CheckOptions
}

var (
	_ driver.Driver        = (*Driver)(nil)
	_ driver.Waiter        = (*Driver)(nil)
	_ driver.Sharer        = (*Driver)(nil)
	_ driver.MultiAcquirer = (*Driver)(nil)
	_ driver.MultiRenewer  = (*Driver)(nil)
	_ driver.Distributed   = (*Driver)(nil)
	_ driver.Inspector     = (*Driver)(nil)
	_ driver.Forcer        = (*Driver)(nil)
	_ series.Numbered      = (*Driver)(nil)
	_ series.Sharder       = (*Driver)(nil)
	_ series.Controlled    = (*Driver)(nil)
	_ series.RunNotifier   = (*Driver)(nil)
	_ series.GroupPeeker   = (*Driver)(nil)
	_ series.Journaled     = (*Driver)(nil)
	_ series.OutputKeeper  = (*Driver)(nil)
	_ driver.Clocked       = (*Driver)(nil)
	_ series.Membership    = (*Driver)(nil)
	_ series.Changes       = (*Driver)(nil)
	_ driver.Replicated    = (*Driver)(nil)
	_ driver.StoreChecker  = (*Driver)(nil)
	_ driver.Namespaced    = (*Driver)(nil)
	_ series.Partitioned   = (*Driver)(nil)
	_ driver.Explainer     = (*Driver)(nil)
	_ driver.Prompt        = (*Driver)(nil)
)

// New returns a Driver on a client of a single server, of Sentinel, or of a Cluster. It sends no
// request: [Driver.CheckStore] checks whether client and server are fit, and a scheduler that gets
// the Driver calls it. An error is a *lock.ArgumentError.
func New(client redis.UniversalClient, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := checkKind(client); err != nil {
		return nil, err
	}
	budget := max(o.JournalBytes/int64(o.Partitions), 1)
	return &Driver{
		client:    client,
		prompt:    prompt(client),
		pipelines: newPipelines(client, defaultTimeout),
		scripts:   embedded(),
		keys:      newLayout(&o),
		lines:     strconv.Itoa(o.JournalLines),
		budget:    budget,
		bytes:     strconv.FormatInt(budget, 10),
		acks:      o.AckTimeout,
		inbox:     newInbox(client, o.Namespace),
		ns:        o.Namespace,
		check:     o.Check,
	}, nil
}

func (o Options) withDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.Partitions = cmp.Or(o.Partitions, DefaultPartitions)
	o.JournalLines = cmp.Or(o.JournalLines, DefaultJournalLines)
	o.JournalBytes = cmp.Or(o.JournalBytes, DefaultJournalBytes)
	o.AckTimeout = cmp.Or(o.AckTimeout, DefaultAckTimeout)
	return o
}

func (o Options) check() error {
	if err := cmp.Or(driver.CheckNamespace(o.Namespace), series.CheckJournal(o.JournalLines, o.JournalBytes)); err != nil {
		return err
	}
	switch {
	case o.Partitions < 1 || o.Partitions > maxPartitions:
		return driver.Refuse("Options.Partitions", strconv.Itoa(o.Partitions), "1 to 1024")
	case o.GroupBy != "" && (len(o.GroupBy) > 16 || driver.CheckKey(o.GroupBy) != nil):
		return driver.Refuse("Options.GroupBy", strconv.Quote(o.GroupBy), "up to 16 bytes of printable UTF-8")
	case o.AckTimeout < time.Millisecond || o.AckTimeout > maxAckTimeout:
		return driver.Refuse("Options.AckTimeout", o.AckTimeout.String(), "1ms to 1m")
	}
	return nil
}

// run runs a script, together with the requests of other callers if there are many.
func (d *Driver) run(ctx context.Context, s *script, keys []string, args []any) (any, error) {
	return d.pipelined(ctx, s, requestOf(keys, args...))
}

// pipelined runs a script for a request, together with the requests of other callers if there are
// many.
func (d *Driver) pipelined(ctx context.Context, s *script, r *request) (any, error) {
	if d.prompt && ctx.Err() == nil {
		if p := d.pipelines.of(ctx, r); p != nil {
			reply, err := p.do(ctx, s, r)
			d.failed(ctx, err)
			return reply, err
		}
	}
	return d.evaluate(ctx, s, r)
}

// evaluate runs a script for one request alone.
func (d *Driver) evaluate(ctx context.Context, s *script, r *request) (any, error) {
	reply, err := bounded(ctx, d.prompt, func() (any, error) { return evaluate(ctx, d.client, s, r) })
	d.failed(ctx, err)
	if d.prompt { // else a request that was given up may still use its memory
		r.free()
	}
	return reply, err
}

// Prompt reports whether the client respects the deadlines of contexts: see [Harden].
func (d *Driver) Prompt() bool { return d.prompt }

// Namespace returns Options.Namespace, or its default.
func (d *Driver) Namespace() string { return d.ns }

// Partitions returns Options.Partitions.
func (d *Driver) Partitions() int { return len(d.keys.partitions) }

// Partition returns the partition of a series.
func (d *Driver) Partition(key string) int { return d.keys.partition(key) }

// defaultTimeout is the limit that Harden sets where none was set.
const defaultTimeout = 2 * time.Second

// Harden sets the options that a client of a [Driver] needs. The client respects the deadlines of
// contexts and repeats no request on its own, because the caller knows for how long an answer is of
// use. Time limits that are not set become two seconds, and a failed dial is not repeated.
//
// Maintenance notifications are off unless they are configured: to find the kind of its address, a
// client would look up its server's name when it is made, and wait if DNS is silent. Each new
// connection begins with a PING, because a server that requires a password may close it without an
// answer to a longer request.
//
// A client for a Cluster still repeats requests when a connection breaks, within the context, but
// not those that free a lock; the scripts allow that.
func Harden[O redis.UniversalOptions | redis.Options](o *O) {
	switch o := any(o).(type) {
	case *redis.UniversalOptions:
		o.OnConnect = authenticated(o.OnConnect)
		harden(&o.MaxRetries, &o.ContextTimeoutEnabled, &o.DialerRetries, &o.MaintNotificationsConfig,
			&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	case *redis.Options:
		o.OnConnect = authenticated(o.OnConnect)
		harden(&o.MaxRetries, &o.ContextTimeoutEnabled, &o.DialerRetries, &o.MaintNotificationsConfig,
			&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	}
}

func harden(retries *int, deadlines *bool, dials *int, notifications **maintnotifications.Config, limits ...*time.Duration) {
	*retries, *deadlines = -1, true
	for _, limit := range limits {
		if *limit == 0 {
			*limit = defaultTimeout
		}
	}
	if *dials == 0 {
		*dials = 1
	}
	if *notifications == nil {
		*notifications = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
}

// authenticated returns a function that refuses a new connection whose server requires a password
// that it was not given, and otherwise calls next. Redis limits the requests of such connections
// (10 arguments, 16 KiB) and closes them above that, and then the reset can overtake the error.
func authenticated(next func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	return func(ctx context.Context, conn *redis.Conn) error {
		if err := conn.Ping(ctx).Err(); begins(err, "NOAUTH") {
			return err
		}
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}

// prompt reports whether a client ends its requests at the deadline of their context, or soon after
// the context was cancelled.
func prompt(client redis.UniversalClient) bool {
	_, deadlines, _ := limits(client)
	return deadlines && readTimeout(client) > 0
}

// readTimeout returns how long a client waits for an answer; 0 or less if that is unbounded or
// unknown.
func readTimeout(client redis.UniversalClient) time.Duration {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ReadTimeout
	case *redis.ClusterClient:
		return c.Options().ReadTimeout
	}
	return 0
}

// bounded returns when ctx ends. If f does not do so itself, it runs on another goroutine, which
// costs as much as a third of a round trip.
func bounded[T any](ctx context.Context, prompt bool, f func() (T, error)) (T, error) {
	if prompt && ctx.Err() == nil {
		return f()
	}
	return wait.Call(ctx, 0, func(context.Context) (T, error) { return f() })
}

// limits returns how often a client repeats a request, and whether it respects the deadlines of
// contexts.
func limits(client redis.UniversalClient) (retries int, deadlines, known bool) {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	case *redis.ClusterClient:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	}
	return 0, false, false
}

// checkKind refuses no client, also if an interface hides that there is none, and a Ring.
func checkKind(client redis.UniversalClient) error {
	kind := fmt.Sprintf("%T", client)
	if absent.Is(client) {
		kind = "nil"
	} else if _, ring := client.(*redis.Ring); !ring {
		return nil
	}
	return driver.Refuse("client", kind, "a client of a single server, of Sentinel, or of a Cluster")
}

// eachMaster calls f for each server that judges leases, concurrently in a Cluster.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
}

// address returns the address that the client was given.
func address(client redis.UniversalClient) string {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ",")
	}
	return "redis"
}

// failed makes a client of a Cluster reload which master has which slots. By itself a client does
// so when a server answers that a key has moved. A server that died sends no such answer, and would
// be sent requests for a minute more. The client reloads in the background, once for all requests
// that fail at the time.
func (d *Driver) failed(ctx context.Context, err error) {
	if cluster, ok := d.client.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx)
	}
}
