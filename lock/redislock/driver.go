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

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The defaults of [Options].
const (
	DefaultNamespace    = driver.DefaultNamespace
	DefaultShards       = 1
	DefaultJournalLines = series.DefaultJournalLines
	DefaultJournalBytes = 256 << 20
	DefaultAckTimeout   = 500 * time.Millisecond
)

const (
	maxShards     = 1024
	maxAckTimeout = time.Minute
)

// Options say where and how much a [Driver] keeps. All processes that share a
// namespace must use the same options: with other shards, or grouped otherwise, they
// keep the same series and locks under other keys, and do not exclude each other.
// [Driver.Agree] notices. The zero value is ready to use.
type Options struct {
	// Namespace is what all keys begin with: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
	// Two applications on one server must choose two. Empty: DefaultNamespace.
	Namespace string
	// Shards is over how many hash slots series are spread, 1 to 1024. Zero:
	// DefaultShards. More than one is of use in a Cluster only. It cannot change
	// once series exist: they would be read from another shard.
	Shards int
	// GroupBy puts plain locks into one hash slot, so that AcquireAll takes
	// them in one step in a Cluster too: those whose keys are the same up to the
	// last GroupBy in them. With "/" that is so of user/7/cart and user/7/wallet.
	// At most 16 bytes that print. Empty: each lock has a slot of its own. A single
	// server takes any locks in one step. It cannot change while locks are held.
	GroupBy string
	// JournalLines is how many verdicts are kept of each series, or up to 1/16
	// fewer just after old ones were dropped. Zero: DefaultJournalLines.
	JournalLines int
	// JournalBytes bounds the journals of the namespace together; each shard has
	// its equal part. Over it, each new verdict costs its series two old ones,
	// but never the newest. Zero: DefaultJournalBytes.
	JournalBytes int64
	// AckTimeout is how long a request that asks for replicas waits for them, as
	// long as that is less than a fifth of its TTL, than half of the client's
	// ReadTimeout, and than what its context leaves. Zero: DefaultAckTimeout.
	AckTimeout time.Duration
	// Check is what [Driver.Fit] refuses. The zero value refuses what breaks a
	// promise and warns of the rest.
	Check CheckOptions
}

// A Driver keeps leases and series in Redis. The client stays the caller's. Only
// waiting starts something, one subscription, which ends by itself a few seconds
// after the last waiter or at once with [Driver.Close]. All methods may be
// called concurrently. They return when the deadline of their context passes; a
// context that is cancelled earlier ends them within the client's ReadTimeout,
// or at once if the client does not respect deadlines. What was sent may then
// still be done.
type Driver struct {
	client    redis.UniversalClient
	prompt    bool // the client ends its requests with the deadlines of their contexts
	pipelines *pipelines
	scripts   *scripts
	keys      layout
	lines     string        // how long a journal may be
	budget    int64         // how many bytes the journals of a shard may have
	bytes     string        // the same as text
	acks      time.Duration // how long replicas are waited for
	inbox     *inbox
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
	_ series.Controlled    = (*Driver)(nil)
	_ series.Peeker        = (*Driver)(nil)
	_ series.Journaled     = (*Driver)(nil)
	_ series.OutputKeeper  = (*Driver)(nil)
	_ driver.Clocked       = (*Driver)(nil)
	_ series.Membership    = (*Driver)(nil)
	_ driver.Replicated    = (*Driver)(nil)
	_ driver.StoreChecker  = (*Driver)(nil)
	_ driver.Namespaced    = (*Driver)(nil)
	_ series.Sharded       = (*Driver)(nil)
	_ driver.Explainer     = (*Driver)(nil)
	_ driver.Prompt        = (*Driver)(nil)
)

// New returns a Driver on a client of a single server, of Sentinel, or of a
// Cluster. It sends nothing: [Driver.Fit] asks whether client and server are fit,
// as a scheduler does that gets the Driver. An error is a *lock.ArgumentError.
func New(client redis.UniversalClient, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if _, ring := client.(*redis.Ring); ring || client == nil {
		return nil, driver.Refuse("client", fmt.Sprintf("%T", client), "a client of a single server, of Sentinel, or of a Cluster")
	}
	budget := max(o.JournalBytes/int64(o.Shards), 1)
	return &Driver{
		client:    client,
		prompt:    prompt(client),
		pipelines: newPipelines(client, defaultTimeout),
		scripts:   embedded,
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
	o.Shards = cmp.Or(o.Shards, DefaultShards)
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
	case o.Shards < 1 || o.Shards > maxShards:
		return driver.Refuse("Options.Shards", strconv.Itoa(o.Shards), "1 to 1024")
	case o.GroupBy != "" && (len(o.GroupBy) > 16 || driver.CheckKey(o.GroupBy) != nil):
		return driver.Refuse("Options.GroupBy", strconv.Quote(o.GroupBy), "up to 16 bytes of printable UTF-8")
	case o.AckTimeout < time.Millisecond || o.AckTimeout > maxAckTimeout:
		return driver.Refuse("Options.AckTimeout", o.AckTimeout.String(), "1ms to 1m")
	}
	return nil
}

