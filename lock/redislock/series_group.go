package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

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

// KeepDecided implements [series.GroupPeeker].
func (d *Driver) KeepDecided(ctx context.Context, g series.Group) error {
	key, err := d.group(g)
	if err != nil {
		return err
	}
	if _, err := bounded(ctx, d.prompt, func() (string, error) { return d.client.Set(ctx, key, "1", series.GroupLife).Result() }); err != nil {
		return fmt.Errorf("redislock: keep decided: %w", err)
	}
	return nil
}

// group returns the key of a group.
func (d *Driver) group(g series.Group) (string, error) {
	if g.Partition < 0 || g.Partition >= len(d.keys.partitions) {
		return "", driver.Refuse("Group.Partition", fmt.Sprint(g.Partition), fmt.Sprintf("0 to %d", len(d.keys.partitions)-1))
	}
	return d.keys.partitions[g.Partition] + "g:" + g.String(), nil
}
