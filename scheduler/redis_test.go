package scheduler_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
)

// A redisStore is the driver for Redis on a server in this process. Its connections are pipes, because nothing that waits
// for a socket may be in a bubble.
type redisStore struct {
	*redislock.Driver
	server *miniredis.Miniredis
	client *redis.Client
}

// inRedis returns a store with the clock of the world.
func inRedis(c *world) store { return inRedisWith(c, 1<<20) }

// inRedisWith is inRedis with journals of so many lines.
func inRedisWith(c *world, lines int) store {
	s := redisStore{server: miniredis.NewMiniRedis()}
	c.t.Cleanup(s.server.Close)
	s.server.SetTime(c.now())
	s.server.ClockTTL(true)
	o := &redis.Options{Addr: "redis.in.bubble:6379", PoolSize: 1000, Dialer: func(context.Context, string, string) (net.Conn, error) { return s.server.Dial() }}
	redislock.Harden(o)
	s.client = redis.NewClient(o)
	c.t.Cleanup(func() { _ = s.client.Close() })
	s.Driver = s.driver(c, lines)
	if err := s.client.Ping(context.Background()).Err(); err != nil {
		c.t.Fatal(err)
	}
	m := memory{full: &c.full}
	s.server.Server().SetPreHook(func(from *server.Peer, name string, _ ...string) bool {
		if name == "EVALSHA" || name == "EVAL" { // the commands of a script see the time at which it began
			s.server.SetTime(c.now())
			return false
		}
		return m.refuses(from, name)
	})
	return s
}

// driver returns a driver for a node whose journals have so many lines.
func (s redisStore) driver(c *world, lines int) *redislock.Driver {
	d, err := redislock.New(s.client, redislock.Options{JournalLines: lines, JournalBytes: 1 << 34})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = d.Close() })
	return d
}

// A memory models a server at maxmemory. As in Redis, a script that has written may go on.
type memory struct {
	full *atomic.Bool

	mu    sync.Mutex
	wrote any // the context of the latest script that has written: each has one of its own
}

// refuses answers a command that takes memory and begins the writing of its script.
func (m *memory) refuses(from *server.Peer, name string) bool {
	grows := slices.Contains([]string{"SET", "INCRBY", "HSET", "HINCRBY", "SADD", "ZADD", "RPUSH", "LPUSH", "LSET"}, name)
	if !m.full.Load() || !grows && !slices.Contains([]string{"DEL", "PEXPIRE", "PERSIST", "HDEL", "SREM", "ZREM", "LPOP", "LREM", "LTRIM"}, name) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if grows && m.wrote != from.Ctx {
		from.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
		return true
	}
	m.wrote = from.Ctx
	return false
}

// Forget deletes all data and all scripts, as the restart of a server without persistence does.
func (s redisStore) Forget() {
	s.server.FlushAll()
	s.client.ScriptFlush(context.Background())
}

// evict deletes one key of a kind, and returns it, as a server does that has no memory left, and no policy against it.
func (s redisStore) evict(draw func(int) int) string {
	synctest.Wait() // until no other goroutine changes data meanwhile
	kinds := map[string][]string{}
	for _, key := range s.server.Keys() {
		parts := strings.Split(key, ":") // the namespace, v1, the partition, the kind
		kinds[parts[3]] = append(kinds[parts[3]], key)
	}
	if len(kinds) == 0 {
		return "nothing"
	}
	all := slices.Sorted(maps.Keys(kinds))
	keys := kinds[all[draw(len(all))]]
	key := keys[draw(len(keys))]
	s.server.Del(key)
	return key
}

// copied returns a function that restores the data as they are now, as a failover does to a replica that lags.
func (s redisStore) copied() (restore func()) {
	synctest.Wait() // until no other goroutine changes data meanwhile
	for _, key := range s.server.Keys() {
		_ = s.server.Copy(0, key, 1, key) // it exists
	}
	return func() {
		synctest.Wait()
		s.server.SwapDB(0, 1)
		s.server.DB(1).FlushDB()
	}
}
