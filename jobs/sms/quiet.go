package sms

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// QuietHours are the part of each day in which only urgent messages leave. The others wait until it
// ends. The zero value is no quiet hours.
type QuietHours struct {
	// From and To are times of the day on the wall clock, since midnight: 0 to less than 24
	// hours, in whole minutes. Messages leave again at To. If To is earlier than From it belongs
	// to the next day. Equal: there are no quiet hours.
	From, To time.Duration
	// Zone is the time zone of messages without one. Nil: UTC.
	Zone *time.Location
}

const (
	day          = 24 * time.Hour
	quietAllowed = "two different times of the day such as 22:00-08:00"
)

// ParseQuietHours parses hours such as 22:00-08:00. Its error is a *FieldError.
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

// validate panics for invalid hours: parsed hours are valid, so the mistake is in the program.
func (q QuietHours) validate() {
	for _, d := range []time.Duration{q.From, q.To} {
		if d < 0 || d >= day || d%time.Minute != 0 {
			panic(fmt.Sprintf("sms: quiet hours from %v to %v, must be whole minutes from 0 to less than 24 hours", q.From, q.To))
		}
	}
}

// clockTime returns the wall clock time since midnight.
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

// end returns the end of the quiet hours that contain t; zero if t is not in quiet hours. The wall
// clock counts. If a clock change skips the end, the next existing time ends them; if it repeats
// the end, they may end at the second occurrence.
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
	for !end.After(t) || q.at(end) { // a clock change skips or repeats the time of the end
		end = end.Add(time.Minute)
	}
	return end
}

// zone returns the zone of the message. A zone that does not exist was refused when the message was
// read.
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

// zones caches zones by name; the time zone database bounds its size.
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
