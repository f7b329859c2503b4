package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// explain returns what became of the tick, the sentence, and what to do.
func (c *tickCase) explain() (State, string, string) {
	switch {
	case c.State.Err != nil:
		return NotKnown, "Not known: the state of the job cannot be read.", "cronce doctor"
	case len(c.own) > 0:
		return c.decided(c.own[len(c.own)-1])
	case c.schedule == nil:
		return NotKnown, "Not known: no spec of the job is recorded that can be read.", "cronce doctor"
	case c.schedule.NextMilli(c.ms-1) != c.ms:
		return NotATick, c.notATick(), ""
	case c.cover != nil:
		return c.covered(c.cover)
	case c.over != nil:
		return Missed, fmt.Sprintf("Missed: its spec, %q, was replaced by %q before a node decided it, and a later tick of that was decided at %s.",
			c.schedule.Text(), c.spec(c.over).Text(), c.clock(c.over.At)), ""
	case c.ms > c.State.Now:
		return Future, c.future(), ""
	case c.ms <= c.begins():
		return c.beforeProof()
	case c.unread:
		return NotKnown, "Not known: a line of the journal cannot be read, and it may be about this tick.", "cronce verify --job " + c.Journal.Key
	case c.ms <= c.State.Mark:
		return NotKnown, "Not known: later ticks are decided, and no line of the journal is about this one.", "cronce verify --job " + c.Journal.Key
	}
	return c.undecided()
}

// decided explains a tick by the last line about it.
func (c *tickCase) decided(l *driver.Line) (State, string, string) {
	switch l.Verdict {
	case driver.VerdictRan, driver.VerdictEnded:
		return c.granted()
	case driver.VerdictWaiting:
		return c.waiting(l)
	case driver.VerdictSkipped:
		return Skipped, fmt.Sprintf("Skipped: %s was alive, and overlap is skip.", c.blocker(l)), ""
	case driver.VerdictSuperseded:
		return Superseded, "Superseded: it waited for " + c.blocker(c.first(driver.VerdictWaiting)) + ", and before that ended, a later tick took its place.", ""
	case driver.VerdictPaused:
		return Paused, fmt.Sprintf("%s A node recorded it at %s.", c.pausedBy(l), c.clock(l.At)), ""
	case driver.VerdictLost:
		return Lost, fmt.Sprintf("Lost: %s, and no other node may run the tick again.", c.unended()), ""
	case driver.VerdictMissed:
		return c.missed(l)
	}
	return NotKnown, fmt.Sprintf("Not known: the journal has the verdict %q.", l.Verdict), "cronce verify --job " + c.Journal.Key
}

func (c *tickCase) missed(l *driver.Line) (State, string, string) {
	if l.Reason == driver.ReasonRespecified {
		return c.respecified(l)
	}
	if l.Reason == driver.ReasonMisfire {
		return Missed, fmt.Sprintf("Missed: no node claimed it before %s, and the job's misfire policy did not run it later.", c.clock(l.At)), ""
	}
	late := time.Duration(l.At-c.ms) * time.Millisecond
	return Missed, fmt.Sprintf("Missed: the first claim that could start it came %v late, after its deadline.", late), ""
}

// respecified explains a tick of a former spec.
func (c *tickCase) respecified(l *driver.Line) (State, string, string) {
	return Missed, fmt.Sprintf("Missed: no node decided it before its spec, %q, was replaced. %s, which has the spec that took its place, recorded it at %s.",
		c.schedule.Text(), l.Node, c.clock(l.At)), ""
}

// covered explains a tick by a line whose range has it.
func (c *tickCase) covered(l *driver.Line) (State, string, string) {
	switch l.Between {
	case driver.VerdictPaused:
		return Paused, fmt.Sprintf("%s It was recorded at %s, with all ticks after %s.", c.pausedBy(l), c.clock(l.At), c.clock(l.From)), ""
	case driver.VerdictSkipped:
		return Skipped, fmt.Sprintf("Skipped: %s was alive, and overlap is skip.", c.blocker(l)), ""
	case driver.VerdictMissed:
		if l.Reason == driver.ReasonRespecified {
			return c.respecified(l)
		}
		others := c.schedule.Count(l.From, l.To-1, maxCount) - 1
		with := ""
		if others > 0 {
			with = fmt.Sprintf(" with %d others", others)
		}
		return Missed, fmt.Sprintf("Missed%s: no node claimed it between %s and %s, and the job's misfire policy ran at most the latest ones.", with, c.clock(l.From), c.clock(l.At)), ""
	}
	return NotKnown, fmt.Sprintf("Not known: the journal has the verdict %q.", l.Between), "cronce verify --job " + c.Journal.Key
}

