package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// A replica that has lost its master, and may not return its data.
func TestMasterDownIsDoubt(t *testing.T) {
	s := redisserver.Start(t, "--replica-serve-stale-data", "no")
	d := newDriver(t, client(t, s.Addr()), redislock.Options{})
	s.Tell("REPLICAOF 127.0.0.1 1")
	doubts(t, d, 1, "MASTERDOWN")
}

// A server that is loading its data answers no request, and then all of them: a caller with time
// repeats its request, and is granted.
func TestLoadingIsDoubt(t *testing.T) {
	s := redisserver.Start(t, "--enable-debug-command", "yes")
	c := client(t, s.Addr())
	d := newDriver(t, c, redislock.Options{})
	due := open(t, d, c, "job")
	s.Tell("DEBUG POPULATE 2000 filler", "CONFIG SET loading-process-events-interval-bytes 1024", "CONFIG SET key-load-delay 1500")
	patient := client(t, s.Addr(), func(o *redis.UniversalOptions) { o.ReadTimeout = time.Minute })
	reloaded := make(chan error, 1)
	go func() { reloaded <- patient.Do(context.Background(), "debug", "reload").Err() }()
	until(t, "the server is loading", func() bool { return strings.HasPrefix(fmt.Sprint(c.Ping(t.Context()).Err()), "LOADING") })
	doubts(t, d, due, "LOADING")
	lease, err := lock.New(d, "a").Acquire(t.Context(), "key", lock.Options{})
	must(t, err)
	must(t, lease.Release(t.Context()))
	must(t, <-reloaded)
}

// A node of a Cluster that has no slots, and one that has lost the others.
func TestClusterDownIsDoubt(t *testing.T) {
	s := redisserver.Start(t, "--cluster-enabled", "yes")
	doubts(t, newDriver(t, client(t, s.Addr()), redislock.Options{}), 1, "CLUSTERDOWN")
}

// The answer of a Cluster node about keys that another node has, or that are moving, is no answer
// for a client that does not follow them.
func TestMovedIsDoubt(t *testing.T) {
	t.Parallel() // it waits for the servers to meet
	nodes := redisserver.Cluster(t, 3, 0)
	for _, s := range nodes {
		c := client(t, s.Addr())
		err := acquireFor(t, newDriver(t, c, redislock.Options{}), "key", "a/1", 0)
		if moved := err != nil; moved && !strings.Contains(err.Error(), "MOVED") {
			t.Errorf("%s answers %v", s.Addr(), err)
		} else if moved {
			continue
		}
		slot := int(c.(*redis.Client).ClusterKeySlot(t.Context(), "cronce:v1:l:{key}").Val())
		other := nodes[0]
		if other == s {
			other = nodes[1]
		}
		s.Tell(fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, other.NodeID()))
		err = acquireFor(t, newDriver(t, c, redislock.Options{}), "key", "b/1", 0)
		// The lock is here, its queue is not: 6.2 sends all of it there, where TRYAGAIN is the answer.
		if err == nil || !strings.Contains(err.Error(), "TRYAGAIN") && !strings.Contains(err.Error(), "ASK") {
			t.Errorf("of a lock that is half on its way it answers %v", err)
		}
		must(t, c.Del(t.Context(), "cronce:v1:l:{key}").Err())
		err = acquireFor(t, newDriver(t, c, redislock.Options{}), "key", "b/1", 0)
		if err == nil || !strings.Contains(err.Error(), "ASK") {
			t.Errorf("of a lock that is on its way it answers %v", err)
		}
	}
}
