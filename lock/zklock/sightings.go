package zklock

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func (d *Driver) sightingsPath(key string) string { return d.paths.of(key) + "/revisions" }

// sightings reads the revisions of a series, by when they were seen first. The
// version is that of their node, -1 if there is none.
func (d *Driver) sightings(c *zk.Conn, key string) (seen series.Sightings, version int32, err error) {
	data, stat, err := c.Get(d.sightingsPath(key))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, -1, nil
	case err != nil:
		return nil, 0, err
	}
	if err := json.Unmarshal(data, &seen); err != nil {
		return nil, 0, fmt.Errorf("%w: %s: %w", driver.ErrUnreadable, d.sightingsPath(key), err)
	}
	return seen, stat.Version, nil
}

// sight records the revision that a node opens the series with.
func (d *Driver) sight(c *zk.Conn, ms int64, o *driver.OpenRequest) (since int64, other string, err error) {
	for {
		all, version, err := d.sightings(c, o.Key)
		if err != nil {
			return 0, "", err
		}
		since, other = all.See(ms, o)
		data, err := json.Marshal(all)
		if err != nil {
			return 0, "", err
		}
		if version < 0 {
			_, err = c.Create(d.sightingsPath(o.Key), data, zk.FlagPersistent, d.options.ACL)
		} else {
			_, err = c.Set(d.sightingsPath(o.Key), data, version)
		}
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
			return since, other, err
		}
	}
}
