package zklock

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func (d *Driver) outputsPath(key string) string { return d.paths.of(key) + "/outputs" }

// outputs reads the outputs of a series, and the version of their node: -1 if there is none.
func (d *Driver) outputs(c *zk.Conn, key string) (all series.Outputs, version int32, err error) {
	return stored[series.Outputs](c, d.outputsPath(key))
}

// KeepOutput stores the output of a run, if its series is open, in the one node for all outputs of
// the series. It takes a read and a write.
func (d *Driver) KeepOutput(ctx context.Context, o series.Output) error {
	_, err := bounded(ctx, d, "keep output", func(c *zk.Conn) (bool, error) {
		for range tries {
			err := d.keepOutput(c, o)
			if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
				return true, err
			}
		}
		return false, errRestless
	}, nil)
	return err
}

func (d *Driver) keepOutput(c *zk.Conn, o series.Output) error {
	all, version, err := d.outputs(c, o.Key)
	if err != nil && !errors.Is(err, driver.ErrUnreadable) { // outputs that cannot be read are replaced
		return err
	}
	if !all.Keep(o) {
		return nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if version < 0 {
		_, err = c.Create(d.outputsPath(o.Key), data, zk.FlagPersistent, d.options.ACL)
		if errors.Is(err, zk.ErrNoNode) { // the series is not open
			return nil
		}
		return err
	}
	_, err = c.Set(d.outputsPath(o.Key), data, version)
	return err
}

// Output returns the output of a number.
func (d *Driver) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	return bounded(ctx, d, "read output", func(c *zk.Conn) (series.Output, error) {
		all, _, err := d.outputs(c, key)
		return all.Of(key, number), err
	}, nil)
}
