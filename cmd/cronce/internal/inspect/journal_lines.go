package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/lock/series"
)

// journalVerdicts are what --verdict knows.
var journalVerdicts = []series.Verdict{
	series.VerdictOpened, series.VerdictRan, series.VerdictEnded, series.VerdictSkipped, series.VerdictWaiting,
	series.VerdictSuperseded, series.VerdictMissed, series.VerdictPaused, series.VerdictLost, series.VerdictControl, series.VerdictUnreadable,
}

// A journalFilter says which lines are shown. A zero part lets all through.
type journalFilter struct {
	since, until time.Time
	verdict      series.Verdict
}

func (f journalFlags) filter(now time.Time) (journalFilter, error) {
	filter := journalFilter{verdict: series.Verdict(f.verdict)}
	var err error
	if filter.since, err = sinceWhen(f.since, now); err != nil {
		return filter, exit.Usagef("journal: --since %w", err)
	}
	if filter.until, err = sinceWhen(f.until, now); err != nil {
		return filter, exit.Usagef("journal: --until %w", err)
	}
	if !filter.since.IsZero() && !filter.until.IsZero() && filter.until.Before(filter.since) {
		return filter, exit.Usagef("journal: --until %s is before --since %s", strictyaml.Quote(f.until), strictyaml.Quote(f.since))
	}
	if f.verdict != "" && !slices.Contains(journalVerdicts, filter.verdict) {
		names := make([]string, len(journalVerdicts))
		for i, v := range journalVerdicts {
			names[i] = string(v)
		}
		return filter, exit.Usagef("journal: --verdict is %s, must be one of %s", strictyaml.Quote(f.verdict), strings.Join(names, ", "))
	}
	return filter, nil
}

// all reports whether every line is shown.
func (f *journalFilter) all() bool { return *f == journalFilter{} }

// shows reports whether a line is shown: one whose range reaches into the time that is
// asked for, or that was written in it. One that cannot be read is always shown: it may
// have been any.
func (f *journalFilter) shows(l *series.Line) bool {
	if l.Verdict == series.VerdictUnreadable {
		return true
	}
	verdict := f.verdict == "" || l.Verdict == f.verdict || l.Between == f.verdict
	from := l.To
	if l.Between != "" {
		from = l.From + 1 // the first instant that may be one of those between
	}
	in := func(first, last int64) bool {
		return (f.since.IsZero() || !terminal.UTC(last).Before(f.since)) && (f.until.IsZero() || !terminal.UTC(first).After(f.until))
	}
	return verdict && (in(from, l.To) || in(l.At, l.At))
}

// A shownLine is a line with what later lines say of it.
type shownLine struct {
	*series.Line
	killed string // what became of an attempt that has no end
}

// shown are the newest n lines of a journal that a filter lets through. The state is that
// of the job after the journal was read.
func (f *journalFilter) shown(j *series.Journal, s *series.Series, n int) (lines []shownLine) {
	killed := killedAttempts(j.Lines, s)
	for i := range j.Lines {
		if l := &j.Lines[i]; f.shows(l) {
			lines = append(lines, shownLine{l, killed[i]})
		}
	}
	return lines[max(0, len(lines)-n):]
}

// killedAttempts finds the attempts that have no end because their node died, or lost
// its store: another took the tick over, it was settled as lost, or its lease is over and
// no node has seen to it yet.
func killedAttempts(lines []series.Line, s *series.Series) map[int]string {
	killed, open := map[int]string{}, map[int64]int{} // by tick
	for i := range lines {
		l := &lines[i]
		at, before := open[l.To]
		switch l.Verdict {
		case series.VerdictRan:
			if before {
				killed[at] = fmt.Sprintf("killed or cut off: %s took it over", l.Node)
			}
			delete(open, l.To)
			if l.Outcome == "" {
				open[l.To] = i
			}
		case series.VerdictLost:
			if before {
				killed[at] = "killed or cut off: its tick was lost"
			}
			delete(open, l.To)
		case series.VerdictEnded:
			delete(open, l.To)
		}
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		if at, is := open[r.Number]; is && r.State == series.RunOpen && r.Until <= s.Now && lines[at].Fence == r.Fence {
			killed[at] = fmt.Sprintf("killed or cut off: its lease is over since %s, and no node has taken it over", terminal.RFC3339(r.Until))
		}
	}
	return killed
}

// lateOf is how long after its tick a line was granted.
func lateOf(l *series.Line) string {
	if l.Verdict != series.VerdictRan {
		return "-"
	}
	return terminal.Milliseconds(fmt.Sprint(l.At - l.To))
}
