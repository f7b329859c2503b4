// Package spec computes the instants of a schedule from its text, the spec.
//
// A spec has five fields (minute, hour, day of month, month, day of week), six with seconds first,
// or seven with seconds first and the year last; or it is a descriptor (@hourly, @daily, @midnight,
// @weekly, @monthly, @yearly, @annually) or "@every 90s". A prefix such as "CRON_TZ=Asia/Shanghai "
// (or "TZ=...") names the zone of the fields.
//
// The grammar is the same as in github.com/robfig/cron/v3, and so is the rule for days: if both day
// fields are restricted, a day matches if either field does. In addition, Sunday may be written 7,
// and obvious mistakes are refused: empty list items, steps beyond the field, specs that never
// fire.
//
// # Last days, nearest weekdays, weekdays of the month, years
//
// Some items of Quartz and of some versions of Vixie's cron are accepted too. They can be combined
// with others in a list:
//
//	L, L-3      day of month  the last day of the month, the third before it
//	15W         day of month  the weekday (Monday to Friday) nearest to the 15th, in the same month
//	LW, L-3W    day of month  the weekday nearest to that day: LW is the last weekday of the month
//	5L, FRIL    day of week   the last Friday of the month
//	5#3, FRI#3  day of week   the third Friday of the month; a month without a fifth one has no tick
//	2027-2030   year          1970 to 2199; values, ranges and steps
//
// A month that does not have the day has no tick: 31W has none in April. Weekdays have the numbers
// of robfig/cron and Vixie's cron, 0 to 7, with Sunday as both 0 and 7. Quartz counts from 1 for
// Sunday to 7 for Saturday, so its 6#3 is FRI#3 or 5#3 here; names have the same meaning in both.
// If a spec appears to be written for Quartz, [Schedule.Remarks] warns about it. L alone in the day
// of week, Saturday in Quartz, is refused.
//
// # Daylight saving
//
// A spec is fixed if its second, minute and hour are each a value or a list of values. A fixed spec
// runs when the local clock first reaches or passes its time. Times inside a gap become one tick at
// the gap's end, even if the gap is a whole day. Of a repeated hour only the first pass counts. Any
// other spec follows elapsed time: it has no tick in a gap, and ticks in both passes of a repeated
// hour.
//
// # Every
//
// "@every d" has ticks at the multiples of d since 1970-01-01T00:00:00Z, so all processes compute
// the same instants. It has no zone. A CRON_TZ= before it is refused, unless it is UTC, which
// changes nothing, or limits follow.
//
// # Limits
//
// Limits after a spec exclude some of its ticks:
//
//	not_before=2026-12-07T09:00          ticks from this instant on
//	until=2027-06-30T00:00:00Z           ticks before this instant
//	every=2                              each second tick counted from not_before, and the first
//	exclude=2026-12-25,2026-12-24..2027-01-01,SAT  ticks on none of these days
//
// Instants have an offset, or are local times of the zone. A local time that the clock jumps over
// becomes the end of the gap, and of a local time that it shows twice the first one counts. Days
// are days of the zone. The limit every counts excluded ticks too, so an excluded day does not move
// the other ticks.
//
// "@at 2027-03-28T02:30" is a spec with one tick. It takes no limits.
package spec

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Schedule is a parsed spec. It is immutable and safe for concurrent use. Ticks are whole seconds
// in the years 1 to 9999. Make one with [Parse]; the zero value has no ticks and must not be used.
type Schedule struct {
	text    string
	zone    *time.Location
	every   int64 // seconds; 0 unless @every
	sets    sets
	remarks []string
	limits  *limits // nil: the spec has no limits

	lastPeriod atomic.Pointer[period] // the period of zone that was used most recently
	lastSpan   atomic.Pointer[span]   // the latest result of NextMilli
}

// Parse parses a spec as described above. It refuses fields longer than 256 bytes in all, and text
// longer than 2,048 bytes. If the text names no zone, the fields are in the given zone; nil means
// UTC. time.Local is refused, by name too, because a spec must have the same meaning on every
// machine. Errors are of type [*Error].
func Parse(text string, zone *time.Location) (*Schedule, error) {
	text = strings.TrimSpace(text)
	s, fault := parse(text, zone)
	if fault != nil {
		fault.Spec = text
		return nil, fault
	}
	return s, nil
}

func parse(text string, zone *time.Location) (*Schedule, *Error) {
	if fault := checkText(text); fault != nil {
		return nil, fault
	}
	name, rest, fault := cutZone(text)
	if fault != nil {
		return nil, fault
	}
	zone, fault = pickZone(name, zone)
	if fault != nil {
		return nil, fault
	}
	s := &Schedule{text: text, zone: zone}
	words, limited := cutLimits(strings.Fields(rest))
	switch {
	case len(strings.Join(words, " ")) > maxFields:
		return nil, &Error{Reason: tooLong(len(strings.Join(words, " ")), maxFields)}
	case words[0] == "@at":
		return s, s.parseAt(words[1:], limited)
	case words[0] == "@every":
		fault = s.parseEvery(words[1:], name != "", len(limited) > 0)
	default:
		fault = s.parseFields(words)
	}
	if fault == nil {
		fault = s.readLimits(limited)
	}
	return s, fault
}

// Text returns the spec as given, without surrounding space.
func (s *Schedule) Text() string { return s.text }

// Zone returns the zone of the fields, never nil. @every ignores it.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Every returns the period of an @every spec without limits, and 0 for any other spec.
func (s *Schedule) Every() time.Duration {
	if s.limits != nil {
		return 0
	}
	return time.Duration(s.every) * time.Second
}

// At returns the instant of an @at spec, and the zero time for any other spec.
func (s *Schedule) At() time.Time {
	if !s.at() {
		return time.Time{}
	}
	return time.Unix(s.limits.from, 0).In(s.zone)
}

// Fixed reports whether the spec is fixed, as described in the package's section on daylight
// saving. An @every spec is not.
func (s *Schedule) Fixed() bool { return s.sets.fixed }

// Remarks returns sentences for the author of the spec, the most important first, or nil if there
// are none.
func (s *Schedule) Remarks() []string { return slices.Clone(s.remarks) }
