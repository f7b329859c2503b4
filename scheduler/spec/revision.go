package spec

import (
	"fmt"
	"hash/fnv"
	"time"
)

// Revision returns a short hash, in hex, of the meaning of the spec: its field sets (so that
// "@daily" and "0 0 * * *" agree), its limits, the zone's name, and the zone's offsets from the
// start of from's UTC year to the end of the next year, which always covers a year ahead. Within
// one UTC year, two processes get different revisions only if they differ in spec or in zone
// database. In a new year the revision may change, so compare only revisions of the same year.
func (s *Schedule) Revision(from time.Time) string {
	h := fnv.New64a()
	l := s.limits
	if l != nil {
		fmt.Fprintf(h, "%d %d %d %d %v ", l.from, l.until, l.every, l.weekdays, l.days)
	}
	if s.every > 0 {
		fmt.Fprintf(h, "every %d", s.every)
	}
	if s.every > 0 && (l == nil || l.weekdays == 0 && l.days == nil) {
		return fmt.Sprintf("%016x", h.Sum64())
	}
	f := &s.sets
	fmt.Fprintf(h, "{%d %d %d %d %d %d %t} %t %s", f.second, f.minute, f.hour, f.dayOfMonth, f.month, f.dayOfWeek, f.eitherDay, s.sets.fixed, s.zone)
	if f.rare != nil {
		fmt.Fprintf(h, " %v", *f.rare)
	}
	year := from.UTC().Year()
	start := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	end := time.Date(year+2, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	p := lookup(s.zone, start)
	fmt.Fprintf(h, " %d", p.offset)
	for p.end < end {
		next := lookup(s.zone, p.end)
		if next.offset != p.offset { // other boundaries depend on the format of the database
			fmt.Fprintf(h, " %d %d", next.start, next.offset)
		}
		p = next
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
