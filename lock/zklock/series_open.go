package zklock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	out := openings.ask(ctx, d, os)
	for i, s := range d.record(ctx, os, out) {
		out[i].Since, out[i].Other, out[i].Former = s.Since, s.Other, s.Former
		if s.err != nil {
			out[i] = series.Series{Key: os[i].Key, Err: s.err}
		}
	}
	return out
}

// ReadSeries reads series. It writes to none of them.
func (d *Driver) ReadSeries(ctx context.Context, keys []string) []series.Series {
	return seriesReads.ask(ctx, d, keys)
}

// A seen is the recorded history of the revision with which a series was opened.
type seen struct {
	series.Seen
	err error
}

// record records the revisions of the series that were opened.
func (d *Driver) record(ctx context.Context, os []series.OpenRequest, opened []series.Series) []seen {
	os, nows := append([]series.OpenRequest(nil), os...), make([]int64, len(os))
	for i := range os {
		if nows[i] = opened[i].Now; os[i].Revision == "" || opened[i].Err != nil {
			nows[i] = 0 // nothing to record
		}
	}
	all, err := bounded(ctx, d, "open", func(c *zk.Conn) ([]seen, error) {
		all := make([]seen, len(os))
		parallel(len(os), func(i int) {
			if nows[i] != 0 {
				s := &all[i]
				s.Seen, s.err = d.sight(c, nows[i], opened[i].Mark, &os[i])
				s.err = named("open", s.err)
			}
		})
		return all, nil
	}, nil)
	if err == nil {
		return all
	}
	all = make([]seen, len(os))
	for i := range all {
		if nows[i] != 0 {
			all[i].err = err
		}
	}
	return all
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

// sight records the revision with which a node opens the series.
func (d *Driver) sight(c *zk.Conn, ms, mark int64, o *series.OpenRequest) (series.Seen, error) {
	for {
		all, version, err := d.sightings(c, o.Key)
		if err != nil {
			return series.Seen{}, err
		}
		s := all.See(ms, mark, o)
		data, err := json.Marshal(all)
		if err != nil {
			return series.Seen{}, err
		}
		if version < 0 {
			_, err = c.Create(d.sightingsPath(o.Key), data, zk.FlagPersistent, d.options.ACL)
		} else {
			_, err = c.Set(d.sightingsPath(o.Key), data, version)
		}
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
			return s, err
		}
	}
}
