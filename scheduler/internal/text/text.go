// Package text bounds and formats the values in messages and log lines.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/redact"
)

// MaxError bounds, in bytes, the text of an error in a log line.
const MaxError = 4 << 10

// Cut returns at most the first n bytes of s. It does not split a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Error returns an error's text for a log line and the store: masked, see redact.Patterns, and at
// most MaxError bytes of it.
func Error(s string) string {
	masked := Cut(redact.Head(s, MaxError), MaxError)
	if len(s) > MaxError && !strings.HasSuffix(masked, "…") {
		masked += "…"
	}
	return masked
}

// Quote quotes a user's text, and cuts it so that it cannot flood a message.
func Quote(s string) string {
	const most = 140 // longer than every allowed name
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%s (%d bytes)", strconv.Quote(Cut(s, most)), len(s))
}

// TickLayout is the layout of ticks, in UTC.
const TickLayout = "2006-01-02T15:04:05.000Z07:00"

// Tick formats a tick in Unix milliseconds.
func Tick(ms int64) string { return time.UnixMilli(ms).UTC().Format(TickLayout) }
