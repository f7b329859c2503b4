package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// left explains a tick whose run is over or waits, and that no node has settled.
func (c *tickCase) left() string {
	earlier, where, last := c.granted()
	text, does := "", ""
	switch c.run.State {
	case series.RunOpen:
		text, does = fmt.Sprintf("it was granted %s; that lease ended %v ago%s", where, c.ago(c.run.Until), c.seen(last.Node)), "settles the "+c.noun()+" or takes it over"
		if c.run.Shards > 0 {
			text = fmt.Sprintf("it was opened %s; for %v no shard of it was alive", where, c.ago(c.State.Until(c.run)))
		}
	case series.RunUnstarted:
		text, does = "it was granted "+where+", and never began", "starts it"
	case series.RunGivenBack:
		text, does = "it ran "+where+" and was interrupted by a drain", "runs it again"
	default:
		if c.manual() {
			return c.waitsForStart()
		}
		return c.waitsFor()
	}
	switch {
	case c.state == Overdue && c.run.State == series.RunOpen:
		return c.says(earlier + text + ", and no node has settled the " + c.noun() + " or taken it over" + c.cause() + ".")
	case c.state == Overdue:
		return c.says(earlier + text + "; no node " + does + c.cause() + ".")
	case c.halted():
		return c.says(earlier + text + "; no node " + does + " while the job is paused.")
	}
	if c.crontab() {
		return c.says(earlier + text + "; the next call of a crontab settles the " + c.noun() + ".")
	}
	if c.Removed {
		return c.says(earlier + text + c.retires() + ".")
	}
	return c.says(earlier + text + "; a node " + does + " soon.")
}

// retires returns which node settles a tick of a job that was removed, as a part of a sentence.
func (c *tickCase) retires() string {
	return "; the job was removed from every node that had it, and the node that retires it settles the " + c.noun()
}

// waits explains a tick that waits.
func (c *tickCase) waits() string {
	if c.run != nil {
		return c.left()
	}
	return c.undecided()
}

// waitsFor explains a tick that waits for the end of another tick's run.
func (c *tickCase) waitsFor() string {
	l := c.last(series.VerdictWaiting)
	text := "Waits for the end of " + c.blocker(nil)
	if l != nil {
		text = fmt.Sprintf("Waits since %s for the end of %s", c.clock(l.At), c.blocker(l))
	}
	if c.state == Overdue {
		return text + ", which is not alive any more" + c.cause() + "."
	}
	return text + "."
}

// undecided explains a tick whose deadline has not passed, or that waits for a run without a line.
func (c *tickCase) undecided() string {
	due := c.ago(c.ms)
	if c.crontab() {
		return fmt.Sprintf("Not decided: it was due %v ago, and no crontab has asked for it.", due)
	}
	if c.Removed {
		return fmt.Sprintf("Not decided: it was due %v ago, and the job was removed from every node that had it. A node retires the job soon.", due)
	}
	if r := c.blocks(); r != nil {
		return fmt.Sprintf("Not decided yet: it was due %v ago, and %s is alive.", due, c.runOf(r.Number, r.Fence))
	}
	if c.state == Waiting {
		return fmt.Sprintf("Not decided yet: it was due %v ago, and the ticks before it are worked off.", due)
	}
	return fmt.Sprintf("Not decided yet: it was due %v ago, and its deadline is not over.", due) + c.willSkip()
}

func (c *tickCase) future() string {
	text := fmt.Sprintf("Due in %v.", time.Duration(c.ms-c.State.Now)*time.Millisecond) + c.willSkip()
	if c.State.PausedAt(c.ms) {
		text += " " + c.pausedNow() + " Unless the job is resumed before, the tick is recorded as paused."
	}
	return text
}

func (c *tickCase) notATick() string {
	if c.report.Complete && !c.Tick.After(c.report.Begins) {
		text := fmt.Sprintf("Not due: the job was opened at %s, and has no ticks before.", c.clock(c.report.Begins.UnixMilli()))
		if c.schedule != nil && c.schedule.NextMilli(c.ms-1) == c.ms {
			text += " If it ran ticks before, the store has lost their records since: nodes then opened it again."
		}
		return text
	}
	if c.manual() {
		return "Not a tick, and no manual run: ticks have whole seconds, and no manual run of the job has that instant."
	}
	if c.schedule == nil {
		return "Not a tick: no spec of the job that is recorded was in force at that instant."
	}
	var near []string
	for _, t := range []time.Time{c.schedule.Prev(c.Tick), c.schedule.Next(c.Tick)} {
		if !t.IsZero() {
			near = append(near, t.In(c.schedule.Zone()).Format("Mon 2006-01-02 15:04:05 -07:00"))
		}
	}
	text := fmt.Sprintf("Not a tick: %q has none at that instant.", c.schedule.Text())
	if why := c.schedule.LeftOut(c.Tick); why != "" {
		text = fmt.Sprintf("Not a tick: %s. The spec is %q.", why, c.schedule.Text())
	}
	return text + " The nearest: " + strings.Join(near, " and ") + "."
}

// notKnown explains why the state of the tick is not known, and returns the next step.
func (c *tickCase) notKnown() (text, next string) {
	next = "cronce verify --job " + c.Journal.Key
	switch {
	case c.line != nil && c.line.To == c.ms:
		return fmt.Sprintf("Not known: the journal has the verdict %q.", c.line.Verdict), next
	case c.line != nil && c.line.Between != "":
		return fmt.Sprintf("Not known: the journal has the verdict %q.", c.line.Between), next
	case len(c.own) > 0:
		return "Not known: the lines of the journal about this tick do not say how it ended.", next
	case c.schedule == nil:
		return "Not known: no spec of the job is recorded that can be read.", "cronce doctor"
	case !c.Tick.After(c.report.Begins):
		return c.beforeTheJournal(), ""
	case len(c.report.Faults) > 0:
		return "Not known: a line of the journal cannot be read, and it may be about this tick.", next
	}
	if c.manual() {
		return "Not known: older lines of the journal are gone, and they may have had a manual run with that instant.", next
	}
	return "Not known: later ticks are decided, and no line of the journal is about this one.", next
}

// beforeTheJournal explains a tick that is older than the lines of the journal.
func (c *tickCase) beforeTheJournal() string {
	begins := c.clock(c.report.Begins.UnixMilli())
	if c.ms <= c.Journal.ExceptionsSince {
		return fmt.Sprintf("Not known: the journal begins at %s, and older lines are gone.", begins)
	}
	return fmt.Sprintf("Not known: the journal begins at %s. Of the older lines it has the exceptions, and none is about this tick.", begins)
}
