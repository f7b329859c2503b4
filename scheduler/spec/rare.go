package spec

import (
	"fmt"
	"math/bits"
	"strings"
)

// The range of a year field.
const (
	firstYear = 1970
	lastYear  = 2199
)

// A rare holds the parts of a spec that few specs have and that depend on the length of a month or
// on the weekday on which the month begins. A spec without such parts has a nil rare.
type rare struct {
	fromLast     uint64   // bit n: the day n days before the last of the month (L, L-n)
	near         uint64   // bit d: the weekday nearest to day d (dW)
	nearFromLast uint64   // bit n: the weekday nearest to the day n days before the last (LW, L-nW)
	nth          [6]uint8 // nth[n], bit w: the n-th weekday w of the month (w#n)
	lastOf       uint8    // bit w: the last weekday w of the month (wL)

	someYears bool
	years     [(lastYear-firstYear)/64 + 1]uint64 // bit y-firstYear
}

// parse reads an item that is L, W or # in one of the day fields. It reports whether the item is one
// of these, and the reason if the item is wrong.
func (r *rare) parse(f field, item string) (known bool, reason string) {
	upper := strings.ToUpper(item)
	switch f.name {
	case fields[dayOfMonth].name:
		return r.takeDay(upper)
	case fields[dayOfWeek].name:
		return r.takeWeekday(f, upper)
	}
	return false, ""
}

// maxFromLast is the first day of a month of 31 days, counted back from the last day.
const maxFromLast = 30

// takeDay reads L, L-3, 15W, LW and L-3W.
func (r *rare) takeDay(item string) (known bool, reason string) {
	day, near := strings.CutSuffix(item, "W")
	days, set := &r.fromLast, &r.near
	if near {
		days = &r.nearFromLast
	}
	back, last := strings.CutPrefix(day, "L")
	switch n := number(strings.TrimPrefix(back, "-")); {
	case last && back == "":
		*days |= 1
	case last && strings.HasPrefix(back, "-"):
		if n < 1 || n > maxFromLast {
			return true, fmt.Sprintf("must be L-1 to L-%d, days before the last of the month", maxFromLast)
		}
		*days |= 1 << n
	case near:
		if n = number(day); n < 1 || n > 31 {
			return true, "W stands behind one day, as in 15W (the weekday nearest to the 15th) or LW; must be 1W to 31W"
		}
		*set |= 1 << n
	case last, strings.HasSuffix(item, "L"):
		return true, "L stands alone, as in L (the last day of the month), or before a number of days, as in L-3"
	default:
		return false, ""
	}
	return true, ""
}

// takeWeekday reads 5L and 5#3, also with names.
func (r *rare) takeWeekday(f field, item string) (known bool, reason string) {
	if item == "L" || strings.HasPrefix(item, "L-") {
		return true, "L stands behind a day of week, as in 5L (the last Friday of the month); Saturday, which Quartz reads L as, is 6"
	}
	if day, last := strings.CutSuffix(item, "L"); last {
		w, ok := f.value(day)
		if !ok {
			return true, "L stands behind one day of week, as in 5L (the last Friday of the month) or FRIL"
		}
		r.lastOf |= 1 << (w % 7)
		return true, ""
	}
	day, count, ok := strings.Cut(item, "#")
	if !ok {
		return false, ""
	}
	w, isDay := f.value(day)
	n := number(count)
	if !isDay || n < 1 || n > 5 {
		return true, "# stands between one day of week and 1 to 5, as in 5#3 (the third Friday of the month) or FRI#2"
	}
	r.nth[n] |= 1 << (w % 7)
	return true, ""
}

// takeYears reads a year field that normalise has checked.
func (r *rare) takeYears(text string) {
	f := fields[year]
	var years [len(r.years)]uint64
	for item := range strings.SplitSeq(text, ",") {
		base, stepText, stepped := strings.Cut(item, "/")
		from, to, step := f.min, f.max, 1
		if stepped {
			step = number(stepText)
		}
		if base != "*" && base != "?" {
			low, high, _ := f.ends(base)
			from = low
			if !stepped || strings.Contains(base, "-") {
				to = high
			}
		} else if step == 1 {
			return // matches any year, beyond the range of the field too
		}
		for y := from; y <= to; y += step {
			years[(y-firstYear)/64] |= 1 << ((y - firstYear) % 64)
		}
	}
	r.someYears, r.years = true, years
}

// yearFrom returns the first year of the spec at or after y.
func (r *rare) yearFrom(y int64) (int64, bool) {
	if r == nil || !r.someYears {
		return y, true
	}
	for at := max(y-firstYear, 0); at <= lastYear-firstYear; at = (at/64 + 1) * 64 {
		if left := r.years[at/64] >> (at % 64); left != 0 {
			return firstYear + at + int64(bits.TrailingZeros64(left)), true
		}
	}
	return 0, false
}

// yearUntil returns the last year of the spec at or before y.
func (r *rare) yearUntil(y int64) (int64, bool) {
	if r == nil || !r.someYears {
		return y, true
	}
	for at := min(y-firstYear, lastYear-firstYear); at >= 0; at = at/64*64 - 1 {
		if left := r.years[at/64] << (63 - at%64); left != 0 {
			return firstYear + at - int64(bits.LeadingZeros64(left)), true
		}
	}
	return 0, false
}

// A shape has the two properties of a month on which days depend: its length, and its first
// weekday.
type shape struct{ length, turn int }

// week returns the days of a month that fall on the given weekdays, day d as bit d. The result may
// include days beyond the end of the month.
func (m shape) week(weekdays uint64) uint64 {
	// Turn the week so that bit 0 is the first of the month, then repeat it.
	week := (weekdays>>m.turn | weekdays<<(7-m.turn)) & 0x7f
	return week * (1 | 1<<7 | 1<<14 | 1<<21 | 1<<28) << 1
}

// daysOfMonth returns the days that the day-of-month field selects.
func (r *rare) daysOfMonth(m shape) (days uint64) {
	for n := range each(r.fromLast) {
		if n < m.length {
			days |= 1 << (m.length - n)
		}
	}
	for d := range each(r.near) {
		days |= m.nearest(d)
	}
	for n := range each(r.nearFromLast) {
		days |= m.nearest(m.length - n)
	}
	return days
}

// nearest returns the weekday nearest to a day, in the same month. It returns no day if the month
// does not have that day.
func (m shape) nearest(day int) uint64 {
	if day < 1 || day > m.length {
		return 0
	}
	switch (m.turn + day - 1) % 7 {
	case 6: // Saturday
		if day--; day < 1 {
			day = 3
		}
	case 0: // Sunday
		if day++; day > m.length {
			day = m.length - 2
		}
	}
	return 1 << day
}

// daysOfWeek returns the days that the day-of-week field selects.
func (r *rare) daysOfWeek(m shape) uint64 {
	const sevenDays = 0x7f
	days := m.week(uint64(r.lastOf)) & (sevenDays << (m.length - 6))
	for n, weekdays := range r.nth {
		if weekdays != 0 {
			days |= m.week(uint64(weekdays)) & (sevenDays << (7*n - 6))
		}
	}
	return days
}

// each yields the numbers of the bits of a set.
func each(set uint64) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}
