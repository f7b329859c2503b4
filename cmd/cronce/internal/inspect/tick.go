package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/scheduler/spec"
)

// ParseTick returns the instant that a text denotes, and a note about it: RFC 3339, a local time in the zone of the
// schedule, last, next, or a duration before now. The schedule belongs to the job; nil: it is not known.
func ParseTick(text string, s *spec.Schedule, now time.Time) (tick time.Time, note string, err error) {
	zone := time.UTC
	if s != nil {
		zone = s.Zone()
	}
	ago, isAgo := time.ParseDuration(strings.TrimPrefix(text, "-"))
	switch {
	case s != nil && text == "last":
		tick = s.Prev(now)
	case s != nil && text == "next":
		tick = s.Next(now)
	case s != nil && isAgo == nil && ago >= 0:
		tick = s.Prev(now.Add(-ago))
	default:
		return localTime(text, zone, now)
	}
	if tick.IsZero() {
		return tick, "", fmt.Errorf("is %s, and the job has no such tick", strictyaml.Quote(text))
	}
	return tick, "", nil
}

// localTime parses RFC 3339 or a local time. A local time without a day is the latest one that has
// passed. If daylight saving skips or repeats the local time, the note names the chosen instant.
func localTime(text string, zone *time.Location, now time.Time) (at time.Time, note string, err error) {
	full := text
	_, minutes := time.Parse("15:04", text)
	_, seconds := time.Parse(time.TimeOnly, text)
	if minutes == nil || seconds == nil {
		full = now.In(zone).Format("2006-01-02 ") + text
		if t, _ := command.ParseTime(full, zone); t.After(now) {
			full = now.In(zone).AddDate(0, 0, -1).Format("2006-01-02 ") + text
		}
	}
	if len(full) == len(time.DateOnly) {
		full += " 00:00"
	}
	if at, err = command.ParseTime(full, zone); err != nil {
		return at, "", fmt.Errorf("is %s, must be RFC 3339 (2026-03-29T01:00:00Z), a local time (2026-03-29 01:00 or 01:00), last, next, or how long ago (2h)", strictyaml.Quote(text))
	}
	if _, err := time.Parse(time.RFC3339, full); err == nil {
		return at, "", nil
	}
	if shown := at.Format("15:04"); !strings.HasPrefix(full[len("2006-01-02 "):], shown) {
		begin, _ := at.Add(time.Hour).ZoneBounds() // at is after the change in a zone east of UTC, and up to an hour before it in one west of UTC
		return begin, fmt.Sprintf("%s does not exist in %s: the clock went forward at %s", full, zone, begin.UTC().Format(time.RFC3339)), nil
	}
	first, second := bothOf(at)
	if !first.Equal(second) {
		note = fmt.Sprintf("%s exists twice in %s: this is the first, %s is the second", full, zone, second.UTC().Format(time.RFC3339))
	}
	return first, note, nil
}

// bothOf returns the two instants with the local time of at, or at twice if it is the only one.
// Clocks go back by an hour, or by half an hour on Lord Howe Island.
func bothOf(at time.Time) (first, second time.Time) {
	for _, by := range []time.Duration{30 * time.Minute, time.Hour} {
		if before := at.Add(-by); before.Format(time.DateTime) == at.Format(time.DateTime) {
			return before, at
		}
		if after := at.Add(by); after.Format(time.DateTime) == at.Format(time.DateTime) {
			return at, after
		}
	}
	return at, at
}