// maxCount bounds what is counted.
const maxCount = 1_000_000

// granted explains a tick that was granted at least once.
func (c *tickCase) granted() (State, string, string) {
	attempts := c.attempts()
	last := attempts[len(attempts)-1]
	var earlier strings.Builder
	for _, a := range attempts[:len(attempts)-1] {
		fmt.Fprintf(&earlier, "%s was granted it at %s and %s; ", a.Node, c.clock(a.At), a.fate())
	}
	before := earlier.String()
	where := fmt.Sprintf("on %s as attempt %d, %v after the tick", last.Node, last.Attempt, time.Duration(last.At-c.ms)*time.Millisecond)
	switch {
	case last.Outcome == "" && c.run != nil && c.run.Fence == last.Fence:
		return c.open(before, where)
	case last.Outcome == "":
		return Running, sentence(before + "it was granted " + where + ", and the journal has no end of it."), ""
	case last.Outcome == driver.OutcomeInterrupted || last.Outcome == driver.OutcomeUnstarted:
		if c.run != nil {
			return c.open(before, where)
		}
	}
	took := time.Duration(last.Ended-last.At) * time.Millisecond
	if last.Outcome == driver.OutcomeOK {
		return Ran, sentence(before + fmt.Sprintf("ran %s, ok in %v (fence %d).", where, took, last.Fence)), ""
	}
	text := ""
	if last.Error != "" {
		text = ": " + strings.TrimSuffix(last.Error, ".")
	}
	return Failed, sentence(before + fmt.Sprintf("ran %s, and ended as %s after %v%s.", where, last.Outcome, took, text)), "cronce journal " + c.Journal.Key
}

// open explains a tick whose last attempt the store has as not settled.
func (c *tickCase) open(before, where string) (State, string, string) {
	r := c.run
	left := time.Duration(r.Until-c.State.Now) * time.Millisecond
	switch {
	case r.State == driver.RunOpen && left > 0:
		return Running, sentence(before + fmt.Sprintf("it runs %s (fence %d); its lease lives %v more.", where, r.Fence, left)), ""
	case r.State == driver.RunOpen:
		return Overdue, sentence(before + fmt.Sprintf("it was granted %s; that lease ended %v ago, and no node has settled the tick or taken it over%s.",
			where, -left, c.cause())), "cronce overdue --job " + c.Journal.Key
	case r.State == driver.RunUnstarted:
		return c.left(before+"it was granted "+where+", and never began", "starts it")
	}
	return c.left(before+"it ran "+where+" and was interrupted by a drain", "runs it again")
}

// left explains a tick that any node may run.
func (c *tickCase) left(text, does string) (State, string, string) {
	if c.State.PausedAt(c.State.Now) {
		return Waiting, sentence(text + "; no node " + does + " while the job is paused."), "cronce resume " + c.Journal.Key
	}
	if c.late() != nil {
		return Overdue, sentence(text + "; no node " + does + c.cause() + "."), "cronce overdue --job " + c.Journal.Key
	}
	return Waiting, sentence(text + "; a node " + does + " soon."), ""
}

func (c *tickCase) waiting(l *driver.Line) (State, string, string) {
	text := fmt.Sprintf("Waits since %s for the end of %s", c.clock(l.At), c.blocker(l))
	if c.late() != nil {
		return Overdue, text + ", which is not alive any more" + c.cause() + ".", "cronce overdue --job " + c.Journal.Key
	}
	return Waiting, text + ".", ""
}

