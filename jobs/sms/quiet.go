package sms

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// QuietHours are the part of each day in which only urgent messages leave. The others
// wait for its end. The zero value is no such part.
type QuietHours struct {
	// From and To are times of the day on the wall clock, since midnight: 0 to less than 24
	// hours, in whole minutes. To is the first instant at which messages leave again; it may
	// be earlier than From, and is of the next day then. Equal: there are no quiet hours.
	From, To time.Duration
	// Zone is that of messages that name none. Nil: UTC.
	Zone *time.Location
}

const (
	day          = 24 * time.Hour
	quietAllowed = "two different times of the day such as 22:00-08:00"
)

// ParseQuietHours reads 22:00-08:00. Its error is a *FieldError.
func ParseQuietHours(s string, zone *time.Location) (QuietHours, error) {
	from, to, ok := strings.Cut(s, "-")
	begin, err1 := time.Parse("15:04", strings.TrimSpace(from))
	end, err2 := time.Parse("15:04", strings.TrimSpace(to))
	q := QuietHours{From: clockTime(begin), To: clockTime(end), Zone: zone}
	if !ok || err1 != nil || err2 != nil || q.From == q.To {
		return QuietHours{}, &FieldError{"quiet", quote(s), quietAllowed}
	}
	return q, nil
}

// validate panics for hours that are none: they are written in the program, or were parsed.
func (q QuietHours) validate() {
	for _, d := range []time.Duration{q.From, q.To} {
		if d < 0 || d >= day || d%time.Minute != 0 {
			panic(fmt.Sprintf("sms: quiet hours from %v to %v, must be whole minutes from 0 to less than 24 hours", q.From, q.To))
		}
	}
}

// clockTime is what a clock on the wall shows, since midnight.
func clockTime(t time.Time) time.Duration {
	hour, minute, second := t.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(t.Nanosecond())
}

// at reports whether an instant is within the quiet hours of its own zone.
func (q QuietHours) at(t time.Time) bool {
	d := clockTime(t)
	if q.From < q.To {
		return d >= q.From && d < q.To
	}
	return q.From != q.To && (d >= q.From || d < q.To)
}

// end is when the quiet hours end in which t is; zero if it is not quiet at t. What the wall
// shows counts: a time that the clock skips ends them with the next, and of one that it
// repeats it may be the second.
func (q QuietHours) end(m Message, t time.Time) time.Time {
	if q.From == q.To || m.Priority == Urgent {
		return time.Time{}
	}
	if t = t.In(q.zone(m)); !q.at(t) {
		return time.Time{}
	}
	year, month, date := t.Date()
	end := time.Date(year, month, date, int(q.To/time.Hour), int(q.To%time.Hour/time.Minute), 0, 0, t.Location())
	if clockTime(t) >= q.To {
		end = time.Date(year, month, date+1, int(q.To/time.Hour), int(q.To%time.Hour/time.Minute), 0, 0, t.Location())
	}
	for !end.After(t) || q.at(end) { // its time of the day is skipped or repeated by a change of the clock
		end = end.Add(time.Minute)
	}
	return end
}

// zone is that of the message. One that cannot be found here was refused when the message
// was read.
func (q QuietHours) zone(m Message) *time.Location {
	if m.Zone != "" {
		if zone := findZone(m.Zone); zone != nil {
			return zone
		}
	}
	if q.Zone != nil {
		return q.Zone
	}
	return time.UTC
}

// zones are those that were found, by name: there are no more than the time zone database has.
var zones sync.Map

// findZone returns a zone of the time zone database, or nil. The machine's own has no name.
func findZone(name string) *time.Location {
	if found, ok := zones.Load(name); ok {
		return found.(*time.Location)
	}
	if name == "" || name == "Local" || len(name) > 64 {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, zone)
	return zone
}
