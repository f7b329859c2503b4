package spec

import "time"

// searchPeriods bounds the search for a tick, in periods. Successive gaps may each skip a tick; the
// search gives up only after decades of such gaps.
const searchPeriods = 160

// Next returns the first tick after t, in the schedule's zone, or the zero
// time if there is none.
func (s *Schedule) Next(t time.Time) time.Time {
	unix, ok := s.next(t.Unix())
	if !ok {
		return time.Time{}
	}
	return time.Unix(unix, 0).In(s.zone)
}

// Prev returns the last tick at or before t, in the schedule's zone, or the
// zero time if there is none.
func (s *Schedule) Prev(t time.Time) time.Time {
	unix, ok := s.prev(t.Unix())
	if !ok {
		return time.Time{}
	}
	return time.Unix(unix, 0).In(s.zone)
}

// A span records that next follows every instant from from, inclusive, to next, exclusive, in Unix
// milliseconds.
type span struct{ from, next int64 }

// NextMilli is [Schedule.Next] in Unix milliseconds. It returns 0 if there is no next tick. It
// caches the latest result: while that is valid a repeated call costs a few nanoseconds, so many
// jobs can share one schedule.
func (s *Schedule) NextMilli(ms int64) int64 {
	if last := s.lastSpan.Load(); last != nil && last.from <= ms && ms < last.next {
		return last.next
	}
	unix := floorDiv(ms, 1000)
	next, ok := s.next(unix)
	if !ok {
		return 0
	}
	if s.every == 0 || s.limits != nil {
		s.lastSpan.Store(&span{unix * 1000, next * 1000})
	}
	return next * 1000
}

// PrevMilli is [Schedule.Prev] in Unix milliseconds. It returns 0 if there is no such tick.
func (s *Schedule) PrevMilli(ms int64) int64 {
	unix, ok := s.prev(floorDiv(ms, 1000))
	if !ok {
		return 0
	}
	return unix * 1000
}

// Manual reports whether a number in Unix milliseconds is the number of a manual run: it has a part of a
// second, and is a tick of no spec.
func Manual(ms int64) bool { return ms%1000 != 0 }

// Interval returns the distance from the tick at a Unix millisecond to the next tick, or 0 if there
// is none, as after the last year of a spec.
func (s *Schedule) Interval(ms int64) time.Duration {
	next := s.NextMilli(ms)
	if next == 0 {
		return 0
	}
	return time.Duration(next-ms) * time.Millisecond
}

// nextNamed returns the first instant of the spec after unix, ignoring its limits.
func (s *Schedule) nextNamed(unix int64) (int64, bool) {
	if unix >= maxUnix {
		return 0, false
	}
	at := max(unix+1, minUnix)
	if s.every > 0 {
		tick := -floorDiv(-at, s.every) * s.every
		return tick, tick <= maxUnix
	}
	p := s.period(at)
	for range searchPeriods {
		local, ok := s.sets.next(s.resume(p, at))
		if !ok {
			break
		}
		if local < p.end+p.offset {
			tick := max(local-p.offset, p.start)
			return tick, tick <= maxUnix
		}
		at = beyond(p.end, p.end-at, local-farApart)
		p = periodAt(s.zone, at)
	}
	return 0, false
}

// beyond returns where the search continues after a part of a period without a tick: at the
// period's end, or shortly before the next local time of the spec. No clock shows a local time
// farther than this from its instant. Only after a short part may the clock be set back to local
// times that were not searched.
func beyond(end, part, near int64) int64 {
	if part > farApart {
		return max(end, near)
	}
	return end
}

// resume returns the local time at which to start the search for ticks at or after unix, in a part
// of p.
func (s *Schedule) resume(p period, unix int64) int64 {
	if unix == p.start {
		return s.floor(p)
	}
	return max(unix+p.offset, s.floor(p))
}

// floor returns the first local time that belongs to a period. For a fixed spec it includes the
// times that the clock jumped over, and excludes times that are shown again. For any other spec it
// is the time that the clock shows.
func (s *Schedule) floor(p period) int64 {
	if s.sets.fixed {
		return p.reached
	}
	return p.opens()
}

// prevNamed returns the last instant of the spec at or before unix, ignoring its limits. It is the
// inverse of nextNamed: a local time at or after the floor of its period is a tick of that period,
// at the earliest at its start.
func (s *Schedule) prevNamed(unix int64) (int64, bool) {
	if unix < minUnix {
		return 0, false
	}
	at := min(unix, maxUnix)
	if s.every > 0 {
		tick := floorDiv(at, s.every) * s.every
		return tick, tick >= minUnix
	}
	p := s.period(at)
	for range searchPeriods {
		local, ok := s.sets.prev(at + p.offset)
		if !ok {
			break
		}
		if local >= s.floor(p) {
			tick := max(local-p.offset, p.start)
			return tick, tick >= minUnix
		}
		at = -beyond(1-p.start, at-p.start, -local-farApart)
		p = periodAt(s.zone, at)
	}
	return 0, false
}