func (c *tickCase) undecided() (State, string, string) {
	due := time.Duration(c.State.Now-c.ms) * time.Millisecond
	switch {
	case c.State.PausedAt(c.ms):
		return Paused, c.pausedNow() + " The next claim, or the end of the pause, records that.", "cronce resume " + c.Journal.Key
	case c.late() != nil:
		return Overdue, fmt.Sprintf("Overdue: it was due %v ago, and no node has decided it%s.", due, c.cause()), "cronce overdue --job " + c.Journal.Key
	}
	for i := range c.State.Runs {
		if r := &c.State.Runs[i]; r.State == driver.RunOpen && r.Until > c.State.Now {
			return Undecided, fmt.Sprintf("Not decided yet: it was due %v ago, and %s is alive.", due, c.runOf(r.Number, r.Fence)), ""
		}
	}
	return Undecided, fmt.Sprintf("Not decided yet: it was due %v ago, and its deadline is not over.", due), ""
}

func (c *tickCase) future() string {
	text := fmt.Sprintf("Due in %v.", time.Duration(c.ms-c.State.Now)*time.Millisecond)
	if c.State.PausedAt(c.ms) {
		text += " " + c.pausedNow() + " Unless the job is resumed before, the tick is recorded as paused."
	}
	return text
}

func (c *tickCase) notATick() string {
	var near []string
	for _, t := range []time.Time{c.schedule.Prev(c.Tick), c.schedule.Next(c.Tick)} {
		if !t.IsZero() {
			near = append(near, t.In(c.schedule.Zone()).Format("Mon 2006-01-02 15:04:05 -07:00"))
		}
	}
	text := fmt.Sprintf("Not a tick: %q has none at that instant.", c.schedule.Text())
	if len(near) > 0 {
		text += " The nearest: " + strings.Join(near, " and ") + "."
	}
	return text
}

// begins returns the instant after which the journal accounts for ticks.
func (c *tickCase) begins() int64 {
	for i := range c.Journal.Lines {
		if l := &c.Journal.Lines[i]; l.Verdict != driver.VerdictUnreadable {
			return l.From
		}
	}
	return c.State.Mark
}

func (c *tickCase) beforeProof() (State, string, string) {
	if len(c.Journal.Lines) > 0 && c.Journal.Lines[0].Verdict == driver.VerdictOpened && !c.Journal.Truncated {
		return NotATick, fmt.Sprintf("Not due: the job was opened at %s, and has no ticks before.", c.clock(c.begins())), ""
	}
	return NotKnown, fmt.Sprintf("Not known: the journal begins at %s, and older lines are gone.", c.clock(c.begins())), ""
}

// cause returns why no node decides, as the end of a sentence.
func (c *tickCase) cause() string {
	if c.Cause == "" {
		return ""
	}
	return ": " + c.Cause
}

// blocker names the run that was in the way of a line.
func (c *tickCase) blocker(l *driver.Line) string {
	if l == nil || l.Blocker == 0 {
		return "an earlier run"
	}
	return c.runOf(l.Blocker, l.BlockerFence)
}

// runOf names a run by its tick, and its node if the journal has that.
func (c *tickCase) runOf(tick, fence int64) string {
	for i := range c.Journal.Lines {
		if l := &c.Journal.Lines[i]; l.Verdict == driver.VerdictRan && l.To == tick && l.Fence == fence {
			return fmt.Sprintf("the run of %s on %s", c.clock(tick), l.Node)
		}
	}
	return fmt.Sprintf("the run of %s", c.clock(tick))
}

// first returns the first line about the tick with a verdict; nil: none.
func (c *tickCase) first(v driver.Verdict) *driver.Line {
	for _, l := range c.own {
		if l.Verdict == v {
			return l
		}
	}
	return nil
}

// unended names the node that was granted the tick last, and did not end it.
func (c *tickCase) unended() string {
	all := c.attempts()
	if len(all) == 0 {
		return "the node that was granted it did not end it"
	}
	last := all[len(all)-1]
	return fmt.Sprintf("%s was granted it at %s as attempt %d, and did not end it before its lease was over", last.Node, c.clock(last.At), last.Attempt)
}

// clock formats an instant in the zone of the spec, with the day if that is not the tick's.
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
	return at.Format(layout)
}

// sentence begins with a capital letter, unless it begins with the name of a node.
func sentence(text string) string {
	for _, word := range []string{"it ", "ran "} {
		if strings.HasPrefix(text, word) {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	}
	return text
}
