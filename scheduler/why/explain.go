package why

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// explain returns the state of the tick, the sentence, and the next step.
func (c *tickCase) explain() (State, string, string) {
	if c.State.Err != nil {
		return NotKnown, "Not known: the state of the job cannot be read.", "cronce doctor"
	}
	text, next := c.sentence()
	text += c.divided() + c.forgotten()
	if c.cancel != nil {
		text += " " + c.cancelledBy()
	}
	if c.state == verify.TickPassedOver {
		return Missed, text, next
	}
	return c.state, text, next
}

// sentence returns the sentence for the state, and the next step.
func (c *tickCase) sentence() (text, next string) {
	overdue := "cronce status overdue --job " + c.Journal.Key
	switch c.state {
	case Ran:
		return c.ended(), ""
	case Failed:
		next = "cronce runs " + c.Journal.Key
		if c.shardsOf() > 0 {
			next += "@" + time.UnixMilli(c.ms).UTC().Format(time.RFC3339Nano)
		}
		return c.ended(), next
	case Running:
		return c.running(), ""
	case Waiting:
		if c.halted() {
			return c.waits(), "cronce resume " + c.Journal.Key
		}
		return c.waits(), ""
	case Overdue:
		if c.run != nil {
			return c.left(), overdue
		}
		return fmt.Sprintf("Overdue: it was due %v ago, and no node has decided it%s.", c.ago(c.ms), c.cause()), overdue
	case Skipped:
		if c.line == nil { // the function skipped the tick
			return c.ended(), ""
		}
		return c.skipped(), ""
	case Superseded:
		if c.manual() {
			return c.unstarted()
		}
		if c.cancel != nil {
			return "Superseded: its run was cancelled before it began.", ""
		}
		return "Superseded: it waited for " + c.blocker(c.last(series.VerdictWaiting)) + ", and before that ended, a later tick took its place.", ""
	case Paused:
		if c.manual() {
			return c.unstarted()
		}
		return c.paused()
	case Lost:
		return c.lost(), ""
	case Missed:
		if c.manual() {
			return c.unstarted()
		}
		return c.missed(), ""
	case verify.TickPassedOver:
		return c.passedOver(), ""
	case Future:
		return c.future(), ""
	case Undecided:
		return c.undecided(), ""
	case NotATick:
		return c.notATick(), ""
	}
	return c.notKnown()
}

// ago returns the time since an instant.
func (c *tickCase) ago(ms int64) time.Duration {
	return time.Duration(c.State.Now-ms) * time.Millisecond
}

func (c *tickCase) missed() string {
	l := c.line
	if l == nil { // the tick was to be started, and settled
		l = c.last(series.VerdictMissed)
	}
	if l.Reason == series.ReasonRespecified {
		return c.respecified(l)
	}
	if l.Reason == series.ReasonMisfire && l.From < l.To && l.Node == "" { // recorded by the step that made a pause
		return c.beforePause(l)
	}
	if l.To != c.ms && c.crontab() {
		return fmt.Sprintf("Missed: no crontab asked for it between %s and %s, when a later tick was decided.", c.clock(l.From), c.clock(l.At))
	}
	if l.To != c.ms {
		others := c.schedule.Count(l.From, l.To-1, maxCount) - 1
		with := ""
		if others > 0 {
			with = " with " + counted(others, "other")
		}
		return fmt.Sprintf("Missed%s: no node claimed it between %s and %s, and the job's misfire policy ran at most the latest ones.", with, c.clock(l.From), c.clock(l.At))
	}
	if l.Reason == series.ReasonMisfire {
		return fmt.Sprintf("Missed: no node claimed it before %s, and the job's misfire policy did not run it later.", c.clock(l.At))
	}
	return fmt.Sprintf("Missed: the first claim that could start it came %v late, after its deadline.", time.Duration(l.At-c.ms)*time.Millisecond)
}

// skipped explains a tick that was skipped for an operator, or because of a run. If the journal has no end of
// that run, only its lease is known to have been alive; its node may have died.
func (c *tickCase) skipped() string {
	l := c.line
	if l.Reason == series.ReasonOperator {
		return "Skipped for an operator: " + c.skippedFor(l) + "."
	}
	until := c.diedAt(l)
	if until == 0 {
		return fmt.Sprintf("Skipped: %s was alive, and overlap is skip.", c.blocker(l))
	}
	return fmt.Sprintf("Skipped: the lease of %s was alive until %s at the latest, and overlap is skip. The journal has no end of that run%s.",
		c.blocker(l), c.clock(until), c.seen(c.nodeOf(l.BlockerFence)))
}

