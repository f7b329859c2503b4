package redislock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// groupNotice begins a notice that a group is decided. The name of a series has no such byte.
const groupNotice = "="

// maxGroups bounds the groups that are known by notices. Each partition has two groups a second.
const maxGroups = 10_000

// A groupNotices has the keys of the groups of the last seconds that were published as decided.
type groupNotices struct {
	mu    sync.Mutex
	until map[string]time.Time
	swept time.Time // when those that had ended were last removed
}

func (n *groupNotices) add(group string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.swept) >= time.Second { // not with each notice: each partition sends two a second
		maps.DeleteFunc(n.until, func(_ string, until time.Time) bool { return !until.After(now) })
		n.swept = now
	}
	if n.until == nil || len(n.until) >= maxGroups {
		n.until = map[string]time.Time{}
	}
	n.until[group] = now.Add(series.GroupLife)
}

func (n *groupNotices) has(group string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.until[group].After(now)
}

// Noticed implements [series.GroupPeeker], for as long as NotifyRuns of this driver goes on.
func (d *Driver) Noticed(g series.Group) bool {
	key, err := d.group(g)
	return err == nil && d.groups.has(key, time.Now())
}

// Decided implements [series.GroupPeeker]. It reads one short key. A server that is no longer the master
// may answer: it has the key only if it has the decisions too, which were written before it.
func (d *Driver) Decided(ctx context.Context, g series.Group) (bool, error) {
	key, err := d.group(g)
	if err != nil {
		return false, err
	}
	_, err = bounded(ctx, d.prompt, func() (string, error) { return d.client.Get(ctx, key).Result() })
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("redislock: decided: %w", err)
	}
	return true, nil
}

// KeepDecided implements [series.GroupPeeker]. The first caller publishes the group on the channel of NotifyRuns. A notice for each
// node costs the server less than a request of each node. It may be lost, or the user may not publish: then the nodes ask.
func (d *Driver) KeepDecided(ctx context.Context, g series.Group) error {
	key, err := d.group(g)
	if err != nil {
		return err
	}
	_, err = bounded(ctx, d.prompt, func() (string, error) {
		return d.client.SetArgs(ctx, key, "1", redis.SetArgs{Mode: "NX", TTL: series.GroupLife}).Result()
	})
	switch {
	case errors.Is(err, redis.Nil): // another caller has kept it
		return nil
	case err != nil:
		return fmt.Errorf("redislock: keep decided: %w", err)
	}
	_, _ = bounded(ctx, d.prompt, func() (int64, error) { return d.client.Publish(ctx, d.keys.runs, groupNotice+key).Result() })
	return nil
}

// group returns the key of a group.
func (d *Driver) group(g series.Group) (string, error) {
	if g.Partition < 0 || g.Partition >= len(d.keys.partitions) {
		return "", driver.Refuse("Group.Partition", fmt.Sprint(g.Partition), fmt.Sprintf("0 to %d", len(d.keys.partitions)-1))
	}
	return d.keys.partitions[g.Partition] + "g:" + g.String(), nil
}
