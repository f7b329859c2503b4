package failover_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
)

// A topology is a group of servers. One of them has all the keys of a test, and can be replaced by its
// replica.
type topology struct {
	name    string
	master  *redisserver.Server // of the keys
	replica *redisserver.Server // of that master
	before  redis.UniversalOptions
	after   redis.UniversalOptions // the clients' options for the replica after its promotion
	promote func()                 // makes the replica the master
	lock    string                 // a lock of that master
}

// jobName is the series of the tests, which the master has, too.
const jobName = "job"

// byHand is a master that is left to itself when its replica is promoted: both
// answer.
func byHand(t *testing.T) *topology {
	master := redisserver.Start(t)
	replica := redisserver.Replica(t, master)
	return &topology{
		name: "by hand", master: master, replica: replica,
		before:  redis.UniversalOptions{Addrs: []string{master.Addr()}},
		after:   redis.UniversalOptions{Addrs: []string{replica.Addr()}},
		promote: func() { replica.Tell("REPLICAOF NO ONE") },
		lock:    "key",
	}
}

// bySentinel is a master that dies and is replaced by three Sentinels.
func bySentinel(t *testing.T) *topology {
	master := redisserver.Start(t)
	replica := redisserver.Replica(t, master)
	o := redis.UniversalOptions{MasterName: redisserver.MasterName}
	for _, s := range redisserver.Sentinels(t, master, 1) {
		o.Addrs = append(o.Addrs, s.Addr())
	}
	return &topology{name: "by Sentinel", master: master, replica: replica, before: o, after: o, promote: master.Kill, lock: "key"}
}

// inCluster is a master of three that dies and is replaced by the others' vote.
func inCluster(t *testing.T) *topology {
	nodes := redisserver.Cluster(t, 3, 1)
	o := redis.UniversalOptions{IsClusterMode: true}
	for _, s := range nodes[1:] {
		o.Addrs = append(o.Addrs, s.Addr())
	}
	first := masterOf(t, o, "cronce:v1:{cronce.0}:s:"+jobName)
	name := "key"
	for i := 0; masterOf(t, o, "cronce:v1:l:{"+name+"}") != first; i++ {
		name = fmt.Sprintf("lock-%d", i)
	}
	for i := range 3 {
		if nodes[i].Addr() == first {
			return &topology{name: "in a Cluster", master: nodes[i], replica: nodes[3+i], before: o, after: o, promote: nodes[i].Kill, lock: name}
		}
	}
	t.Fatalf("no master at %s", first)
	return nil
}

// masterOf is the address of the master of a Cluster that has a key.
func masterOf(t *testing.T, o redis.UniversalOptions, key string) string {
	t.Helper()
	m, err := client(t, o).(*redis.ClusterClient).MasterForKey(t.Context(), key)
	must(t, err)
	return m.Options().Addr
}

// each runs a test on every topology, beside other tests.
func each(t *testing.T, f func(t *testing.T, at *topology)) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *topology{"by hand": byHand, "by Sentinel": bySentinel, "in a Cluster": inCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, start(t))
		})
	}
}

func newClient(o redis.UniversalOptions) redis.UniversalClient {
	o.Addrs = slices.Clone(o.Addrs) // a client for a Cluster adds to them
	redislock.Harden(&o)
	return redis.NewUniversalClient(&o)
}

func client(t *testing.T, o redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	c := newClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func newDriver(t *testing.T, o redis.UniversalOptions) *redislock.Driver {
	t.Helper()
	d, err := redislock.New(client(t, o), redislock.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// becomes waits for something to come true.
func becomes(t *testing.T, what string, is func() bool) {
	t.Helper()
	for give := time.Now().Add(2 * time.Minute); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("it never came true: %s", what)
		}
	}
}

// copied waits until the replica has all that was written.
func (at *topology) copied(t *testing.T, d *redislock.Driver) {
	t.Helper()
	becomes(t, "the replica has everything", func() bool {
		n, err := d.Replicas(context.Background(), at.lock)
		return err == nil && n == 1
	})
}

// still makes the master hold back further writes, and waits until the replica has all earlier ones. A
// caller whose request is under way then loses its server without a reply.
func (at *topology) still(t *testing.T) {
	t.Helper()
	at.master.Tell(fmt.Sprintf("CLIENT PAUSE %d WRITE", time.Hour.Milliseconds()))
	all := regexp.MustCompile(`(?s)slave0:[^\r]*offset=(\d+),.*\nmaster_repl_offset:(\d+)\r`)
	becomes(t, "the replica has everything", func() bool {
		m := all.FindStringSubmatch(at.master.Tell("INFO replication"))
		return m != nil && m[1] == m[2]
	})
}
