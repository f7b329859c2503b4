package spec

import "math/bits"

// Count returns the number of ticks after one Unix millisecond and up to another, inclusive, or
// limit if there are more. It examines whole months and ranges with one offset from UTC, not each
// tick: a year costs about a microsecond for any spec. Limits add about as much for each month in
// which they exclude days.
func (s *Schedule) Count(after, through int64, limit int) int {
	return s.count(floorDiv(after, 1000), floorDiv(through, 1000), limit)
}

// countNamed counts the instants of the spec, ignoring its limits, after one Unix second and up to
// another, inclusive, up to limit.
func (s *Schedule) countNamed(after, through int64, limit int) int {
	at, end := max(after, minUnix-1), min(through, maxUnix)
	if s.every > 0 {
		return int(max(0, min(int64(limit), floorDiv(end, s.every)-floorDiv(at, s.every))))
	}
	c := tally{limit: limit}
	for at++; at <= end && c.ticks < limit; {
		p := s.lastPeriod.Load() // no other period is cached: the next call concerns later ticks
		if p == nil || at < p.start || at >= p.end {
			other := periodAt(s.zone, at)
			p = &other
		}
		s.tallyPeriod(&c, *p, at, min(end, p.end-1))
		at = p.end
	}
	return max(0, min(c.ticks, limit))
}

// A tally counts ticks up to a limit, and the months that it examined, which are its cost.
type tally struct{ ticks, limit, months int }

// tallyPeriod counts the ticks in [from, to], which lies in the period p.
func (s *Schedule) tallyPeriod(c *tally, p period, from, to int64) {
	low := s.resume(p, from)
	if low < from+p.offset { // local times in the gap before the period are one tick at its start
		if local, ok := s.sets.next(low); ok && local <= p.opens() {
			c.ticks++
		}
		low = p.opens() + 1
	}
	s.sets.tally(c, low, to+p.offset)
}

// tally counts the local times in the sets in [low, high].
func (s *sets) tally(c *tally, low, high int64) {
	if low > high {
		return
	}
	firstDay, lastDay := floorDiv(low, daySeconds), floorDiv(high, daySeconds)
	perDay := s.clocksBefore(daySeconds)
	if s.onDay(firstDay) {
		c.ticks -= s.clocksBefore(int(low - firstDay*daySeconds))
	}
	if s.onDay(lastDay) {
		c.ticks -= perDay - s.clocksBefore(int(high-lastDay*daySeconds)+1)
	}
	year, month, from := civil(firstDay)
	lastYear, lastMonth, to := civil(lastDay)
	for c.ticks < c.limit {
		y, ok := s.rare.yearFrom(year)
		if y > year {
			year, month, from = y, 1, 1
		}
		if !ok || year > lastYear || year == lastYear && month > lastMonth {
			return
		}
		c.months++
		days := s.days(year, month) >> from << from
		if year == lastYear && month == lastMonth {
			days &= 1<<(to+1) - 1
		}
		c.ticks += bits.OnesCount64(days) * perDay
		from = 1
		if month++; month > 12 {
			year, month = year+1, 1
		}
	}
}

// onDay reports whether a day is in the sets.
func (s *sets) onDay(day int64) bool {
	year, month, dom := civil(day)
	if y, _ := s.rare.yearFrom(year); y != year {
		return false
	}
	return s.days(year, month)>>dom&1 != 0
}

// clocksBefore counts the times of a day in the sets that are before clock, a second of the day.
func (s *sets) clocksBefore(clock int) int {
	perMinute := bits.OnesCount64(s.second)
	perHour := bits.OnesCount64(s.minute) * perMinute
	h, m, sec := clock/3600, clock/60%60, clock%60
	n := bits.OnesCount64(s.hour&(1<<h-1)) * perHour
	if s.hour>>h&1 != 0 {
		n += bits.OnesCount64(s.minute&(1<<m-1)) * perMinute
		if s.minute>>m&1 != 0 {
			n += bits.OnesCount64(s.second & (1<<sec - 1))
		}
	}
	return n
}
