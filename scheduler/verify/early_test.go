package verify_test

import (
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A grant may be written up to 20 ms before its instant, because it carries the wait. No other line
// may be early by a millisecond, whether it moves the mark or not.
func TestEarlyToTheMillisecond(t *testing.T) {
	waits := line(series.VerdictWaiting, 20, 10, 20)
	ended := word(series.VerdictEnded, 19.9, granted(10), "ok")
	for _, c := range []struct {
		name  string
		early float64 // ms
		line  func(written float64) []series.Line
		ok    bool
	}{
		{"a grant", 20, func(at float64) []series.Line { return []series.Line{line(series.VerdictRan, at, 0, 20)} }, true},
		{"a grant", 21, func(at float64) []series.Line { return []series.Line{line(series.VerdictRan, at, 0, 20)} }, false},
		{"a skip", 0, func(at float64) []series.Line {
			return []series.Line{granted(10), line(series.VerdictSkipped, at, 10, 20)}
		}, true},
		{"a skip", 1, func(at float64) []series.Line {
			return []series.Line{granted(10), line(series.VerdictSkipped, at, 10, 20)}
		}, false},
		{"a wait", 1, func(at float64) []series.Line {
			return []series.Line{granted(10), line(series.VerdictWaiting, at, 10, 20)}
		}, false},
		{"a miss", 1, func(at float64) []series.Line { return []series.Line{line(series.VerdictMissed, at, 0, 20)} }, false},
		{"a second grant", 20, func(at float64) []series.Line { return []series.Line{granted(10), waits, ended, attempt(1, at, 20)} }, true},
		{"a second grant", 21, func(at float64) []series.Line { return []series.Line{granted(10), waits, ended, attempt(1, at, 20)} }, false},
	} {
		lines := c.line(20 - c.early/1000)
		for i := range lines {
			if lines[i].From == at(0) {
				lines[i].Between = series.VerdictMissed
			}
			if lines[i].Verdict == series.VerdictWaiting {
				lines[i].Fence = fence(15)
			}
		}
		got := verify.Job(journal(lines...), verify.Options{Now: instant(at(20))})
		if got.Broken("I7") != map[bool]int{true: 0, false: 1}[c.ok] {
			t.Errorf("%s %v ms early: %v", c.name, c.early, got.Violations)
		}
	}
}
