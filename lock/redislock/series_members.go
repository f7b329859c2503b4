package redislock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A roll is the list of live nodes as a server returned it last. A driver asks only for another version of it: the
// list of a thousand nodes, sent to each of them every few seconds, would cost a server more than their ticks.
type roll struct {
	mu      sync.Mutex
	version string
	nodes   []string
}

// Beat implements [series.Membership]. Its reading is the clock of the server with the list, in a
// Cluster one of several.
func (d *Driver) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	known, nodes := d.roll.get()
	sent := time.Now()
	reply, err := d.run(ctx, d.scripts.beat, d.nodeKeys(), []any{b.Node, b.TTL.Milliseconds(), known, b.Ahead.Milliseconds()})
	if err != nil {
		return series.BeatAnswer{}, fmt.Errorf("redislock: beat: %w", err)
	}
	r, rest, ok := readReading(reply)
	if !ok || len(rest) == 0 || len(rest) == 1 && rest[0] != known {
		return series.BeatAnswer{}, unreadable("beat", reply)
	}
	r.Server, r.Sent, r.Received = address(d.client), sent, time.Now()
	if len(rest) > 1 {
		nodes = slices.DeleteFunc(rest[1:], func(n string) bool { return driver.CheckName("node", n) != nil })
		slices.Sort(nodes)
		d.roll.set(rest[0], nodes)
	}
	return series.BeatAnswer{Nodes: slices.Clone(nodes), Readings: []driver.ClockReading{r}}, nil
}

func (l *roll) get() (version string, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version, l.nodes
}

func (l *roll) set(version string, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version, l.nodes = version, nodes
}

// Leave implements [series.Membership].
func (d *Driver) Leave(ctx context.Context, node string) error {
	if _, err := d.run(ctx, d.scripts.beat, d.nodeKeys(), []any{node, 0, "", 0}); err != nil {
		return fmt.Errorf("redislock: leave: %w", err)
	}
	return nil
}

// Members implements [series.Membership]. It omits data that cannot be a node.
func (d *Driver) Members(ctx context.Context) (series.MemberList, error) {
	reply, err := d.run(ctx, d.scripts.members, []string{d.nodes(), d.ahead()}, nil)
	if err != nil {
		return series.MemberList{}, fmt.Errorf("redislock: members: %w", err)
	}
	r, rest, ok := readReading(reply)
	if !ok || len(rest)%3 != 0 {
		return series.MemberList{}, unreadable("members", reply)
	}
	roll := series.MemberList{Now: r.Time.UnixMilli()}
	for of := range slices.Chunk(rest, 3) {
		score, err := strconv.ParseFloat(of[1], 64)
		if err != nil || driver.CheckName("node", of[0]) != nil || math.Abs(score) > driver.MaxNumber {
			continue
		}
		m := series.Member{Node: of[0], Until: max(0, int64(score)), Left: max(0, int64(-score))}
		m.Ahead, _ = strconv.ParseInt(of[2], 10, 64) // only for display
		roll.Members = append(roll.Members, m)
	}
	roll.Trim()
	return roll, nil
}

// nodes returns the key of the list, which is in the first partition.
func (d *Driver) nodes() string { return d.keys.partitions[0] + "nodes" }

// ahead is the key of the hash that has how many ms the clock of each node is ahead.
func (d *Driver) ahead() string { return d.keys.partitions[0] + "ahead" }

func (d *Driver) nodeKeys() []string {
	return []string{d.nodes(), d.keys.partitions[0] + "came", d.ahead()}
}
