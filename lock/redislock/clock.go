package redislock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// Now reads the clock of the server, or of each master of a Cluster, sorted by
// address. A reading's Server is the address that the client was given; behind
// Sentinel it is the same for every master. Masters that do not answer are left out, as
// long as one does. Its Process is the server's run id,
// empty if the user may not ask INFO.
func (d *Driver) Now(ctx context.Context) ([]driver.ClockReading, error) {
	var mu sync.Mutex
	var readings []driver.ClockReading
	err := eachMaster(ctx, d.client, func(ctx context.Context, c redis.UniversalClient) error {
		sent := time.Now()
		reply, err := bounded(ctx, d.prompt, func() (any, error) { return evaluate(ctx, c, d.scripts.now, requestOf(nil)) })
		if err != nil {
			return err
		}
		r, rest, ok := readReading(reply)
		if !ok || len(rest) > 0 {
			return unreadable("now", reply)
		}
		r.Server, r.Sent, r.Received = address(c), sent, time.Now()
		mu.Lock()
		defer mu.Unlock()
		readings = append(readings, r)
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	if len(readings) == 0 && err != nil {
		return nil, fmt.Errorf("redislock: now: %w", err)
	}
	slices.SortFunc(readings, func(a, b driver.ClockReading) int { return strings.Compare(a.Server, b.Server) })
	return readings, nil
}

// eachMaster calls f for each server that judges leases: side by side in a
// Cluster.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
}

// address is the one that the client was given.
func address(client redis.UniversalClient) string {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ",")
	}
	return "redis"
}

// Beat records that node lives for ttl more. The reading is of the server with
// the list, in a Cluster one of several.
func (d *Driver) Beat(ctx context.Context, node string, ttl time.Duration) (driver.BeatAnswer, error) {
	if err := driver.CheckBeat(node, ttl); err != nil {
		return driver.BeatAnswer{}, err
	}
	sent := time.Now()
	reply, err := d.run(ctx, d.scripts.beat, []string{d.nodes()}, []any{node, ttl.Milliseconds()})
	if err != nil {
		return driver.BeatAnswer{}, fmt.Errorf("redislock: beat: %w", err)
	}
	r, nodes, ok := readReading(reply)
	if !ok || len(nodes) == 0 {
		return driver.BeatAnswer{}, unreadable("beat", reply)
	}
	r.Server, r.Sent, r.Received = address(d.client), sent, time.Now()
	nodes = slices.DeleteFunc(nodes, func(n string) bool { return driver.CheckName("node", n) != nil })
	slices.Sort(nodes)
	return driver.BeatAnswer{Nodes: nodes, Readings: []driver.ClockReading{r}}, nil
}

// readReading reads {us, process, text...}.
func readReading(reply any) (r driver.ClockReading, rest []string, ok bool) {
	texts, ok := readTexts(reply)
	if !ok || len(texts) < 2 {
		return driver.ClockReading{}, nil, false
	}
	us, err := strconv.ParseInt(texts[0], 10, 64)
	return driver.ClockReading{Time: time.UnixMicro(us), Process: texts[1]}, texts[2:], err == nil && us > 0
}

// readTexts reads a reply that is a list of texts.
func readTexts(reply any) ([]string, bool) {
	parts, ok := reply.([]any)
	texts := make([]string, len(parts))
	for i := 0; ok && i < len(parts); i++ {
		texts[i], ok = parts[i].(string)
	}
	return texts, ok
}

// Leave takes node off the list of those that live, and records when it left.
func (d *Driver) Leave(ctx context.Context, node string) error {
	if err := driver.CheckName("node", node); err != nil {
		return err
	}
	if _, err := d.run(ctx, d.scripts.leave, []string{d.nodes()}, []any{node}); err != nil {
		return fmt.Errorf("redislock: leave: %w", err)
	}
	return nil
}

// Members reads the list of nodes and changes nothing. What cannot be a node is
// left out.
func (d *Driver) Members(ctx context.Context) (driver.MemberList, error) {
	reply, err := d.run(ctx, d.scripts.members, []string{d.nodes()}, nil)
	if err != nil {
		return driver.MemberList{}, fmt.Errorf("redislock: members: %w", err)
	}
	r, rest, ok := readReading(reply)
	if !ok || len(rest)%2 != 0 {
		return driver.MemberList{}, unreadable("members", reply)
	}
	roll := driver.MemberList{Now: r.Time.UnixMilli()}
	for pair := range slices.Chunk(rest, 2) {
		score, err := strconv.ParseFloat(pair[1], 64)
		if err != nil || driver.CheckName("node", pair[0]) != nil || math.Abs(score) > driver.MaxNumber {
			continue
		}
		m := driver.Member{Node: pair[0], Until: max(0, int64(score)), Left: max(0, int64(-score))}
		roll.Members = append(roll.Members, m)
	}
	roll.Members = driver.LatestMembers(roll.Members, roll.Now)
	return roll, nil
}

// nodes is the key of the list. It lives in the first shard.
func (d *Driver) nodes() string { return d.keys.shards[0] + "nodes" }