// diedAt returns when the lease of the run that blocked the tick of a line was over at the latest; 0: the run
// ended, or is alive.
func (c *tickCase) diedAt(l *series.Line) int64 {
	for i := range c.Journal.Lines {
		switch at := &c.Journal.Lines[i]; {
		case at.To != l.Blocker:
		case at.Fence == l.BlockerFence && at.Outcome != "":
			return 0
		case at.Verdict == series.VerdictLost, at.Fence > l.BlockerFence && at.Verdict == series.VerdictRan: // it was settled, or taken over
			return at.At
		}
	}
	for i := range c.State.Runs {
		if r := &c.State.Runs[i]; r.Fence == l.BlockerFence && r.State == series.RunOpen && c.State.Until(r) <= c.State.Now {
			return c.State.Until(r)
		}
	}
	return 0
}

// seen returns when a node was last seen, as the end of a sentence, or "" if that is not known.
func (c *tickCase) seen(node string) string {
	if c.Seen == nil {
		return ""
	}
	at := c.Seen(node)
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("; %s was last seen at %s", node, c.clock(at.UnixMilli()))
}

// nodeOf returns the node that was granted the run with a fence, or "" if the journal does not have it.
func (c *tickCase) nodeOf(fence int64) string {
	for i := range c.Journal.Lines {
		if l := &c.Journal.Lines[i]; l.Verdict == series.VerdictRan && l.Fence == fence {
			return l.Node
		}
	}
	return ""
}

// respecified explains a tick of a former spec.
func (c *tickCase) respecified(l *series.Line) string {
	return fmt.Sprintf("Missed: no node decided it before its spec, %q, was replaced. %s, which has the spec that took its place, recorded it at %s.",
		c.schedule.Text(), l.Node, c.clock(l.At))
}

// passedOver explains a tick that a node with another spec passed.
func (c *tickCase) passedOver() string {
	return fmt.Sprintf("Missed: its spec, %q, was replaced by %q before a node decided it, and a later tick of that was decided at %s.",
		c.schedule.Text(), c.specText(c.line), c.clock(c.line.At))
}

// paused explains a tick that did not run because of a pause, and returns the next step.
func (c *tickCase) paused() (text, next string) {
	l := c.line
	if l == nil { // the tick was to be started, and settled
		l = c.last(series.VerdictPaused)
	}
	switch {
	case l == nil:
		return c.pausedNow() + " The next claim, or the end of the pause, records that.", "cronce resume " + c.Journal.Key
	case l.To != c.ms:
		return fmt.Sprintf("%s It was recorded at %s, with all ticks after %s.", c.pausedBy(l), c.clock(l.At), c.clock(l.From)), ""
	default:
		return fmt.Sprintf("%s A node recorded it at %s.", c.pausedBy(l), c.clock(l.At)), ""
	}
}

// maxCount bounds the number of ticks that are counted.
const maxCount = 1_000_000

// lost explains a tick that was lost with its node.
func (c *tickCase) lost() string {
	if c.manual() {
		return c.says(fmt.Sprintf("was lost: %s, and no other node may run it again.", c.unended()))
	}
	return fmt.Sprintf("Lost: %s, and no other node may run the tick again.", c.unended())
}

// ended explains a tick whose last attempt has ended.
func (c *tickCase) ended() string {
	earlier, where, last := c.granted()
	if last.At == 0 {
		text := fmt.Sprintf("its run on %s, attempt %d, ended as %s at %s (fence %d); the line of its grant is gone from the journal.",
			cmp.Or(last.Node, "a node that is not recorded"), last.Attempt, last.Outcome, c.clock(last.Ended), last.Fence)
		return c.says(text)
	}
	took := time.Duration(last.Ended-last.At) * time.Millisecond
	if last.Outcome == series.OutcomeOK {
		return c.says(earlier + fmt.Sprintf("ran %s, ok in %v (fence %d).", where, took, last.Fence))
	}
	text := ""
	if last.Error != "" {
		text = ": " + strings.TrimSuffix(last.Error, ".")
	}
	if last.Outcome == series.OutcomeSkipped {
		return c.says(earlier + fmt.Sprintf("ran %s, and its function found nothing to do, after %v%s.", where, took, text))
	}
	if last.Outcome == series.OutcomeLost && c.shardsOf() == 0 {
		return c.says(earlier + fmt.Sprintf("ran %s, and ended after %v, when its lease was lost already%s.", where, took, text))
	}
	return c.says(earlier + fmt.Sprintf("ran %s, and ended as %s after %v%s.", where, last.Outcome, took, text))
}