// run runs a script, together with those of other callers when there are many.
func (d *Driver) run(ctx context.Context, s *script, keys []string, args []any) (any, error) {
	return d.pipelined(ctx, s, requestOf(keys, args...))
}

// pipelined runs a script for a request, together with those of other callers when there
// are many.
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

// evaluate runs a script for a request alone.
func (d *Driver) evaluate(ctx context.Context, s *script, r *request) (any, error) {
	reply, err := bounded(ctx, d.prompt, func() (any, error) { return evaluate(ctx, d.client, s, r) })
	d.failed(ctx, err)
	if d.prompt { // else what was given up may be on its way still
		r.free()
	}
	return reply, err
}

// Prompt reports whether the client respects the deadlines of contexts: see [Harden].
func (d *Driver) Prompt() bool { return d.prompt }

// Namespace returns Options.Namespace, or its default.
func (d *Driver) Namespace() string { return d.ns }

// Shards returns Options.Shards.
func (d *Driver) Shards() int { return len(d.keys.shards) }

// Shard returns the shard that a series lives in.
func (d *Driver) Shard(key string) int { return d.keys.shard(key) }

// defaultTimeout is what Harden sets where no time limit was asked for.
const defaultTimeout = 2 * time.Second

// Harden sets what a client of a [Driver] needs: it respects the deadlines of
// contexts and repeats no request on its own, because the caller knows for how
// long an answer is of use. Time limits that are not set become two seconds, and
// a failed dial is not repeated. Maintenance notifications are off unless they are
// configured: to find out of which kind its address is, a client would look up its
// server's name when it is made, and wait where DNS is silent. Each new connection begins with a
// PING, because a server that asks for a password may close it without an answer to a
// longer request. A client for a Cluster
// still asks again when a connection breaks, within the context, all but what frees a lock;
// the scripts allow that.
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

// authenticated returns a function that refuses a new connection whose server asks for a password
// that it was not given, and then calls next. The limits of Redis on requests of such connections
// (10 arguments, 16 KiB) close them, and then the reset can overtake the error.
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

// prompt reports whether a client ends its requests with the deadline of their
// context, or soon after it was cancelled.
func prompt(client redis.UniversalClient) bool {
	_, deadlines, _ := limits(client)
	return deadlines && readTimeout(client) > 0
}

// readTimeout is how long a client waits for an answer; 0 or less: without end,
// or it is unknown.
func readTimeout(client redis.UniversalClient) time.Duration {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ReadTimeout
	case *redis.ClusterClient:
		return c.Options().ReadTimeout
	}
	return 0
}

// bounded returns when ctx ends. If f does not do so by itself it runs beside: that costs
// as much as a third of a round trip.
func bounded[T any](ctx context.Context, prompt bool, f func() (T, error)) (T, error) {
	if prompt && ctx.Err() == nil {
		return f()
	}
	return wait.Call(ctx, 0, func(context.Context) (T, error) { return f() })
}

// limits are how often a client repeats a request, and whether it respects the
// deadlines of contexts.
func limits(client redis.UniversalClient) (retries int, deadlines, known bool) {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	case *redis.ClusterClient:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	}
	return 0, false, false
}

// eachMaster calls f for each server that judges leases: side by side in a
// Cluster.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
}

// address is the one that the client was given.
func address(client redis.UniversalClient) string {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ",")
	}
	return "redis"
}

// failed has a client of a Cluster read again which master has which slots. By itself a
// client does so when a server answers that a key has moved: one that died answers nothing,
// and would be sent requests for a minute more. The client reads in the background, and
// once for all requests that fail at the time.
func (d *Driver) failed(ctx context.Context, err error) {
	if cluster, ok := d.client.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx)
	}
}
