package series

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

const maxSightings = 32

// inUse is the age, in ms, up to which a sighting shows that a node still uses a revision. Nodes open
// a series again more often, or when another node joins.
const inUse = 2 * 60_000

// Sightings are the revisions of a series that were seen, at most 32. Stores that keep text keep
// them as JSON; Sightings that were read from JSON are sorted.
type Sightings []RevisionUse

// A keptSighting is a sighting in its stored form.
type keptSighting struct {
	Revision string `json:"revision"`
	Spec     string `json:"spec,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Policies string `json:"policies,omitempty"`
	Node     string `json:"node,omitempty"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
	Since    int64  `json:"since,omitempty"` // 0: First
}

// MarshalJSON returns all in their stored form.
func (all Sightings) MarshalJSON() ([]byte, error) {
	kept := make([]keptSighting, len(all))
	for i, s := range all {
		if kept[i] = keptSighting(s); s.Since == s.First {
			kept[i].Since = 0
		}
	}
	return json.Marshal(kept)
}

// UnmarshalJSON reads the stored form.
func (all *Sightings) UnmarshalJSON(text []byte) error {
	var kept []keptSighting
	if err := json.Unmarshal(text, &kept); err != nil {
		return err
	}
	*all = make(Sightings, len(kept))
	for i, k := range kept {
		k.Since = cmp.Or(k.Since, k.First)
		(*all)[i] = RevisionUse(k)
	}
	*all = all.Sorted()
	return nil
}

// Sorted returns a copy in the order of First.
func (all Sightings) Sorted() []RevisionUse {
	return slices.SortedFunc(slices.Values(all), func(a, b RevisionUse) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(a.Revision, b.Revision))
	})
}

// See records the revision with which a node opens the series, and sets the fields about specs of
// the answer s, which has the mark and the store's clock: Other, Since and Former. They depend on
// the text of the spec and its zone's name: a new year or another zone database changes the
// revision alone.
func (all *Sightings) See(s *Series, o *OpenRequest) {
	s.Since, s.Other, s.Former = 0, "", nil
	if o.Revision == "" {
		return
	}
	ms, mark := s.Now, s.Mark
	since, broken := all.since(ms, o)
	if len(*all) == 0 && o.Begin != 0 {
		since = min(ms, mark) // it has been in force from the begin of the series
	}
	mine := all.of(o.Revision, since, ms, broken)
	mine.Spec, mine.Zone, mine.Policies, mine.Node, mine.Last = o.Spec, o.Zone, o.Policies, o.Node, ms
	s.Since = since
	latest := max(mine.First, ms-inUse)
	for _, v := range *all {
		if v.Revision != o.Revision && v.Node != o.Node && v.Last >= latest {
			s.Other, latest = v.Revision, v.Last
		}
	}
	s.Former = all.former(since, mark, o)
}

// since returns the start of the time in which the spec has been in force without a break, and
// whether a break ends now: another spec was in use since this one was last seen, for longer than
// the node allows. In a rolling deploy both are in use at once, and both are seen again and again.
func (all Sightings) since(ms int64, o *OpenRequest) (since int64, broken bool) {
	last := int64(0)
	for _, v := range all {
		switch {
		case !same(&v, o):
		case v.Since > since:
			since, last = v.Since, v.Last
		case v.Since == since:
			last = max(last, v.Last)
		}
	}
	if since == 0 {
		return ms, false
	}
	for _, v := range all {
		if o.Unseen > 0 && !same(&v, o) && v.Last > last && ms-last > o.Unseen.Milliseconds() {
			return ms, true
		}
	}
	return since, false
}

// same reports whether a sighting has the spec with which a series is opened.
func same(v *RevisionUse, o *OpenRequest) bool {
	return v.Revision == o.Revision || o.Spec != "" && v.Spec == o.Spec && v.Zone == o.Zone
}

// former returns the uses of other specs, and of this one before a break, if numbers that one of them
// has may be undecided: the mark is before this spec came into force, or before one of them was seen.
func (all Sightings) former(since, mark int64, o *OpenRequest) (uses []RevisionUse) {
	until := int64(0)
	for _, v := range all {
		if !same(&v, o) || v.Since < since {
			uses, until = append(uses, v), max(since, until, v.Last)
		}
	}
	if mark >= until {
		return nil
	}
	return Sightings(uses).Sorted()
}

// of returns the sighting of a revision in the use of its spec that began at since. If there is no
// room, a new sighting replaces the one that was not seen for longest.
func (all *Sightings) of(revision string, since, ms int64, broken bool) *RevisionUse {
	oldest := 0
	for i := range *all {
		v := &(*all)[i]
		if v.Revision == revision && v.Since == since && !broken {
			return v
		}
		if v.Last < (*all)[oldest].Last {
			oldest = i
		}
	}
	fresh := RevisionUse{Revision: revision, First: ms, Since: since}
	if len(*all) < maxSightings {
		*all = append(*all, fresh)
		oldest = len(*all) - 1
	}
	(*all)[oldest] = fresh
	return &(*all)[oldest]
}
