package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
)

// journalVerdicts are what --verdict knows.
var journalVerdicts = []lock.Verdict{
	lock.VerdictOpened, lock.VerdictRan, lock.VerdictEnded, lock.VerdictSkipped, lock.VerdictWaiting,
	lock.VerdictSuperseded, lock.VerdictMissed, lock.VerdictPaused, lock.VerdictLost, lock.VerdictUnreadable,
}

// A journalFilter says which lines are shown. A zero part lets all through.
type journalFilter struct {
	since, until time.Time
	verdict      lock.Verdict
}

func (f journalFlags) filter(now time.Time) (journalFilter, error) {
	filter := journalFilter{verdict: lock.Verdict(f.verdict)}
	var err error
	if filter.since, err = sinceWhen(f.since, now); err != nil {
		return filter, usagef("journal: --since %w", err)
	}
	if filter.until, err = sinceWhen(f.until, now); err != nil {
		return filter, usagef("journal: --until %w", err)
	}
	if !filter.since.IsZero() && !filter.until.IsZero() && filter.until.Before(filter.since) {
		return filter, usagef("journal: --until %s is before --since %s", shorten(f.until), shorten(f.since))
	}
	if f.verdict != "" && !slices.Contains(journalVerdicts, filter.verdict) {
		names := make([]string, len(journalVerdicts))
		for i, v := range journalVerdicts {
			names[i] = string(v)
		}
		return filter, usagef("journal: --verdict is %s, allowed is one of %s", shorten(f.verdict), strings.Join(names, ", "))
	}
	return filter, nil
}

// all reports whether every line is shown.
func (f *journalFilter) all() bool { return *f == journalFilter{} }

// shows reports whether a line is shown: one whose range has a tick in the time that
// is asked for, or that was written in it.
func (f *journalFilter) shows(l *lock.Line) bool {
	verdict := f.verdict == "" || l.Verdict == f.verdict || l.Between == f.verdict
	last, first := instant(max(l.To, l.At)), instant(min(l.To, l.At))
	return verdict && (f.since.IsZero() || !last.Before(f.since)) && (f.until.IsZero() || !first.After(f.until))
}

// A shownLine is a line with what later lines say of it.
type shownLine struct {
	*lock.Line
	killed string // what became of an attempt that has no end
}

// shown are the newest n lines of a journal that a filter lets through.
func (f *journalFilter) shown(j *lock.Journal, n int) (lines []shownLine) {
	killed := killedAttempts(j.Lines)
	for i := range j.Lines {
		if l := &j.Lines[i]; f.shows(l) {
			lines = append(lines, shownLine{l, killed[i]})
		}
	}
	return lines[max(0, len(lines)-n):]
}

// killedAttempts finds the attempts that have no end because their node died, or lost
// its store: another took the tick over, or it was settled as lost.
func killedAttempts(lines []lock.Line) map[int]string {
	killed, open := map[int]string{}, map[int64]int{} // by tick
	for i := range lines {
		l := &lines[i]
		at, before := open[l.To]
		switch l.Verdict {
		case lock.VerdictRan:
			if before {
				killed[at] = fmt.Sprintf("killed or cut off: %s took it over", l.Node)
			}
			delete(open, l.To)
			if l.Outcome == "" {
				open[l.To] = i
			}
		case lock.VerdictLost:
			if before {
				killed[at] = "killed or cut off: its tick was lost"
			}
			delete(open, l.To)
		case lock.VerdictEnded:
			delete(open, l.To)
		}
	}
	return killed
}

// lateOf is how long after its tick a line was granted.
func lateOf(l *lock.Line) string {
	if l.Verdict != lock.VerdictRan {
		return "-"
	}
	return milliseconds(fmt.Sprint(l.At - l.To))
}
