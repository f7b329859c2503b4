package spec

import (
	"math/bits"

	"github.com/robfig/cron/v3"
)

// sets holds the values of each field as bits, and searches local time: the seconds since
// 1970-01-01 00:00 that a wall clock would count. Zones do not matter here.
type sets struct {
	second, minute, hour, dayOfMonth, month, dayOfWeek uint64

	// eitherDay is true if both day fields are restricted. Then a day matches if either field does.
	eitherDay bool

	fixed bool // whether the spec is fixed, as described in the section on daylight saving

	// rare has the parts that few specs have; nil if there are none.
	rare *rare
}

// star is the bit that robfig's parser sets for a field with * or ?.
const star = 1 << 63

// newSets combines the fields that robfig's parser read with r. If L, W or # were the whole day
// field, only the days of r match.
func newSets(p *cron.SpecSchedule, plain []string, r *rare) sets {
	s := sets{
		second:     p.Second &^ star,
		minute:     p.Minute &^ star,
		hour:       p.Hour &^ star,
		dayOfMonth: p.Dom &^ star,
		month:      p.Month &^ star,
		dayOfWeek:  p.Dow &^ star,
		eitherDay:  p.Dom&star == 0 && p.Dow&star == 0,
	}
	if plain[dayOfMonth] == "" {
		s.dayOfMonth = 0
	}
	if plain[dayOfWeek] == "" {
		s.dayOfWeek = 0
	}
	if *r != (rare{}) {
		s.rare = r
	}
	return s
}

// next returns the first local time in the sets at or after local.
func (s *sets) next(local int64) (int64, bool) {
	today := floorDiv(local, daySeconds)
	day, ok := s.nextDay(today)
	if ok && day == today {
		if clock, found := s.nextClock(int(local - today*daySeconds)); found {
			return day*daySeconds + int64(clock), true
		}
		day, ok = s.nextDay(today + 1)
	}
	if !ok {
		return 0, false
	}
	clock, _ := s.nextClock(0)
	return day*daySeconds + int64(clock), true
}

// prev returns the last local time in the sets at or before local.
func (s *sets) prev(local int64) (int64, bool) {
	today := floorDiv(local, daySeconds)
	day, ok := s.prevDay(today)
	if ok && day == today {
		if clock, found := s.prevClock(int(local - today*daySeconds)); found {
			return day*daySeconds + int64(clock), true
		}
		day, ok = s.prevDay(today - 1)
	}
	if !ok {
		return 0, false
	}
	clock, _ := s.prevClock(daySeconds - 1)
	return day*daySeconds + int64(clock), true
}

// nextClock searches one day; clock is its second, 0 to 86399.
func (s *sets) nextClock(clock int) (int, bool) {
	h, m, sec := clock/3600, clock/60%60, clock%60
	if s.hour>>h&1 != 0 {
		if s.minute>>m&1 != 0 {
			if at := atOrAfter(s.second, sec); at < none {
				return h*3600 + m*60 + at, true
			}
		}
		if at := atOrAfter(s.minute, m+1); at < none {
			return h*3600 + at*60 + first(s.second), true
		}
	}
	if at := atOrAfter(s.hour, h+1); at < none {
		return at*3600 + first(s.minute)*60 + first(s.second), true
	}
	return 0, false
}

func (s *sets) prevClock(clock int) (int, bool) {
	h, m, sec := clock/3600, clock/60%60, clock%60
	if s.hour>>h&1 != 0 {
		if s.minute>>m&1 != 0 {
			if at := atOrBefore(s.second, sec); at >= 0 {
				return h*3600 + m*60 + at, true
			}
		}
		if at := atOrBefore(s.minute, m-1); at >= 0 {
			return h*3600 + at*60 + last(s.second), true
		}
	}
	if at := atOrBefore(s.hour, h-1); at >= 0 {
		return at*3600 + last(s.minute)*60 + last(s.second), true
	}
	return 0, false
}

// searchMonths is the number of the spec's months that are searched for a day. The longest wait is
// for a fifth Monday of February, over a century without a leap day: 40 years.
const searchMonths = 12 * 12

func (s *sets) nextDay(day int64) (int64, bool) {
	year, month, dom := civil(day)
	for range searchMonths {
		y, ok := s.rare.yearFrom(year)
		if !ok {
			return 0, false
		}
		if y > year {
			year, month, dom = y, 1, 1
		}
		if dom = atOrAfter(s.days(year, month), dom); dom < none {
			return dayNumber(year, month, dom), true
		}
		dom = 1
		if month = atOrAfter(s.month, month+1); month == none {
			year, month = year+1, first(s.month)
		}
	}
	return 0, false
}

func (s *sets) prevDay(day int64) (int64, bool) {
	year, month, dom := civil(day)
	for range searchMonths {
		y, ok := s.rare.yearUntil(year)
		if !ok {
			return 0, false
		}
		if y < year {
			year, month, dom = y, 12, 31
		}
		if dom = atOrBefore(s.days(year, month), dom); dom >= 0 {
			return dayNumber(year, month, dom), true
		}
		dom = 31
		if month = atOrBefore(s.month, month-1); month < 0 {
			year, month = year-1, last(s.month)
		}
	}
	return 0, false
}

// days returns the matching days of a month, day d as bit d.
func (s *sets) days(year int64, month int) uint64 {
	if s.month>>month&1 == 0 {
		return 0
	}
	m := shape{length: monthLength(year, month), turn: weekday(dayNumber(year, month, 1))}
	days, byWeek := s.dayOfMonth, m.week(s.dayOfWeek)
	if s.rare != nil {
		days |= s.rare.daysOfMonth(m)
		byWeek |= s.rare.daysOfWeek(m)
	}
	inMonth := uint64(1)<<(m.length+1) - 2
	if s.eitherDay {
		return (days | byWeek) & inMonth
	}
	return days & byWeek & inMonth
}

// none is the result of atOrAfter if there is no such bit.
const none = 64

func atOrAfter(set uint64, from int) int {
	return bits.TrailingZeros64(set >> from << from)
}

// atOrBefore returns -1 if there is no such bit; to may be -1.
func atOrBefore(set uint64, to int) int {
	return bits.Len64(set&(1<<(to+1)-1)) - 1
}

func first(set uint64) int { return bits.TrailingZeros64(set) }
func last(set uint64) int  { return bits.Len64(set) - 1 }
