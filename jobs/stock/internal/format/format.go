// Package format has the texts that the errors, logs and answers of a sale share: quoted values,
// masked persons, times, and the characters of ids.
package format

import (
	"fmt"
	"time"
)

// Quote quotes s and cuts it, so that an error cannot be flooded.
func Quote(s string) string {
	const most = 64
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
}

// Time formats a time; the zero time is empty.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// Mask replaces all but the first character of a receiver: Ada Lovelace becomes A***. A receiver of
// at most three characters is hidden completely.
func Mask(receiver string) string {
	const few = 3
	runes := []rune(receiver)
	if len(runes) <= few {
		return "***"
	}
	return string(runes[:1]) + "***"
}

// IsName reports whether s is 1 to 64 of A-Z a-z 0-9 . _ -.
func IsName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !Alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Alphanumeric reports whether c is a letter or a digit. It is written out, since every request
// calls it.
func Alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
