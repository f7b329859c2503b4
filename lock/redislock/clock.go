package redislock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

// Now reads the clock of the server, or of each master of a Cluster, sorted by
// address. A reading's Server is the address that the client was given; behind
// Sentinel it is the same for every master.
func (d *Driver) Now(ctx context.Context) ([]lock.Reading, error) {
	var mu sync.Mutex
	var readings []lock.Reading
	err := eachMaster(ctx, d.client, func(ctx context.Context, c redis.UniversalClient) error {
		sent := time.Now()
		t, err := bounded(ctx, d.prompt, func() (time.Time, error) { return c.Time(ctx).Result() })
		if err != nil {
			return err
		}
		r := lock.Reading{Server: address(c), Time: t, Sent: sent, Received: time.Now()}
		mu.Lock()
		defer mu.Unlock()
		readings = append(readings, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redislock: now: %w", err)
	}
	slices.SortFunc(readings, func(a, b lock.Reading) int { return strings.Compare(a.Server, b.Server) })
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

// Beat tells that node lives for ttl more. The reading is of the server with
// the list, in a Cluster one of several.
func (d *Driver) Beat(ctx context.Context, node string, ttl time.Duration) (lock.Pulse, error) {
	if err := lock.CheckBeat(node, ttl); err != nil {
		return lock.Pulse{}, err
	}
	sent := time.Now()
	reply, err := d.run(ctx, d.scripts.beating, []string{d.nodes()}, []any{node, ttl.Milliseconds()})
	if err != nil {
		return lock.Pulse{}, fmt.Errorf("redislock: beat: %w", err)
	}
	clock, nodes, ok := readBeat(reply)
	if !ok {
		return lock.Pulse{}, unreadable("beat", reply)
	}
	reading := lock.Reading{Server: address(d.client), Time: clock, Sent: sent, Received: time.Now()}
	return lock.Pulse{Nodes: nodes, Readings: []lock.Reading{reading}}, nil
}

// readBeat reads {us, node, node...}.
func readBeat(reply any) (clock time.Time, nodes []string, ok bool) {
	texts, ok := readTexts(reply)
	if !ok || len(texts) < 2 || slices.Contains(texts, "") {
		return time.Time{}, nil, false
	}
	us, err := strconv.ParseInt(texts[0], 10, 64)
	slices.Sort(texts[1:])
	return time.UnixMicro(us), texts[1:], err == nil && us > 0
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

// Leave takes node off the list.
func (d *Driver) Leave(ctx context.Context, node string) error {
	if err := lock.CheckName("node", node); err != nil {
		return err
	}
	_, err := bounded(ctx, d.prompt, func() (int64, error) { return d.client.ZRem(ctx, d.nodes(), node).Result() })
	if err != nil {
		return fmt.Errorf("redislock: leave: %w", err)
	}
	return nil
}

// nodes is the key of the list. It lives in the first shard.
func (d *Driver) nodes() string { return d.keys.shards[0] + "nodes" }
