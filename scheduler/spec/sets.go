package spec

import (
	"math/bits"

	"github.com/robfig/cron/v3"
)

// sets holds the values of each field as bits, and searches local time: the
// seconds since 1970-01-01 00:00 that a clock on the wall would count. Zones
// do not matter here.
type sets struct {
	second, minute, hour, dayOfMonth, month, dayOfWeek uint64

	// eitherDay is true when both day fields are restricted: then a day
	// matches when one of them does.
	eitherDay bool
}

// star is the bit that robfig's parser sets for a field that was * or ?.
const star = 1 << 63

func newSets(p *cron.SpecSchedule) sets {
	return sets{
		second:     p.Second &^ star,
		minute:     p.Minute &^ star,
		hour:       p.Hour &^ star,
		dayOfMonth: p.Dom &^ star,
		month:      p.Month &^ star,
		dayOfWeek:  p.Dow &^ star,
		eitherDay:  p.Dom&star == 0 && p.Dow&star == 0,
	}
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

// searchMonths is how far days are looked for. The longest wait is that for
// 29 February over a century without one: eight years.
const searchMonths = 12 * 12

func (s *sets) nextDay(day int64) (int64, bool) {
	year, month, dom := civil(day)
	for range searchMonths {
		if dom = atOrAfter(s.days(year, month), dom); dom < none {
			return dayNumber(year, month, dom), true
		}
		if month++; month > 12 {
			year, month = year+1, 1
		}
		dom = 1
	}
	return 0, false
}

func (s *sets) prevDay(day int64) (int64, bool) {
	year, month, dom := civil(day)
	for range searchMonths {
		if dom = atOrBefore(s.days(year, month), dom); dom >= 0 {
			return dayNumber(year, month, dom), true
		}
		if month--; month < 1 {
			year, month = year-1, 12
		}
		dom = 31
	}
	return 0, false
}

// days returns the matching days of a month, day d as bit d.
func (s *sets) days(year int64, month int) uint64 {
	if s.month>>month&1 == 0 {
		return 0
	}
	// Turn the week so that bit 0 is the first of the month, then repeat it.
	turn := weekday(dayNumber(year, month, 1))
	week := (s.dayOfWeek>>turn | s.dayOfWeek<<(7-turn)) & 0x7f
	byWeek := week * (1 | 1<<7 | 1<<14 | 1<<21 | 1<<28) << 1
	inMonth := uint64(1)<<(monthLength(year, month)+1) - 2
	if s.eitherDay {
		return (s.dayOfMonth | byWeek) & inMonth
	}
	return s.dayOfMonth & byWeek & inMonth
}

// none is what atOrAfter returns when there is no such bit.
const none = 64

func atOrAfter(set uint64, from int) int {
	return bits.TrailingZeros64(set >> from << from)
}

// atOrBefore returns -1 when there is no such bit; to may be -1.
func atOrBefore(set uint64, to int) int {
	return bits.Len64(set&(1<<(to+1)-1)) - 1
}

func first(set uint64) int { return bits.TrailingZeros64(set) }
func last(set uint64) int  { return bits.Len64(set) - 1 }
