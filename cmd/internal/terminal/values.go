package terminal

import (
	"fmt"
	"strings"
	"time"
)

// UTC returns a time of the store, in Unix ms, as a UTC time.
func UTC(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// RFC3339 formats a time of the store as RFC 3339 in UTC, to the second.
func RFC3339(ms int64) string { return UTC(ms).Format(time.RFC3339) }

// ShortTime formats an instant, with its day if it is not today.
func ShortTime(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04:05")
}

// Number formats a number, and 0 as a dash.
func Number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// Names lists the first names and the number of the others.
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
