package redlock_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/redlock"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client returns a client with the options that lock traffic needs.
func client(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{addr}, DialTimeout: time.Minute} // a connection may take long on a busy machine
	redislock.Harden(o)
	c := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func clients(t testing.TB, addrs ...string) []redis.UniversalClient {
	t.Helper()
	all := make([]redis.UniversalClient, len(addrs))
	for i, addr := range addrs {
		all[i] = client(t, addr)
	}
	return all
}

// servers starts n real servers.
func servers(t testing.TB, n int) ([]*redisserver.Server, []redis.UniversalClient) {
	t.Helper()
	all := make([]*redisserver.Server, n)
	addrs := make([]string, n)
	for i := range all {
		all[i] = redisserver.Start(t)
		addrs[i] = all[i].Addr()
	}
	return all, clients(t, addrs...)
}

func newDriver(t testing.TB, cs []redis.UniversalClient, o redlock.Options) *redlock.Driver {
	t.Helper()
	d, err := redlock.New(cs, o)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// slow is for tests that do not measure time, on a machine that may be busy.
const slow = 5 * time.Second

var names atomic.Int64

// fresh returns a namespace that no test has used.
func fresh() string { return "ns" + strconv.FormatInt(names.Add(1), 10) }

// owner returns a fresh owner.
func owner() string { return "node/" + strconv.FormatInt(names.Add(1), 10) }

func asking(key string, ttl time.Duration) driver.Acquisition {
	return driver.Acquisition{Key: key, Owner: owner(), TTL: ttl}
}

// acquire takes a free key, and returns when all servers have answered, including servers for which
// the grant did not wait.
func acquire(t testing.TB, d driver.Driver, a driver.Acquisition) (driver.Grant, driver.LeaseRef) {
	t.Helper()
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	if s, ok := d.(interface{ Settle() }); ok {
		s.Settle()
	}
	return g, driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}
}

// waitOn returns when d has passed on the clock of every server.
func waitOn(t testing.TB, cs []redis.UniversalClient, d time.Duration) {
	t.Helper()
	ctx := context.Background()
	for _, c := range cs {
		start := c.Time(ctx).Val()
		until(t, "the server's clock moves", func() bool { return c.Time(ctx).Val().Sub(start) >= d })
		d = min(d, time.Millisecond) // it has passed on the other servers as well
	}
}

// until waits for a condition.
var until = rig.Eventually

// votes returns how many servers hold key for any owner.
func votes(cs []redis.UniversalClient, namespace, key string) (n int) {
	for _, c := range cs {
		if redlock.Left(c, namespace, key) > 0 {
			n++
		}
	}
	return n
}
