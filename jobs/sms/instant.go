package sms

import "time"

const (
	minYear      = 1970
	maxYear      = 9999
	yearsAllowed = "a year from 1970 to 9999"
	localTime    = "2006-01-02 15:04:05"
)

// ParseTime reads when a message is due: RFC 3339 (2026-03-01T09:30:00+01:00), or
// 2026-03-01 09:30:00 in the given zone (nil: UTC). Empty is the zero time, at
// once. A local time that a change of the clock skips or repeats means one of the
// two instants it could be; write RFC 3339 where that matters. Its error is a
// *FieldError.
func ParseTime(s string, zone *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if zone == nil {
		zone = time.UTC
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = time.ParseInLocation(localTime, s, zone)
	}
	if y := at.UTC().Year(); err != nil || y < minYear || y > maxYear {
		return time.Time{}, &FieldError{"at", quote(s), `RFC 3339 or "` + localTime + `", ` + yearsAllowed}
	}
	return at, nil
}
