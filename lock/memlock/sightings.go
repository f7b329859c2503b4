package memlock

import "github.com/cronce/cronce/lock"

const maxSightings = 32

// sight records the revision that a node opens the series with. It returns when
// that revision was seen first, and the one another node used latest since then.
func (r *record) sight(ms int64, o *lock.Opening) (since int64, other string) {
	if o.Revision == "" {
		return 0, ""
	}
	mine := r.sighting(o.Revision, ms)
	mine.Spec, mine.Zone, mine.Node, mine.Last = o.Spec, o.Zone, o.Node, ms
	since, latest := mine.First, int64(0)
	for i := range r.sightings {
		v := &r.sightings[i]
		if v.Revision != o.Revision && v.Node != o.Node && v.Last >= max(since, latest) {
			other, latest = v.Revision, v.Last
		}
	}
	return since, other
}

// sighting returns that of a revision. A new one takes the place of the one not
// seen for longest when there is no room.
func (r *record) sighting(revision string, ms int64) *lock.Sighting {
	oldest := 0
	for i := range r.sightings {
		v := &r.sightings[i]
		if v.Revision == revision {
			return v
		}
		if v.Last < r.sightings[oldest].Last {
			oldest = i
		}
	}
	fresh := lock.Sighting{Revision: revision, First: ms}
	if len(r.sightings) < maxSightings {
		r.sightings = append(r.sightings, fresh)
		oldest = len(r.sightings) - 1
	}
	r.sightings[oldest] = fresh
	return &r.sightings[oldest]
}
