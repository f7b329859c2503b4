package control

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/why"
)

// maxCount bounds the number of ticks that are counted.
const maxCount = 1_000_000

// ticks are the ticks of a job, by the spec that was used last; nil: it is not known.
type ticks struct{ schedule *spec.Schedule }

// readTicks reads the spec of a job. If it cannot be read, its ticks are not printed: the change
// was made.
func readTicks(ctx context.Context, s *clients.Store, job string) ticks {
	j, err := s.Front().Journal(ctx, job, 1)
	if err != nil {
		return ticks{}
	}
	return ticks{why.InForce(j.Revisions)}
}

// missed prints the ticks before a change that the request recorded as missed.
func (t ticks) missed(w io.Writer, c *series.Control, old, now *series.Series) {
	if t.schedule == nil || c.Due != now.Mark || old.Mark >= now.Mark {
		return
	}
	n := t.schedule.Count(old.Mark, now.Mark, maxCount)
	fmt.Fprintf(w, "  recorded as missed: %s%s up to %s, which no node had decided\n", moreThan(n), terminal.Plural(n, "tick"), t.format(time.UnixMilli(now.Mark)))
}

// moreThan returns the words to put before a count that is bounded.
func moreThan(n int) string {
	if n == maxCount {
		return "more than "
	}
	return ""
}

// print prints how many ticks of a range are recorded as paused, and the next tick that runs. A
// range without an end lasts until a resume.
func (t ticks) print(w io.Writer, when string, after, through int64) {
	if t.schedule == nil {
		return
	}
	if through == 0 {
		fmt.Fprintf(w, "  each tick from %s on will be recorded as paused, until cronce resume\n", t.format(t.schedule.Next(time.UnixMilli(after))))
		return
	}
	n := t.schedule.Count(after, through, maxCount)
	if n == 1 && when == "were" {
		when = "was"
	}
	fmt.Fprintf(w, "  %s%s %s recorded as paused; the next that runs is %s\n", moreThan(n), terminal.Plural(n, "tick"), when, t.format(t.schedule.Next(time.UnixMilli(through))))
}

// format formats a tick in UTC, and also in the zone of the spec if that is another.
func (t ticks) format(tick time.Time) string {
	if tick.IsZero() {
		return "none"
	}
	text := tick.UTC().Format(time.RFC3339)
	if t.schedule.Zone() != time.UTC {
		text += " (" + tick.In(t.schedule.Zone()).Format("15:04:05 MST") + ")"
	}
	return text
}
