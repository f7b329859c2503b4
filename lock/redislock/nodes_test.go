package redislock_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

const nodesKey = "cronce:v1:{cronce.0}:nodes"

// forge writes nodes to the list behind the driver's back.
func forge(t *testing.T, c redis.UniversalClient, n int, score func(i int) float64) {
	t.Helper()
	for some := range slices.Chunk(make([]struct{}, n), 5000) {
		zs := make([]redis.Z, len(some))
		for i := range zs {
			zs[i] = redis.Z{Score: score(i), Member: fmt.Sprintf("forged-%v-%d", score(i), i+n)}
		}
		must(t, c.ZAdd(t.Context(), nodesKey, zs...).Err())
		n -= len(some)
	}
}

// A list of nodes that was tampered with, however long it is, costs a beat little,
// shrinks, and hides no node that lives.
func TestForgedNodes(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	now := float64(time.Now().UnixMilli())
	const day, many = 86_400_000, 60_000
	for name, score := range map[string]func(i int) float64{
		"live for ever":          func(int) float64 { return math.Inf(1) },
		"live for a year":        func(int) float64 { return now + 365*day },
		"left before time began": func(int) float64 { return math.Inf(-1) },
		"live for some hours":    func(i int) float64 { return now + day/4 + float64(i) },
		"died long ago":          func(i int) float64 { return float64(i) },
		"left lately":            func(i int) float64 { return -now + float64(i) },
	} {
		must(t, c.Del(t.Context(), nodesKey).Err())
		forge(t, c, many, score)
		for _, node := range []string{"a", "b"} {
			p, err := d.Beat(t.Context(), series.Beat{Node: node, TTL: 25 * time.Second})
			if err != nil || !slices.Contains(p.Nodes, node) || !slices.Contains(p.Nodes, "a") || len(p.Nodes) > series.MaxNodes {
				t.Errorf("forged nodes that %s: %d nodes are returned to %s, %v", name, len(p.Nodes), node, err)
			}
		}
		roll, err := d.Members(t.Context())
		if err != nil || len(roll.Members) > series.MaxNodes+series.MaxGone {
			t.Errorf("forged nodes that %s: %d members, %v", name, len(roll.Members), err)
		}
		for _, node := range []string{"a", "b"} {
			i := slices.IndexFunc(roll.Members, func(m series.Member) bool { return m.Node == node })
			if i < 0 || !roll.Members[i].Alive(roll.Now) {
				t.Errorf("forged nodes that %s: %s is not listed as alive", name, node)
			}
		}
		if left := c.ZCard(t.Context(), nodesKey).Val(); left > many+2-2*500 {
			t.Errorf("forged nodes that %s: %d are left after two beats", name, left)
		}
	}
}

// A node that left, and one that fell silent, are remembered over the beats of others; the
// latest come first where there are more than are returned. A node lives before the end of its
// time, and not at it.
func TestGoneNodesAreRemembered(t *testing.T) {
	server := simulated(t)
	c := client(t, server.Addr())
	d, now := newDriver(t, c, redislock.Options{}), server.time()
	beat := func(node string, live time.Duration) series.BeatAnswer {
		t.Helper()
		p, err := d.Beat(t.Context(), series.Beat{Node: node, TTL: live})
		must(t, err)
		return p
	}
	beat("left", time.Minute)
	beat("silent", time.Second)
	must(t, d.Leave(t.Context(), "left"))
	server.set(now.Add(time.Second - time.Millisecond))
	if p := beat("a", time.Hour); !slices.Contains(p.Nodes, "silent") {
		t.Errorf("the nodes are %q, 1 ms before the end of one", p.Nodes)
	}
	server.set(now.Add(time.Second))
	if p := beat("a", time.Hour); fmt.Sprint(p.Nodes) != "[a]" {
		t.Errorf("the nodes are %q", p.Nodes)
	}
	roll, err := d.Members(t.Context())
	must(t, err)
	gone := map[string]series.Member{}
	for _, m := range roll.Members {
		gone[m.Node] = m
	}
	if len(gone) != 3 || gone["left"].Left != now.UnixMilli() || gone["silent"].Until != now.Add(time.Second).UnixMilli() {
		t.Errorf("%+v", roll.Members)
	}

	forge(t, c, series.MaxGone, func(i int) float64 { return float64(now.UnixMilli() - 1000 - int64(i)) })
	roll, err = d.Members(t.Context())
	must(t, err)
	if !slices.ContainsFunc(roll.Members, func(m series.Member) bool { return m.Node == "silent" }) {
		t.Error("the latest node that fell silent is not returned")
	}
}

