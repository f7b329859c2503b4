package proof

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
)

// The kinds of Redis that lose no acknowledged write to a strike. Redis is one server that writes each change to its file; see crash.
// Of two disks of it that are full, one ends the server, and the other lets it refuse writes, because it does not sync each change then.
// In the others a strike kills the master that has the keys, waits until its replica is the master,
// and starts the server again as a replica.
var (
	Redis = Backend{Name: "Redis", start: func(t testing.TB) (string, func(*Cluster)) {
		s := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		return s.Addr(), crash(s.Server,
			func(c *Cluster, d *serverprocess.Disk) { c.fill(s.Server, d) },
			func(c *Cluster, d *serverprocess.Disk) {
				s.Tell("CONFIG SET appendfsync everysec")
				c.fill(s.Server, d)
				s.Tell("CONFIG SET appendfsync always")
			})
	}}
	Sentinel = Backend{Name: "Redis with Sentinels", Replicas: 1, names: true, start: func(t testing.TB) (string, func(*Cluster)) {
		master := redisserver.Start(t)
		servers := []*redisserver.Server{master, redisserver.Replica(t, master)}
		sentinels := redisserver.Sentinels(t, master, 1)
		return sentinel + addresses(sentinels), failover(servers, func(ctx context.Context) (string, error) {
			c := redis.NewSentinelClient(&redis.Options{Addr: sentinels[0].Addr()})
			defer c.Close()
			at, err := c.GetMasterAddrByName(ctx, redisserver.MasterName).Result()
			if err != nil {
				return "", err
			}
			return net.JoinHostPort(at[0], at[1]), nil
		})
	}}
	RedisCluster = Backend{Name: "Redis Cluster", Replicas: 1, names: true, start: func(t testing.TB) (string, func(*Cluster)) {
		servers := redisserver.Cluster(t, 3, 1)
		addr := cluster + addresses(servers)
		return addr, failover(servers, func(ctx context.Context) (string, error) {
			c := NewClient(addr).(*redis.ClusterClient)
			defer c.Close()
			master, err := c.MasterForKey(ctx, "{"+namespace+".0}")
			if err != nil {
				return "", err
			}
			return master.Options().Addr, nil
		})
	}}
)

func addresses(servers []*redisserver.Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return strings.Join(all, ",")
}

// failover returns a strike that kills the master, as master names it, and starts it again when another one is promoted and as its
// replica when that has its data.
func failover(servers []*redisserver.Server, master func(context.Context) (string, error)) func(c *Cluster) {
	return func(c *Cluster) {
		c.t.Helper()
		old, err := master(c.t.Context())
		at := slices.IndexFunc(servers, func(s *redisserver.Server) bool { return s.Addr() == old })
		if at < 0 {
			c.t.Fatalf("the master is %q, %v", old, err)
		}
		servers[at].Kill()
		now := ""
		c.until("another server is the master", func() bool {
			now, err = master(c.t.Context())
			return err == nil && now != old
		})
		servers[at].Restart()
		servers[at].AllowReplicas()
		c.until("the old master is a replica", func() bool { return replicas(c.t.Context(), now) > 0 })
	}
}

// replicas returns how many replicas a master has that have all its data.
func replicas(ctx context.Context, master string) int {
	c := NewClient(master)
	defer c.Close()
	return strings.Count(c.Info(ctx, "replication").Val(), "state=online")
}

// until waits until a condition outside of the board is true.
func (c *Cluster) until(what string, cond func() bool) {
	c.t.Helper()
	for begun := time.Now(); !cond(); <-time.After(probeEvery) {
		if time.Since(begun) > patience {
			c.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
