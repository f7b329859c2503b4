package memlock

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// Open implements [series.Numbered].
func (s *Store) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	out := make([]series.Series, len(os))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	for i := range os {
		o := &os[i]
		if err := doubt(ctx, "open", o.Key); err != nil {
			out[i] = series.Series{Key: o.Key, Err: err}
			continue
		}
		r := s.open(o.Key)
		r.Open(us, o, s.writer(r))
		out[i] = r.Series(us, o.Key)
		s.see(r, &out[i], o)
	}
	return out
}

// see records the revision of an opening, for the writer of r. To see the revision that was seen last
// once more, with its policies, is no change of the series.
func (s *Store) see(r *record, out *series.Series, o *series.OpenRequest) {
	latest := int64(0)
	for i := range r.sightings {
		latest = max(latest, r.sightings[i].Last)
	}
	other := latest == 0 && o.Revision != "" || slices.ContainsFunc(r.sightings, func(u series.RevisionUse) bool {
		return u.Last == latest && (u.Revision != o.Revision || u.Policies != o.Policies)
	})
	r.sightings.See(out, o)
	if other || slices.ContainsFunc(r.sightings, func(u series.RevisionUse) bool { return u.First == out.Now }) {
		s.pen.touch()
	}
}

// open returns the record of a key, and makes it if there is none.
func (s *Store) open(key string) *record {
	if r := s.series[key]; r != nil {
		return r
	}
	if s.series == nil {
		s.series = make(map[string]*record)
	}
	r := &record{key: key}
	r.Runs = r.room[:0]
	if s.opened != nil {
		s.opened.next = r
	}
	s.opened, s.series[key] = r, r
	return r
}

// ReadSeries implements [series.Numbered].
func (s *Store) ReadSeries(ctx context.Context, keys []string) []series.Series {
	out := make([]series.Series, len(keys))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	for i, key := range keys {
		if err := doubt(ctx, "read", key); err != nil {
			out[i] = series.Series{Key: key, Err: err}
			continue
		}
		out[i] = s.record(key).Series(us, key)
	}
	return out
}

// record returns the record of a key, or an empty one that is not kept: the rules write nothing to
// a series that was never opened. A batch usually names series in the order in which they were
// opened: then the next record is found without the map.
func (s *Store) record(key string) *record {
	if s.latest != nil {
		if r := s.latest.next; r != nil && r.key == key {
			s.latest = r
			return r
		}
	}
	r := s.series[key]
	if r == nil {
		return new(record)
	}
	s.latest = r
	return r
}

func (s *Store) writer(r *record) series.Writer {
	s.pen.to = &r.journal
	s.pen.lines, s.pen.budget = s.options.lines(), s.options.total()
	return &s.pen
}
