package redislock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// Beat implements [series.Membership]. Its reading is the clock of the server with the list, in a
// Cluster one of several.
func (d *Driver) Beat(ctx context.Context, node string, ttl time.Duration) (series.BeatAnswer, error) {
	sent := time.Now()
	reply, err := d.run(ctx, d.scripts.beat, []string{d.nodes()}, []any{node, ttl.Milliseconds()})
	if err != nil {
		return series.BeatAnswer{}, fmt.Errorf("redislock: beat: %w", err)
	}
	r, nodes, ok := readReading(reply)
	if !ok || len(nodes) == 0 {
		return series.BeatAnswer{}, unreadable("beat", reply)
	}
	r.Server, r.Sent, r.Received = address(d.client), sent, time.Now()
	nodes = slices.DeleteFunc(nodes, func(n string) bool { return driver.CheckName("node", n) != nil })
	slices.Sort(nodes)
	return series.BeatAnswer{Nodes: nodes, Readings: []driver.ClockReading{r}}, nil
}

// Leave implements [series.Membership].
func (d *Driver) Leave(ctx context.Context, node string) error {
	if _, err := d.run(ctx, d.scripts.beat, []string{d.nodes()}, []any{node, 0}); err != nil {
		return fmt.Errorf("redislock: leave: %w", err)
	}
	return nil
}

// Members implements [series.Membership]. It omits data that cannot be a node.
func (d *Driver) Members(ctx context.Context) (series.MemberList, error) {
	reply, err := d.run(ctx, d.scripts.members, []string{d.nodes()}, nil)
	if err != nil {
		return series.MemberList{}, fmt.Errorf("redislock: members: %w", err)
	}
	r, rest, ok := readReading(reply)
	if !ok || len(rest)%2 != 0 {
		return series.MemberList{}, unreadable("members", reply)
	}
	roll := series.MemberList{Now: r.Time.UnixMilli()}
	for pair := range slices.Chunk(rest, 2) {
		score, err := strconv.ParseFloat(pair[1], 64)
		if err != nil || driver.CheckName("node", pair[0]) != nil || math.Abs(score) > driver.MaxNumber {
			continue
		}
		m := series.Member{Node: pair[0], Until: max(0, int64(score)), Left: max(0, int64(-score))}
		roll.Members = append(roll.Members, m)
	}
	roll.Trim()
	return roll, nil
}

// nodes returns the key of the list, which is in the first partition.
func (d *Driver) nodes() string { return d.keys.partitions[0] + "nodes" }