// A name of 200 bytes is one, and 10,000 nodes are kept.
func TestBoundsOfNodes(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	now := float64(time.Now().UnixMilli())
	long := strings.Repeat("x", 200)
	must(t, c.ZAdd(t.Context(), nodesKey, redis.Z{Score: now + 60_000, Member: long}, redis.Z{Score: now + 60_000, Member: long + "x"}).Err())
	p, err := d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute})
	if err != nil || len(p.Nodes) != 2 || !slices.Contains(p.Nodes, long) {
		t.Errorf("%d nodes are returned, %v", len(p.Nodes), err)
	}
	must(t, c.Del(t.Context(), nodesKey).Err())
	forge(t, c, 9999, func(i int) float64 { return now - 1000 })
	for _, want := range []int64{10_000, 10_001, 9_502} { // excess nodes are deleted before one is added
		_, err := d.Beat(t.Context(), series.Beat{Node: fmt.Sprint("b", want), TTL: time.Minute})
		if n := c.ZCard(t.Context(), nodesKey).Val(); err != nil || n != want {
			t.Errorf("%d nodes are kept, %v, want %d", n, err, want)
		}
	}
}

// Data that cannot be a node's name is neither returned nor kept.
func TestForgedNames(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	until := float64(time.Now().Add(time.Minute).UnixMilli())
	for _, name := range []string{"", "a|b", "\x1b[31m", "\xff", strings.Repeat("x", 1<<20)} {
		must(t, c.ZAdd(t.Context(), nodesKey, redis.Z{Score: until, Member: name}).Err())
	}
	p, err := d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute})
	if err != nil || fmt.Sprint(p.Nodes) != "[a]" {
		t.Errorf("the nodes are %.200q, %v", p.Nodes, err)
	}
	roll, err := d.Members(t.Context())
	if err != nil || len(roll.Members) != 1 || roll.Members[0].Node != "a" {
		t.Errorf("the members are %d, %v", len(roll.Members), err)
	}
	if n := c.MemoryUsage(t.Context(), nodesKey, 0).Val(); n > 10_000 {
		t.Errorf("the list takes %d bytes", n)
	}
}

// With more nodes than are returned, the asker is among those that are.
func TestMoreNodesThanAreReturned(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	now := float64(time.Now().UnixMilli())
	forge(t, c, series.MaxNodes, func(i int) float64 { return now + 20_000 + float64(i) })
	p, err := d.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Hour})
	if err != nil || len(p.Nodes) != series.MaxNodes || !slices.Contains(p.Nodes, "a") {
		t.Errorf("%d nodes are returned, %v", len(p.Nodes), err)
	}
}

// A driver that has the list gets it again only if other nodes live: also if one came as another one went, for
// each way to come and to go.
func TestListOfNodesIsReturnedWhenItChanges(t *testing.T) {
	first, c := realDriver(t, redislock.Options{})
	second, err := redislock.New(c, redislock.Options{})
	must(t, err)
	beat := func(d *redislock.Driver, node string, want ...string) {
		t.Helper()
		if a, err := d.Beat(t.Context(), series.Beat{Node: node, TTL: time.Minute}); err != nil || !slices.Equal(a.Nodes, want) {
			t.Fatalf("a beat of %s returns %q, %v; want %q", node, a.Nodes, err, want)
		}
	}
	dies := func(node string) {
		must(t, c.ZAdd(t.Context(), nodesKey, redis.Z{Score: float64(time.Now().Add(-time.Second).UnixMilli()), Member: node}).Err())
	}
	beat(second, "b", "b")
	beat(first, "a", "a", "b")
	dies("b")
	beat(second, "c", "a", "c") // a new node comes
	beat(first, "a", "a", "c")
	must(t, second.Leave(t.Context(), "c"))
	beat(second, "b", "a", "b") // one that was silent comes back
	beat(first, "a", "a", "b")
	dies("b")
	beat(second, "c", "a", "c") // one that left comes back
	beat(first, "a", "a", "c")
	must(t, c.FlushAll(t.Context()).Err())
	beat(second, "b", "b")
	beat(first, "a", "a", "b")

	before := repliesOf(t, c)
	for range 100 {
		beat(first, "a", "a", "b")
	}
	forge(t, c, 500, func(i int) float64 { return float64(time.Now().Add(time.Minute).UnixMilli()) })
	known := repliesOf(t, c) - before
	if a, err := first.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute}); err != nil || len(a.Nodes) != 502 {
		t.Fatalf("%d nodes, %v; want 502", len(a.Nodes), err)
	}
	before = repliesOf(t, c)
	for range 100 {
		if a, err := first.Beat(t.Context(), series.Beat{Node: "a", TTL: time.Minute}); err != nil || len(a.Nodes) != 502 {
			t.Fatalf("%d nodes, %v; want 502", len(a.Nodes), err)
		}
	}
	if many := repliesOf(t, c) - before; many > 2*known {
		t.Errorf("100 beats to a list of 502 nodes that has not changed cost %d bytes, to one of 2 nodes %d", many, known)
	}
}

