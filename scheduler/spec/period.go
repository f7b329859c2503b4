package spec

import "time"

// Bounds of the computation: the years 1 to 9999. Periods without a start or end use instants well
// outside of these bounds.
const (
	minUnix = -62135596800
	maxUnix = 253402300799
	past    = -1 << 40
	future  = 1 << 40
)

const daySeconds = 24 * 60 * 60

// farApart exceeds any difference that two clocks in the world, or one clock before and after a
// change, have ever had.
const farApart = 2 * daySeconds

// A period is a time range with one offset from UTC. All values are in seconds: start, inclusive,
// and end, exclusive, are Unix times; reached is a local time.
type period struct {
	start, end, offset int64

	// reached is the first local second that the clock had neither shown nor jumped over when the
	// period began. If it is before start+offset, a gap follows it; local times before reached are
	// repeated.
	reached int64
}

// opens returns the local time at which the period begins.
func (p period) opens() int64 { return p.start + p.offset }

// period returns the period of the schedule's zone that contains unix. It caches the period,
// because the next call nearly always needs the same one.
func (s *Schedule) period(unix int64) period {
	if p := s.lastPeriod.Load(); p != nil && p.start <= unix && unix < p.end {
		return *p
	}
	p := periodAt(s.zone, unix)
	s.lastPeriod.Store(&p)
	return p
}

// periodAt returns the period of a zone that contains unix.
func periodAt(zone *time.Location, unix int64) period {
	p := lookup(zone, unix)
	p.reached = p.opens()
	if p.start == past {
		return p
	}
	// If short periods follow each other, the highest local time may belong to one that is not the
	// last.
	p.reached = past
	for at := p.start; at > p.start-farApart; {
		before := lookup(zone, at-1)
		p.reached = max(p.reached, at+before.offset)
		at = before.start
	}
	return p
}

// lookup gets the period from package time. If a zone is governed by a rule rather than a table,
// the bounds that package time returns are only correct near a change. lookup repairs them, so that
// a period contains unix and never spans a change. A boundary at which the offset stays the same
// does no harm.
func lookup(zone *time.Location, unix int64) period {
	t := time.Unix(unix, 0).In(zone)
	start, end := t.ZoneBounds()
	p := period{start: past, end: future, offset: offsetOf(t)}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= unix { // the last day of a leap year counts as day 366
		p.end = (floorDiv(unix, daySeconds) + 1) * daySeconds
	}
	if start.IsZero() {
		return p
	}
	p.start = start.Unix()
	if offsetOf(start) != p.offset { // the rule came into force after start
		p.start = changeIn(zone, p.start, unix)
	}
	return p
}

// changeIn returns the first second in (from, to] that has the offset of to.
func changeIn(zone *time.Location, from, to int64) int64 {
	want := offsetOf(time.Unix(to, 0).In(zone))
	for to-from > 1 {
		middle := from + (to-from)/2
		if offsetOf(time.Unix(middle, 0).In(zone)) == want {
			to = middle
		} else {
			from = middle
		}
	}
	return to
}

func offsetOf(t time.Time) int64 {
	_, offset := t.Zone()
	return int64(offset)
}

// floorDiv divides by a positive number and rounds down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
