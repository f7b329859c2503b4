package redlock

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/absent"
	"github.com/cronce/cronce/lock/driver"
)

// The defaults of [Options].
const (
	DefaultNamespace   = driver.DefaultNamespace
	DefaultNodeTimeout = 50 * time.Millisecond
	DefaultFenceMemory = 10 * time.Minute
)

// Options configure how a [Driver] sends requests and where it stores its data. All processes that
// share a namespace must use the same namespace and servers. The zero value is ready to use.
type Options struct {
	// Namespace is the prefix of all keys: [A-Za-z0-9][A-Za-z0-9._-]{0,63}. Empty:
	// DefaultNamespace.
	Namespace string
	// NodeTimeout is how long a request waits for one server, 1 ms to 10 s, and never longer than a
	// quarter of a lease's TTL. Zero: DefaultNodeTimeout.
	NodeTimeout time.Duration
	// FenceMemory is how long each server remembers the last fence of a key after its lease, 1 s to
	// 24 h. It must be at least twice the largest difference between the clocks of the servers, or
	// fences may decrease. An acquisition that takes longer than half of it is doubt. Among
	// processes that share a key, the shortest FenceMemory counts. Zero: DefaultFenceMemory.
	FenceMemory time.Duration
}

// A Driver keeps plain leases on a majority of independent servers. The caller keeps ownership of
// the clients, and closes the Driver before them. All methods may be called concurrently. They
// return when their context ends. Make one with [New]: the zero
// Driver cannot be used.
type Driver struct {
	options  Options
	nodes    []*node
	all      []int // the indexes of all nodes
	majority int
	attempts atomic.Int64 // numbers the requests, so that a server recognises a late one
	fences   fences
	agree    time.Duration // agreeWithin, except in tests
	slept    time.Duration // zero, except in tests: how long the machine has been suspended

	stop     context.CancelFunc // ends the sweepers' requests
	closing  sync.RWMutex       // held while Close waits, so that no request begins meanwhile
	asking   sync.WaitGroup     // requests with answers to come
	sweepers sync.WaitGroup
}

var (
	_ driver.Driver       = (*Driver)(nil)
	_ driver.MultiRenewer = (*Driver)(nil)
)

// New returns a Driver over 3, 5 or 7 servers, with one client each. It sends nothing: call
// [Driver.Check] to make sure that the clients reach as many different servers. The error is a
// *lock.ArgumentError: an even or otherwise wrong number of clients, the same address twice, a
// client that is not connected to a single server, or a client that ignores deadlines
// (ContextTimeoutEnabled is off; redislock.Harden sets it).
func New(clients []redis.UniversalClient, o Options) (*Driver, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if n := len(clients); n != 3 && n != 5 && n != 7 {
		return nil, driver.Refuse("clients", strconv.Itoa(n)+" clients", "3, 5 or 7: an even number adds a server and no majority")
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Driver{options: o, majority: len(clients)/2 + 1, stop: stop, agree: agreeWithin}
	d.attempts.Store(time.Now().UnixMicro()) // above the numbers of an earlier process
	seen := make(map[string]bool, len(clients))
	for i, c := range clients {
		one, err := single(i, c, seen)
		if err != nil {
			stop()
			return nil, err
		}
		d.nodes, d.all = append(d.nodes, &node{client: one, base: ctx}), append(d.all, i)
	}
	slices.SortFunc(d.nodes, func(a, b *node) int { return cmp.Compare(a.addr(), b.addr()) })
	return d, nil
}

// Close ends the undoing of failed attempts in the background, and waits for its end: at most as
// long as a request waits for one server. Leases that were not undone end with their TTL. Close
// always returns nil, also when called again.
func (d *Driver) Close() error {
	d.stop()
	for _, n := range d.nodes {
		n.close()
	}
	d.closing.Lock()
	d.asking.Wait() // before the sweepers: a late answer may start one
	d.closing.Unlock()
	d.sweepers.Wait()
	return nil
}

func (o Options) withDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.NodeTimeout = cmp.Or(o.NodeTimeout, DefaultNodeTimeout)
	o.FenceMemory = cmp.Or(o.FenceMemory, DefaultFenceMemory)
	return o
}

func (o Options) check() error {
	switch {
	case o.NodeTimeout < time.Millisecond || o.NodeTimeout > 10*time.Second:
		return driver.Refuse("Options.NodeTimeout", o.NodeTimeout.String(), "1ms to 10s")
	case o.FenceMemory < time.Second || o.FenceMemory > 24*time.Hour:
		return driver.Refuse("Options.FenceMemory", o.FenceMemory.String(), "1s to 24h")
	}
	return driver.CheckNamespace(o.Namespace)
}

// single returns the client of one server. It refuses a server that another client already uses.
func single(i int, c redis.UniversalClient, seen map[string]bool) (*redis.Client, error) {
	argument := "clients[" + strconv.Itoa(i) + "]"
	const allowed = "a client of one server, not of a Cluster, Ring or Sentinel"
	if absent.Is(c) {
		return nil, driver.Refuse(argument, "nil", allowed)
	}
	one, ok := c.(*redis.Client)
	if !ok || one.Options().Addr == "FailoverClient" {
		return nil, driver.Refuse(argument, fmt.Sprintf("%T", c), allowed)
	}
	o := one.Options()
	switch {
	case !o.ContextTimeoutEnabled:
		return nil, driver.Refuse(argument, "a client that ignores the deadlines of contexts", "one with ContextTimeoutEnabled")
	case seen[o.Addr]:
		return nil, driver.Refuse(argument, "a second client of "+o.Addr, "one client for each server")
	}
	seen[o.Addr] = true
	return one, nil
}

// keys returns the lock's keys on every server: the key of its lease, and the key of the last lease
// that was given back.
func (d *Driver) keys(key string) []string {
	name := "{" + url.PathEscape(key) + "}"
	return []string{d.options.Namespace + ":v1:r:" + name, d.options.Namespace + ":v1:rback:" + name}
}

// patience returns how long a request waits for one server.
func (d *Driver) patience(ttl time.Duration) time.Duration {
	if ttl < driver.MinTTL { // a release may omit the TTL
		return d.options.NodeTimeout
	}
	return min(d.options.NodeTimeout, ttl/4)
}