// A failover that lost the last node that came does not hide the next one that comes: the list has as many nodes then
// as before it, and as many have come.
func TestListOfNodesAfterAFailover(t *testing.T) {
	first, c := realDriver(t, redislock.Options{})
	second, err := redislock.New(c, redislock.Options{})
	must(t, err)
	const came = "cronce:v1:{cronce.0}:came"
	for _, forged := range []string{"", "nan", "inf", "-1", "9e99", "9223372036854775807", "x"} {
		must(t, c.FlushAll(t.Context()).Err())
		beat := func(d *redislock.Driver, node string, want ...string) {
			t.Helper()
			if a, err := d.Beat(t.Context(), series.Beat{Node: node, TTL: time.Minute}); err != nil || !slices.Equal(a.Nodes, want) {
				t.Fatalf("after %q a beat of %s returns %q, %v; want %q", forged, node, a.Nodes, err, want)
			}
		}
		beat(first, "a", "a")
		if forged != "" {
			must(t, c.Set(t.Context(), came, forged, 0).Err())
		}
		known := c.Get(t.Context(), came).Val()
		beat(second, "b", "a", "b")
		beat(first, "a", "a", "b")
		must(t, c.ZRem(t.Context(), nodesKey, "b").Err())
		must(t, c.Set(t.Context(), came, known, 0).Err())
		beat(second, "c", "a", "c")
		beat(first, "a", "a", "c")
	}
	must(t, c.Del(t.Context(), came).Err())
	must(t, c.SAdd(t.Context(), came, "x").Err())
	if a, err := second.Beat(t.Context(), series.Beat{Node: "d", TTL: time.Minute}); err != nil || len(a.Nodes) != 3 {
		t.Errorf("%q, %v", a.Nodes, err)
	}
}

// repliesOf returns the number of bytes that a server has sent.
func repliesOf(t *testing.T, c redis.UniversalClient) (n int64) {
	t.Helper()
	for line := range strings.Lines(c.Info(t.Context(), "stats").Val()) {
		if value, is := strings.CutPrefix(line, "total_net_output_bytes:"); is {
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

// A server that is full keeps the offsets of clocks, and takes those that have changed. A key of another type in
// their place costs no heartbeat.
func TestOffsetsOfAFullServer(t *testing.T) {
	t.Parallel()
	c := client(t, redisserver.Start(t).Addr())
	d := newDriver(t, c, redislock.Options{Namespace: "full"})
	beat := func(node string, ahead time.Duration) {
		t.Helper()
		_, err := d.Beat(t.Context(), series.Beat{Node: node, TTL: time.Minute, Ahead: ahead})
		must(t, err)
	}
	want := func(node string, ms int64) {
		t.Helper()
		list, err := d.Members(t.Context())
		must(t, err)
		for _, m := range list.Members {
			if m.Node == node && (m.Ahead == nil || *m.Ahead != ms) {
				t.Errorf("the clock of %s is %v ms ahead, want %d", node, m.Ahead, ms)
			}
		}
	}
	beat("a", time.Second)
	beat("b", time.Minute)
	must(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	beat("b", 2*time.Minute)
	want("a", 1000)
	want("b", 120_000)
	must(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	var key string
	for _, k := range c.Keys(t.Context(), "*").Val() {
		if strings.HasSuffix(k, ":ahead") {
			key = k
		}
	}
	must(t, c.Set(t.Context(), key, "no hash", 0).Err())
	beat("a", 0)
	beat("a", 3*time.Second)
	want("a", 3000)
}
