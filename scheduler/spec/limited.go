package spec

import (
	"fmt"
	"math"
	"time"
)

// searchExcluded bounds the search for a tick, in stretches of excluded days that have ticks, plus
// the number of excluded dates. Excluded weekdays exclude either a few ticks in a row or all ticks.
const searchExcluded = 100

// next returns the first tick after unix.
func (s *Schedule) next(unix int64) (int64, bool) {
	l := s.limits
	if l == nil {
		return s.nextNamed(unix)
	}
	at := max(unix, l.from-1)
	for range searchExcluded + len(l.days) {
		tick, ok := s.nextCounted(at)
		if !ok || tick >= l.until {
			break
		}
		excluded, _, end := s.stretch(tick)
		if !excluded {
			return tick, true
		}
		at = end - 1
	}
	return 0, false
}

// prev returns the last tick at or before unix.
func (s *Schedule) prev(unix int64) (int64, bool) {
	l := s.limits
	if l == nil {
		return s.prevNamed(unix)
	}
	at := min(unix, l.until-1)
	for range searchExcluded + len(l.days) {
		tick, ok := s.prevCounted(at)
		if !ok || tick < l.from {
			break
		}
		excluded, start, _ := s.stretch(tick)
		if !excluded {
			return tick, true
		}
		at = start - 1
	}
	return 0, false
}

// nextCounted returns the first tick after unix whose number the limit "every" keeps.
func (s *Schedule) nextCounted(unix int64) (tick int64, ok bool) {
	skip := 0
	if n := s.limits.every; n > 0 {
		skip = (n - s.numbered(unix)%n) % n
	}
	for tick = unix; skip >= 0; skip-- {
		if tick, ok = s.nextNamed(tick); !ok {
			return 0, false
		}
	}
	return tick, true
}

// prevCounted is the inverse of nextCounted.
func (s *Schedule) prevCounted(unix int64) (tick int64, ok bool) {
	skip := 0
	if n := s.limits.every; n > 0 {
		skip = (s.numbered(unix) + n - 1) % n // before the first tick it finds the ticks before not_before
	}
	for tick = unix + 1; skip >= 0; skip-- {
		if tick, ok = s.prevNamed(tick - 1); !ok {
			return 0, false
		}
	}
	return tick, true
}

// numbered returns the number of instants of the spec from not_before to unix.
func (s *Schedule) numbered(unix int64) int {
	return s.countNamed(s.limits.from-1, unix, math.MaxInt)
}

// stretch reports whether the day of an instant is excluded, and a range around the instant, from
// start, inclusive, to end, exclusive, in which this holds. The true range may be larger. The
// result crosses a change of the clock only if the changed clock cannot show another day.
func (s *Schedule) stretch(unix int64) (excluded bool, start, end int64) {
	p := s.period(unix)
	excluded, days := s.limits.excludes(floorDiv(unix+p.offset, daySeconds))
	first, last := days.first*daySeconds-p.offset, (days.last+1)*daySeconds-p.offset
	start, end = max(p.start, first), min(p.end, last)
	if unix-first > farApart {
		end = max(end, last-farApart)
	}
	if last-unix > farApart {
		start = min(start, first+farApart)
	}
	return excluded, start, end
}

// excludes reports whether a day is excluded, and a range of days with it for which this holds.
// The true range may be larger.
func (l *limits) excludes(day int64) (bool, dayRange) {
	const always = 1 << 24 // days: more than exist
	free := dayRange{-always, always}
	for _, d := range l.days {
		switch {
		case d.last < day:
			free.first = d.last + 1
		case d.first <= day:
			return true, d
		default:
			free.last = min(free.last, d.first-1)
		}
	}
	out := func(day int64) bool { return l.weekdays>>weekday(day)&1 != 0 }
	if l.weekdays == 0 {
		return false, free
	}
	if out(day) {
		return true, dayRange{day, day}
	}
	last := day // no search goes back from a day that is not excluded
	for last < free.last && !out(last+1) {
		last++
	}
	return false, dayRange{day, last}
}

// count counts the ticks after one Unix second and up to another, inclusive, up to limit.
func (s *Schedule) count(after, through int64, limit int) (ticks int) {
	l := s.limits
	if l == nil {
		return s.countNamed(after, through, limit)
	}
	at, through := max(after, l.from-1), min(through, l.until-1)
	number := 0 // number of instants of the spec from not_before to at
	if l.every > 0 {
		number = s.numbered(at)
	}
	for ticks < limit {
		named, ok := s.nextNamed(at) // days without ticks cost nothing
		if !ok || named > through {
			break
		}
		excluded, _, end := s.stretch(named)
		end = min(end-1, through)
		more := 0
		if l.every > 0 || !excluded {
			more = s.countNamed(at, end, math.MaxInt)
		}
		switch {
		case excluded:
		case l.every == 0:
			ticks += more
		default:
			ticks += kept(number+more, l.every) - kept(number, l.every)
		}
		number += more
		at = end
	}
	return min(ticks, limit)
}

// kept returns how many of the first ticks the limit "every" keeps.
func kept(ticks, every int) int { return (ticks + every - 1) / every }

// LeftOut returns the reason why the limits of a spec exclude an instant that the spec has without
// them, such as "2026-12-25 is excluded". It returns "" for a tick, and for an instant that the
// spec does not have.
func (s *Schedule) LeftOut(t time.Time) string {
	l, unix := s.limits, t.Unix()
	if named, ok := s.prevNamed(unix); l == nil || !ok || named != unix || t.Nanosecond() != 0 {
		return ""
	}
	show := func(unix int64) string { return time.Unix(unix, 0).In(s.zone).Format(time.RFC3339) }
	switch excluded, _, _ := s.stretch(unix); {
	case unix != l.from && s.at():
		return "the only tick is at " + show(l.from)
	case unix < l.from:
		return "it is before " + limitNotBefore + ", " + show(l.from)
	case unix >= l.until:
		return "it is not before " + limitUntil + ", " + show(l.until)
	case excluded:
		return t.In(s.zone).Format(time.DateOnly) + " is excluded"
	case l.every > 0 && (s.numbered(unix)-1)%l.every != 0:
		return fmt.Sprintf("it is number %d since %s, %s, and every %d leaves it out", s.numbered(unix), limitNotBefore, show(l.from), l.every)
	}
	return ""
}

// at reports whether the spec is a single instant.
func (s *Schedule) at() bool {
	return s.limits != nil && s.limits.until == s.limits.from+1 && s.every == 1
}
