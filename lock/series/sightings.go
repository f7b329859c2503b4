package series

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

const maxSightings = 32

// Sightings are the revisions of a series that were seen, at most 32. As JSON they
// are what stores keep that keep text; read from it they are sorted.
type Sightings []driver.RevisionUse

// A keptSighting is one as it is kept.
type keptSighting struct {
	Revision string `json:"revision"`
	Spec     string `json:"spec,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Policies string `json:"policies,omitempty"`
	Node     string `json:"node,omitempty"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
}

// MarshalJSON returns them as they are to be kept.
func (all Sightings) MarshalJSON() ([]byte, error) {
	kept := make([]keptSighting, len(all))
	for i, s := range all {
		kept[i] = keptSighting(s)
	}
	return json.Marshal(kept)
}

// UnmarshalJSON reads what was kept.
func (all *Sightings) UnmarshalJSON(text []byte) error {
	var kept []keptSighting
	if err := json.Unmarshal(text, &kept); err != nil {
		return err
	}
	*all = make(Sightings, len(kept))
	for i, k := range kept {
		(*all)[i] = driver.RevisionUse(k)
	}
	*all = all.Sorted()
	return nil
}

// Sorted returns a copy, by when they were seen first.
func (all Sightings) Sorted() []driver.RevisionUse {
	return slices.SortedFunc(slices.Values(all), func(a, b driver.RevisionUse) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Revision, b.Revision))
	})
}

// See records the revision that a node opens the series with, at ms, Unix
// milliseconds of the store. It returns when the spec was seen first, which belongs
// to its text and its zone's name: a new year or another zone database changes the
// revision alone. And it returns the revision that another node used latest since
// this node's revision was seen first.
func (all *Sightings) See(ms int64, o *driver.OpenRequest) (since int64, other string) {
	if o.Revision == "" {
		return 0, ""
	}
	mine := all.of(o.Revision, ms)
	mine.Spec, mine.Zone, mine.Policies, mine.Node, mine.Last = o.Spec, o.Zone, o.Policies, o.Node, ms
	since = mine.First
	latest := mine.First
	for _, v := range *all {
		if o.Spec != "" && v.Spec == o.Spec && v.Zone == o.Zone {
			since = min(since, v.First)
		}
		if v.Revision != o.Revision && v.Node != o.Node && v.Last >= latest {
			other, latest = v.Revision, v.Last
		}
	}
	return since, other
}

// of returns that of a revision. A new one takes the place of the one not seen
// for longest when there is no room.
func (all *Sightings) of(revision string, ms int64) *driver.RevisionUse {
	oldest := 0
	for i := range *all {
		v := &(*all)[i]
		if v.Revision == revision {
			return v
		}
		if v.Last < (*all)[oldest].Last {
			oldest = i
		}
	}
	fresh := driver.RevisionUse{Revision: revision, First: ms}
	if len(*all) < maxSightings {
		*all = append(*all, fresh)
		oldest = len(*all) - 1
	}
	(*all)[oldest] = fresh
	return &(*all)[oldest]
}
