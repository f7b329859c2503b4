package why

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// pausedNow returns by whom, since when, until when and why the job is paused.
func (c *tickCase) pausedNow() string {
	p := c.State.Pause
	if p == (series.Pause{}) {
		return "The job is paused."
	}
	return c.pauseText(p)
}

// beforePause explains a tick that was due before a pause or retirement and got its verdict in that
// step.
func (c *tickCase) beforePause(l *series.Line) string {
	done, by, passed := "paused", "", false
	for i := range c.Journal.Lines {
		at := &c.Journal.Lines[i]
		if passed && at.Verdict == series.VerdictControl && at.At == l.At {
			if series.Action(at.Reason) == series.ActionRetire {
				done = "retired"
			}
			by = ", by " + at.Node
			c.evidence = append(c.evidence, i)
			break
		}
		passed = passed || at == l
	}
	return fmt.Sprintf("Missed: no node decided it before the job was %s at %s%s.", done, c.clock(l.At), by)
}

// pausedBy describes the pause in which a line was written, like pausedNow.
func (c *tickCase) pausedBy(l *series.Line) string {
	change := c.changeBefore(l, series.ActionPause, series.ActionRetire)
	if change == nil {
		return "Paused: the job was paused."
	}
	if c.State.Pause.Since == change.At {
		return c.pauseText(c.State.Pause)
	}
	record := c.recordOf(change)
	p := series.Pause{Who: change.Node, Since: change.At, Reason: record.Reason}
	_, until, _ := strings.Cut(record.After, " until ")
	p.Until, _ = strconv.ParseInt(until, 10, 64) // 0: the pause has no end
	if series.Action(change.Reason) == series.ActionRetire {
		p.Until = driver.MaxNumber
	}
	return c.pauseText(p)
}

func (c *tickCase) pauseText(p series.Pause) string {
	text := fmt.Sprintf("Paused by %s since %s", p.Who, c.clock(p.Since))
	switch {
	case p.Retired():
		text = "Retired" + strings.TrimPrefix(text, "Paused")
	case p.Until != 0:
		text += " until " + c.clock(p.Until)
	}
	if p.Reason != "" {
		text += ": " + strings.TrimSuffix(p.Reason, ".")
	}
	return text + "."
}