// granted describes the attempts of a tick: the ones before the last, the place where the last one
// ran, and the last one itself. Parts that were cut from the journal come from the state.
func (c *tickCase) granted() (earlier, where string, last attempt) {
	attempts := c.attempts()
	if len(attempts) == 0 {
		attempts = []attempt{{Line: &series.Line{}}}
		if r := c.run; r != nil {
			attempts[0].Line = &series.Line{Node: driver.NodeOf(r.Owner), Attempt: r.Attempt}
		}
	}
	for _, a := range attempts[:len(attempts)-1] {
		earlier += fmt.Sprintf("%s was granted it at %s and %s; ", a.Node, c.clock(a.At), a.fate())
	}
	last = attempts[len(attempts)-1]
	where = fmt.Sprintf("on %s as attempt %d", last.Node, last.Attempt)
	switch {
	case c.shardsOf() > 0 && last.At != 0: // nodes share it
		where = c.after(last.At)
	case last.At != 0:
		where += ", " + c.after(last.At)
	}
	return earlier, where, last
}

// running explains a tick whose last attempt has no end.
func (c *tickCase) running() string {
	earlier, where, last := c.granted()
	if r := c.run; r != nil && r.Shards > 0 {
		return c.says(fmt.Sprintf("it was opened %s (fence %d)%s.", where, r.Fence, c.unshared()))
	} else if r != nil {
		return c.says(earlier + fmt.Sprintf("it runs %s (fence %d); its lease lives %v more%s.", where, r.Fence, -c.ago(r.Until), c.seen(last.Node)))
	}
	return c.says(earlier + "it was granted " + where + ", and the journal has no end of it.")
}

// cause returns the reason why no node decides, as the end of a sentence.
func (c *tickCase) cause() string {
	if c.Cause == "" {
		return ""
	}
	return ": " + c.Cause
}

// blocker names the run that blocked the tick of a line.
func (c *tickCase) blocker(l *series.Line) string {
	if l == nil || l.Blocker == 0 {
		return "an earlier run"
	}
	return c.runOf(l.Blocker, l.BlockerFence)
}

// runOf names a run by its tick, and by its node if the journal has it.
func (c *tickCase) runOf(tick, fence int64) string {
	if node := c.nodeOf(fence); node != "" {
		return fmt.Sprintf("the run of %s on %s", c.clock(tick), node)
	}
	return fmt.Sprintf("the run of %s", c.clock(tick))
}

// last returns the last line about the tick with a verdict, or nil.
func (c *tickCase) last(v series.Verdict) (last *series.Line) {
	for _, l := range c.own {
		if l.Verdict == v {
			last = l
		}
	}
	return last
}

// unended names the node that was granted the tick last and did not end it.
func (c *tickCase) unended() string {
	all := c.attempts()
	if len(all) == 0 {
		return "the node that was granted it did not end it"
	}
	last := all[len(all)-1]
	return fmt.Sprintf("%s was granted it at %s as attempt %d, and did not end it before its lease was over", last.Node, c.clock(last.At), last.Attempt)
}

// clock formats an instant in the zone of the spec and with its offset, with the day if it is not the tick's.
func (c *tickCase) clock(ms int64) string {
	zone := time.UTC
	if c.schedule != nil {
		zone = c.schedule.Zone()
	}
	at, tick := time.UnixMilli(ms).In(zone), c.Tick.In(zone)
	layout := "15:04:05"
	if at.YearDay() != tick.YearDay() || at.Year() != tick.Year() {
		layout = "2006-01-02 15:04:05"
	}
	if ms%1000 != 0 {
		layout += ".000"
	}
	return at.Format(layout + "Z07:00")
}

// sentence capitalizes the text, unless it begins with the name of a node.
func sentence(text string) string {
	for _, word := range []string{"it ", "its ", "ran "} {
		if strings.HasPrefix(text, word) {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	}
	return text
}
