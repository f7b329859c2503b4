package redislock_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const slots = 16384

// cluster starts a Cluster of three masters.
func cluster(t *testing.T) []*redisserver.Server {
	t.Helper()
	servers := make([]*redisserver.Server, 3)
	for i := range servers {
		servers[i] = redisserver.Start(t, "--cluster-enabled", "yes", "--appendonly", "yes")
		c := client(t, servers[i].Addr())
		must(t, c.ClusterAddSlotsRange(t.Context(), i*slots/3, (i+1)*slots/3-1).Err())
		if i > 0 {
			must(t, c.ClusterMeet(t.Context(), "127.0.0.1", strconv.Itoa(servers[0].Port())).Err())
		}
	}
	for _, s := range servers {
		c := client(t, s.Addr())
		until(t, s.Addr()+" sees the whole Cluster", func() bool {
			info := c.ClusterInfo(t.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	return servers
}

// On a Cluster of three masters, and with the minimal rights, series are spread
// over partitions, each request goes where its keys are, and locks are spread by key.
func TestCluster(t *testing.T) {
	t.Parallel() // it waits for the servers to meet
	servers := cluster(t)
	rules := append([]string{"on", ">secret"}, redislock.AccessRules("cronce")...)
	for _, s := range servers {
		must(t, client(t, s.Addr()).ACLSetUser(t.Context(), "worker", append(rules, redislock.ClusterAccessRules()...)...).Err())
	}
	c := client(t, servers[0].Addr(), func(o *redis.UniversalOptions) {
		o.IsClusterMode, o.Username, o.Password = true, "worker", "secret"
	})
	d := newDriver(t, c, redislock.Options{Partitions: 16})
	keys := names(100)
	due := open(t, d, c, keys...)
	cs := make([]series.Claim, len(keys))
	for i, key := range keys {
		cs[i] = claimOf(key, fmt.Sprint("a/", i), due)
	}
	runs := make([]series.RunRef, len(keys))
	ends := make([]series.EndRequest, len(keys))
	for i, a := range d.Claim(t.Context(), cs) {
		if a.Kind != series.KindGranted {
			t.Fatalf("claim %d: %+v", i, a)
		}
		runs[i] = runOf(cs[i], a)
		ends[i] = series.EndRequest{RunRef: runs[i], OK: true, Outcome: "ok"}
	}
	for i, a := range peeks(t, d, due, keys...) {
		if a == nil || a.Kind != series.KindPassed || a.Node != "a" || a.Err != nil {
			t.Errorf("peek %d: %+v", i, a)
		}
	}
	for i, r := range d.RenewRuns(t.Context(), runs) {
		if !r.Alive {
			t.Errorf("renewal %d: %+v", i, r)
		}
	}
	for i, e := range d.ReleaseRuns(t.Context(), ends) {
		if !e.Ended {
			t.Errorf("release %d: %+v", i, e)
		}
	}
	spread(t, servers)
	clusterReads(t, d, keys, due)
	for i := range 20 {
		h := acquire(t, d, "key {"+strconv.Itoa(i), "a/1")
		_, err := d.Renew(t.Context(), h)
		must(t, err)
		must(t, d.Release(t.Context(), h))
	}
	clusterWaits(t, d)
	for i := range 9 {
		key := fmt.Sprint("taken {", i)
		takesLeases(t, d, acquire(t, d, key+" to be handed over", "a/1"), shareWith(t, d, key, "a/1"), shareWith(t, d, key, "a/2"), acquire(t, d, key+" alone", "a/1"))
	}
}

// clusterWaits hands locks of several slots on to waiters, whose inbox is on any
// of the servers.
func clusterWaits(t *testing.T, d *redislock.Driver) {
	t.Helper()
	t.Cleanup(func() { must(t, d.Close()) })
	l := lock.New(d, "a")
	for i := range 9 {
		first := acquireKey(t, l, fmt.Sprint("key-", i))
		got := waiting(t, l, first.Key())
		must(t, first.Release(t.Context()))
		must(t, soon(t, got).Release(t.Context()))
	}
}

// spread fails the test unless every master has series.
func spread(t *testing.T, servers []*redisserver.Server) {
	t.Helper()
	for _, s := range servers {
		if n := client(t, s.Addr()).DBSize(t.Context()).Val(); n < 30 {
			t.Errorf("%s has %d keys of 300", s.Addr(), n)
		}
	}
}

func clusterReads(t *testing.T, d *redislock.Driver, keys []string, number int64) {
	t.Helper()
	all, err := d.Keys(t.Context())
	must(t, err)
	if len(all) != len(keys) {
		t.Errorf("%d series are listed, want %d", len(all), len(keys))
	}
	j, err := d.Journal(t.Context(), keys[7], 0)
	must(t, err)
	if len(j.Lines) != 2 || j.Lines[1].To != number || j.Lines[1].Outcome != "ok" {
		t.Errorf("the journal is %+v", j)
	}
	readings, err := d.Now(t.Context())
	must(t, err)
	if len(readings) != 3 || readings[0].Server == readings[1].Server {
		t.Errorf("the clocks of three masters are %+v", readings)
	}
	p, err := d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute})
	must(t, err)
	if fmt.Sprint(p.Nodes) != "[a]" {
		t.Errorf("the nodes are %q", p.Nodes)
	}
	must(t, d.Leave(t.Context(), "a"))
}

// Each master of a Cluster is checked.
func TestCheckCluster(t *testing.T) {
	t.Parallel() // it waits for the servers to meet
	servers := cluster(t)
	c := client(t, servers[0].Addr(), func(o *redis.UniversalOptions) { o.IsClusterMode = true })
	must(t, client(t, servers[2].Addr()).ConfigSet(t.Context(), "maxmemory", "50mb").Err())
	must(t, client(t, servers[2].Addr()).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lfu").Err())
	found, err := redislock.Check(t.Context(), c, redislock.CheckOptions{})
	const fine = "connection=ok connection=ok connection=ok eviction=ok eviction=ok eviction=refuse persistence=ok persistence=ok persistence=ok role=ok role=ok role=ok version=ok version=ok version=ok"
	checked(t, found, err, "client=ok "+fine, "allkeys-lfu")
	for _, f := range found {
		if f.Level == redislock.LevelRefuse && f.Server != servers[2].Addr() {
			t.Errorf("the finding is about %q: %+v", f.Server, f)
		}
	}
}
