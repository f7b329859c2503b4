package zklock

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock"
)

const maxSightings = 32

// A keptSighting is one revision as it is kept.
type keptSighting struct {
	Revision string `json:"revision"`
	Spec     string `json:"spec,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Node     string `json:"node,omitempty"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
}

func (d *Driver) sightingsPath(key string) string { return d.paths.of(key) + "/revisions" }

// sightings reads the revisions of a series, by when they were seen first. The
// version is that of their node, -1 if there is none.
func (d *Driver) sightings(c *zk.Conn, key string) ([]lock.Sighting, int32, error) {
	data, stat, err := c.Get(d.sightingsPath(key))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, -1, nil
	case err != nil:
		return nil, 0, err
	}
	var kept []keptSighting
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, 0, fmt.Errorf("%s cannot be read: %w", d.sightingsPath(key), err)
	}
	all := make([]lock.Sighting, len(kept))
	for i, k := range kept {
		all[i] = lock.Sighting(k)
	}
	slices.SortFunc(all, func(a, b lock.Sighting) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Revision, b.Revision))
	})
	return all, stat.Version, nil
}

// sight records the revision that a node opens the series with.
func (d *Driver) sight(c *zk.Conn, ms int64, o *lock.Opening) (since int64, other string, err error) {
	for {
		all, version, err := d.sightings(c, o.Key)
		if err != nil {
			return 0, "", err
		}
		all, since, other = see(all, ms, o)
		kept := make([]keptSighting, len(all))
		for i, s := range all {
			kept[i] = keptSighting(s)
		}
		data, err := json.Marshal(kept)
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

// see adds a revision to those that were seen. It returns when that revision was
// seen first, and the one another node used latest since then.
func see(all []lock.Sighting, ms int64, o *lock.Opening) (_ []lock.Sighting, since int64, other string) {
	all, mine := revision(all, o.Revision, ms)
	mine.Spec, mine.Zone, mine.Node, mine.Last = o.Spec, o.Zone, o.Node, ms
	since, latest := mine.First, int64(0)
	for _, v := range all {
		if v.Revision != o.Revision && v.Node != o.Node && v.Last >= max(since, latest) {
			other, latest = v.Revision, v.Last
		}
	}
	return all, since, other
}

// revision returns that of a name. A new one takes the place of the one not seen
// for longest when there is no room.
func revision(all []lock.Sighting, name string, ms int64) ([]lock.Sighting, *lock.Sighting) {
	oldest := 0
	for i := range all {
		if all[i].Revision == name {
			return all, &all[i]
		}
		if all[i].Last < all[oldest].Last {
			oldest = i
		}
	}
	fresh := lock.Sighting{Revision: name, First: ms}
	if len(all) < maxSightings {
		all = append(all, fresh)
		oldest = len(all) - 1
	}
	all[oldest] = fresh
	return all, &all[oldest]
}
