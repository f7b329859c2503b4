package redislock_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
)

// client returns a client with the options that lock traffic needs.
func client(t testing.TB, addr string, change ...func(*redis.UniversalOptions)) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{addr}}
	redislock.Harden(o)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = time.Minute, time.Minute, time.Minute, time.Minute // a busy machine is no fault of the server
	for _, f := range change {
		f(o)
	}
	c := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func newDriver(t testing.TB, c redis.UniversalClient, o redislock.Options) *redislock.Driver {
	t.Helper()
	d, err := redislock.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var namespaces atomic.Int64

// fresh returns a namespace that nobody has used.
func fresh() string { return "ns" + strconv.FormatInt(namespaces.Add(1), 10) }

// realDriver returns a driver on a real server of its own.
func realDriver(t testing.TB, o redislock.Options, args ...string) (*redislock.Driver, redis.UniversalClient) {
	t.Helper()
	c := client(t, redisserver.Start(t, args...).Addr())
	return newDriver(t, c, o), c
}

// simulated returns a server in this process whose clock stands still.
func simulated(t testing.TB) *clocked {
	m := miniredis.RunT(t)
	s := &clocked{Miniredis: m, now: time.UnixMilli(1_795_207_852_937)}
	m.SetTime(s.now)
	m.ClockTTL(true)
	return s
}

// A clocked is a miniredis whose clock is moved by hand.
type clocked struct {
	*miniredis.Miniredis
	mu  sync.Mutex
	now time.Time
}

func (s *clocked) wait(d time.Duration) { s.set(s.time().Add(d)) }

func (s *clocked) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *clocked) set(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
	s.SetTime(now)
}

// waitOn returns when d has passed on the server's clock.
func waitOn(t testing.TB, c redis.UniversalClient, d time.Duration) {
	t.Helper()
	ctx := context.Background()
	start := c.Time(ctx).Val()
	give := time.Now().Add(d + 20*time.Second)
	for now := start; now.Sub(start) < d; now = c.Time(ctx).Val() {
		if time.Now().After(give) {
			t.Fatalf("the server's clock did not move by %v", d)
		}
		if left := d - now.Sub(start); left > time.Millisecond { // a probe costs a round trip
			<-time.After(left)
		}
	}
}
