package why

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// work returns the earlier tick whose work the manual run does for a backfill, or 0.
func (c *tickCase) work() int64 {
	if l := c.last(series.VerdictWaiting); l != nil {
		return l.For
	}
	if c.run != nil {
		return c.run.For
	}
	return 0
}

// fills names a run of a backfill by its tick, and by the request for the backfill: the latest change for
// one before the line of the run.
func (c *tickCase) fills(work int64) string {
	text := fmt.Sprintf("A run of a backfill, for the tick of %s", c.clock(work))
	change := c.changeBefore(c.last(series.VerdictWaiting), series.ActionBackfill)
	if change == nil {
		return text + ", whose request is gone from the journal,"
	}
	reason := c.reasonOf(change)
	if reason != "" {
		reason = " (" + reason + ")"
	}
	return fmt.Sprintf("%s, requested by %s at %s%s,", text, change.Node, c.clock(change.At), reason)
}

// repeated returns the sentence about the latest run that has done the work of the tick for a backfill, else
// about the latest that was to do it, or "".
func (c *tickCase) repeated(judge *verify.Judge) string {
	var run *series.Line
	var state State
	for i := range c.Journal.Lines {
		if l := &c.Journal.Lines[i]; l.For != 0 && l.For == c.ms { // zero: the line is of no backfill
			c.evidence = append(c.evidence, i)
			if s, _ := judge.Tick(time.UnixMilli(l.To)); s == Ran || state != Ran {
				run, state = l, s
			}
		}
	}
	if run == nil {
		return ""
	}
	if state == Ran {
		return fmt.Sprintf(" Its work was done later by the run of %s, for a backfill (ok).", c.clock(run.To))
	}
	return fmt.Sprintf(" A backfill gave its work to the run of %s (%s).", c.clock(run.To), state)
}
