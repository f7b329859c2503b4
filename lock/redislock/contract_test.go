package redislock_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/locktest"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// The scripts keep the contract on a simulated server, whose clock is moved by
// hand, so that every time is compared exactly.
func TestContractSimulated(t *testing.T) { contractSimulated(t, redislock.Options{}, nil) }

// The same with series spread over several slots.
func TestContractPartitioned(t *testing.T) {
	contractSimulated(t, redislock.Options{Partitions: 7}, ofSeries)
}

// ofSeries reports whether a part of the contract is about series.
func ofSeries(part string) bool {
	return !slices.Contains([]string{"plain leases", "plain fences", "waiting", "waiters that die", "sharing", "sharing and waiting",
		"sharing with waiters that die", "sharing with waiters that fall silent", "several keys", "renewals of several", "looking", "forced unlocks", "nodes"}, part)
}

func contractSimulated(t *testing.T, o redislock.Options, only func(part string) bool) {
	t.Parallel() // some waiters look after seconds
	s := simulated(t)
	c := client(t, s.Addr(), patiently) // its Lua is slow
	var d *redislock.Driver
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) driver.Driver {
			o.Namespace = fresh()
			d = newDriver(t, c, o)
			t.Cleanup(func() { must(t, d.Close()) })
			return d
		},
		Abandon:  func(a driver.Acquisition) error { return d.Abandon(context.Background(), a) },
		Wait:     s.wait,
		SetClock: s.set,
		Forget:   s.FlushAll,
		Only:     only,
		Rounds:   10, // the simulated Lua is slow; the real one has its own test
	})
}

// The scripts keep the contract on a real server, for a user that may do no more
// than the package's documentation says.
func TestContractReal(t *testing.T) {
	t.Parallel() // it waits for leases to expire
	for name, only := range map[string]func(part string) bool{
		"series": ofSeries,
		"plain":  func(part string) bool { return !ofSeries(part) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contractReal(t, only)
		})
	}
}

func contractReal(t *testing.T, only func(part string) bool) {
	admin := client(t, redisserver.Start(t).Addr())
	c := restricted(t, admin, "ns*")
	var d *redislock.Driver
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) driver.Driver {
			d = newDriver(t, c, redislock.Options{Namespace: fresh()})
			t.Cleanup(func() { must(t, d.Close()) })
			return d
		},
		Abandon: func(a driver.Acquisition) error { return d.Abandon(context.Background(), a) },
		Wait:    func(d time.Duration) { waitOn(t, c, d) },
		Forget:  func() { must(t, admin.FlushAll(context.Background()).Err()) },
		Spoil: func(key string) {
			must(t, admin.Del(context.Background(), d.LockKey(key)).Err())
			must(t, admin.RPush(context.Background(), d.LockKey(key), "x").Err())
		},
		Only: only,
	})
}

// On a real server, with its numbers and texts, the scripts on series decide as
// the rules do: their clock is a key that the test sets, so that every time is
// compared exactly. Plain leases, which expire by the server's own clock, are
// kept in memory here.
func TestContractRealExact(t *testing.T) {
	t.Parallel() // beside tests that wait
	c := client(t, redisserver.Start(t).Addr())
	var now atomic.Int64 // µs
	set := func(to time.Time) {
		now.Store(to.UnixMicro())
		must(t, c.HSet(context.Background(), "clock", "s", to.Unix(), "u", to.Nanosecond()/1000).Err())
	}
	set(time.UnixMilli(1_795_207_852_937))
	clock := func() time.Time { return time.UnixMicro(now.Load()) }
	locktest.Run(t, locktest.Env{
		Open: func(t *testing.T) driver.Driver {
			d := newDriver(t, c, redislock.Options{Namespace: fresh()})
			d.ClockFrom("clock")
			return seriesOnly{memlock.New(memlock.Options{Now: clock}), d, d, d, d, d, d, d, d, d, d}
		},
		Wait:     func(d time.Duration) { set(clock().Add(d)) },
		SetClock: set,
		Rounds:   60,
	})
}

// seriesOnly has plain leases from one driver and series from another.
type seriesOnly struct {
	driver.Driver
	series.Numbered
	series.Controlled
	series.Journaled
	series.Sharder
	series.Peeker
	series.OutputKeeper
	series.Changes
	series.GroupPeeker
	series.Membership
	series.RunNotifier
}

// restricted returns a client of a user with the minimal rights, and these rules.
func restricted(t *testing.T, admin redis.UniversalClient, namespace string, more ...string) redis.UniversalClient {
	t.Helper()
	rules := append([]string{"on", ">secret"}, redislock.AccessRules(namespace)...)
	must(t, admin.ACLSetUser(t.Context(), "worker", append(rules, more...)...).Err())
	addr := admin.(*redis.Client).Options().Addr
	return client(t, addr, func(o *redis.UniversalOptions) { o.Username, o.Password = "worker", "secret" })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
