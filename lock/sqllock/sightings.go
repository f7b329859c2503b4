package sqllock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock"
)

const maxSightings = 32

// sightings are the revisions of a series that were seen.
type sightings []lock.Sighting

// A keptSighting is one as it is kept.
type keptSighting struct {
	Revision string `json:"revision"`
	Spec     string `json:"spec,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Node     string `json:"node,omitempty"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
}

// readSightings reads the column, sorted by when they were seen first.
func readSightings(key, text string) (sightings, error) {
	if text == "" {
		return nil, nil
	}
	var kept []keptSighting
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, fmt.Errorf("the revisions of %q cannot be read: %w", key, err)
	}
	var all sightings
	for _, k := range kept {
		all = append(all, lock.Sighting(k))
	}
	slices.SortFunc(all, func(a, b lock.Sighting) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Revision, b.Revision))
	})
	return all, nil
}

func (all sightings) encode() (string, error) {
	kept := make([]keptSighting, 0, len(all))
	for _, s := range all {
		kept = append(kept, keptSighting(s))
	}
	text, err := json.Marshal(kept)
	return string(text), err
}

// see records the revision that a node opens the series with. It returns when
// that revision was seen first, and the one another node used latest since then.
func (all *sightings) see(ms int64, o *lock.Opening) (since int64, other string) {
	if o.Revision == "" {
		return 0, ""
	}
	mine := all.of(o.Revision, ms)
	mine.Spec, mine.Zone, mine.Node, mine.Last = o.Spec, o.Zone, o.Node, ms
	since, latest := mine.First, int64(0)
	for _, v := range *all {
		if v.Revision != o.Revision && v.Node != o.Node && v.Last >= max(since, latest) {
			other, latest = v.Revision, v.Last
		}
	}
	return since, other
}

// of returns that of a revision. A new one takes the place of the one not seen
// for longest when there is no room.
func (all *sightings) of(revision string, ms int64) *lock.Sighting {
	at := slices.IndexFunc(*all, func(s lock.Sighting) bool { return s.Revision == revision })
	if at >= 0 {
		return &(*all)[at]
	}
	fresh := lock.Sighting{Revision: revision, First: ms}
	if at = len(*all); at < maxSightings {
		*all = append(*all, fresh)
		return &(*all)[at]
	}
	at = 0
	for i, s := range *all {
		if s.Last < (*all)[at].Last {
			at = i
		}
	}
	(*all)[at] = fresh
	return &(*all)[at]
}
