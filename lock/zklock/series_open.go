package zklock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var openings = kind[series.OpenRequest, series.Series]{
	what: "open",
	key:  func(o *series.OpenRequest) string { return o.Key },
	step: func(r *record, us int64, o *series.OpenRequest) series.Series {
		r.Open(us, o, r)
		return r.Series(us, o.Key)
	},
	doubt: func(o *series.OpenRequest, err error) series.Series { return series.Series{Key: o.Key, Err: err} },
}

var seriesReads = kind[string, series.Series]{
	what:  "read series",
	key:   func(key *string) string { return *key },
	step:  func(r *record, us int64, key *string) series.Series { return r.Series(us, *key) },
	doubt: func(key *string, err error) series.Series { return series.Series{Key: *key, Err: err} },
}

// Open registers series and reads them, and then records the revisions with which they were opened.
func (d *Driver) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	return d.record(ctx, os, openings.send(ctx, d, os))
}

// ReadSeries reads series. It writes to none of them.
func (d *Driver) ReadSeries(ctx context.Context, keys []string) []series.Series {
	return seriesReads.send(ctx, d, keys)
}

// record records the revisions of the series that were opened, and returns the series with the
// fields about their specs.
func (d *Driver) record(ctx context.Context, os []series.OpenRequest, opened []series.Series) []series.Series {
	os, all := slices.Clone(os), slices.Clone(opened) // bounded may return before its function
	recorded, err := bounded(ctx, d, "open", func(c *zk.Conn) ([]series.Series, error) {
		parallel(len(all), func(i int) {
			if all[i].Err != nil || os[i].Revision == "" {
				return // there is nothing to record
			}
			if err := d.recordSighting(c, &all[i], &os[i]); err != nil {
				all[i] = series.Series{Key: os[i].Key, Err: named("open", err)}
			}
		})
		return all, nil
	}, nil)
	if err == nil {
		return recorded
	}
	for i := range opened {
		if opened[i].Err == nil && os[i].Revision != "" {
			opened[i] = series.Series{Key: os[i].Key, Err: err}
		}
	}
	return opened
}

func (d *Driver) sightingsPath(key string) string { return d.paths.of(key) + "/revisions" }

// sightings reads the revisions of a series, ordered by when they were first seen. version is the
// version of their node, -1 if there is none.
func (d *Driver) sightings(c *zk.Conn, key string) (seen series.Sightings, version int32, err error) {
	return stored[series.Sightings](c, d.sightingsPath(key))
}

// stored reads a value that a node holds as JSON, and the version of the node, -1 if there is none.
// If the value cannot be read, stored returns its zero value.
func stored[T any](c *zk.Conn, path string) (value T, version int32, err error) {
	var none T
	data, stat, err := c.Get(path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return none, -1, nil
	case err != nil:
		return none, 0, err
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return none, stat.Version, fmt.Errorf("%w: %s: %w", driver.ErrUnreadable, path, err)
	}
	return value, stat.Version, nil
}

// recordSighting records the revision with which a node opens the series.
func (d *Driver) recordSighting(c *zk.Conn, s *series.Series, o *series.OpenRequest) error {
	for {
		all, version, err := d.sightings(c, o.Key)
		if err != nil {
			return err
		}
		all.See(s, o)
		data, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if version < 0 {
			_, err = c.Create(d.sightingsPath(o.Key), data, zk.FlagPersistent, d.options.ACL)
		} else {
			_, err = c.Set(d.sightingsPath(o.Key), data, version)
		}
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
}
