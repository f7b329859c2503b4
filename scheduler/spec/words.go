package spec

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Words returns a usual spec in English, such as "every 5 s" or "daily at 02:00 Europe/Berlin". Of any
// other spec, such as one with limits, it returns the text.
func (s *Schedule) Words() string {
	if at := s.At(); !at.IsZero() {
		return "once, at " + at.Format("2006-01-02 15:04:05 ") + s.zone.String()
	}
	if s.limits != nil {
		return s.text
	}
	if s.every > 0 {
		return "every " + lengthInWords(s.every)
	}
	days := s.sets.daysInWords()
	if clock := s.sets.clockInWords(); clock != "" && days != "" {
		return days + " at " + clock + " " + s.zone.String()
	}
	every := s.sets.intervalInWords()
	switch {
	case every == "" || days == "":
		return s.text
	case days == daily && s.sets.hour == all(24):
		return every
	case days == daily:
		return every + ", " + s.zone.String()
	}
	return every + ", " + days + " " + s.zone.String()
}

// lengthInWords formats a number of seconds, without parts that are 0.
func lengthInWords(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	var parts []string
	for _, unit := range []struct {
		of   time.Duration
		word string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / unit.of; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.word))
			d -= n * unit.of
		}
	}
	return strings.Join(parts, " ")
}

// all returns the set of the values 0 to n-1.
func all(n int) uint64 { return 1<<n - 1 }

// single returns the only value of a set, or -1.
func single(set uint64) int {
	if bits.OnesCount64(set) != 1 {
		return -1
	}
	return bits.TrailingZeros64(set)
}

// step returns the distance of the values of a set that begin with 0 and divide n evenly, or 0.
func step(set uint64, n int) int {
	for d := 1; d < n; d++ {
		if n%d != 0 {
			continue
		}
		var of uint64
		for v := 0; v < n; v += d {
			of |= 1 << v
		}
		if of == set {
			return d
		}
	}
	return 0
}

// clockInWords returns up to three times of a day, or "".
func (s *sets) clockInWords() string {
	const most = 3
	minute, second := single(s.minute), single(s.second)
	if minute < 0 || second < 0 || bits.OnesCount64(s.hour) > most {
		return ""
	}
	var times []string
	for hour := range 24 {
		if s.hour>>hour&1 == 0 {
			continue
		}
		text := fmt.Sprintf("%02d:%02d", hour, minute)
		if second > 0 {
			text += fmt.Sprintf(":%02d", second)
		}
		times = append(times, text)
	}
	return enumerate(times)
}

// intervalInWords returns the even distance of the ticks of a day, or "".
func (s *sets) intervalInWords() string {
	every := func(n int, one, unit string) string {
		if n == 1 {
			return "every " + one
		}
		return fmt.Sprintf("every %d %s", n, unit)
	}
	hours, minutes, seconds := step(s.hour, 24), step(s.minute, 60), step(s.second, 60)
	minute, second := single(s.minute), single(s.second)
	switch {
	case hours == 1 && minutes == 1 && seconds > 0:
		return every(seconds, "second", "s")
	case hours == 1 && minutes > 0 && second == 0:
		return every(minutes, "minute", "min")
	case hours > 0 && minute == 0 && second == 0:
		return every(hours, "hour", "h")
	case hours == 1 && minute > 0 && second == 0:
		return fmt.Sprintf("hourly at minute %d", minute)
	}
	return ""
}

const daily = "daily"

// daysInWords returns the days, such as daily, or "" if they are not usual ones.
func (s *sets) daysInWords() string {
	everyDay, everyMonth, everyWeekday := s.dayOfMonth == all(32)&^1, s.month == all(13)&^1, s.dayOfWeek == all(7)
	day, month := single(s.dayOfMonth), single(s.month)
	switch {
	case s.eitherDay: // below, one of the day fields has all days
		return ""
	case s.rare != nil:
		if *s.rare == (rare{fromLast: 1}) && s.dayOfMonth == 0 && everyMonth {
			return "on the last day of each month"
		}
		return ""
	case everyDay && everyMonth && everyWeekday:
		return daily
	case everyDay && everyMonth:
		return weekdaysInWords(s.dayOfWeek)
	case day > 0 && everyMonth:
		return fmt.Sprintf("on day %d of each month", day)
	case day > 0 && month > 0:
		return fmt.Sprintf("on %v %d", time.Month(month), day)
	}
	return ""
}

// weekdaysInWords returns a range of weekdays, which begin with Monday, or their list.
func weekdaysInWords(set uint64) string {
	var names []string
	first, last := -1, -1
	for i := range 7 {
		if set>>((i+1)%7)&1 == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		names = append(names, time.Weekday((i+1)%7).String())
	}
	if n := len(names); n > 2 && last-first+1 == n {
		return names[0] + " to " + names[n-1]
	}
	return enumerate(names)
}

// enumerate joins texts with commas and "and".
func enumerate(texts []string) string {
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}
