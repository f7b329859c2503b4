package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// manual reports whether the number of the question is the number of a manual run.
func (c *tickCase) manual() bool { return spec.Manual(c.ms) }

// noun is the word for the subject of the sentence.
func (c *tickCase) noun() string {
	if c.manual() {
		return "run"
	}
	return "tick"
}

// says returns a sentence about the tick. The sentence about a manual run begins with its request.
func (c *tickCase) says(text string) string {
	switch {
	case !c.manual():
		return sentence(text)
	case strings.HasPrefix(text, "ran "), strings.HasPrefix(text, "waits"), strings.HasPrefix(text, "was "):
		return c.requested() + " " + text
	}
	return strings.TrimSuffix(c.requested(), ",") + ": " + text
}

// requested names a manual run by its request.
func (c *tickCase) requested() string {
	if work := c.work(); work != 0 {
		return c.fills(work)
	}
	waits := c.last(series.VerdictWaiting) // it follows the request, and has its fence
	for i := range c.Journal.Lines {
		l := &c.Journal.Lines[i]
		if waits == nil || l.Fence != waits.Fence || l.Verdict != series.VerdictControl || series.Action(l.Reason) != series.ActionRun {
			continue
		}
		c.evidence = append(c.evidence, i)
		reason := c.reasonOf(l)
		if reason != "" {
			reason = " (" + reason + ")"
		}
		return fmt.Sprintf("A manual run, requested by %s at %s%s,", l.Node, c.clock(l.At), reason)
	}
	return "A manual run, whose request is gone from the journal,"
}

// changeBefore returns the line of the latest change with one of the actions before a line of the journal, or
// nil. It adds it to the evidence. Without a line, all changes are searched.
func (c *tickCase) changeBefore(before *series.Line, actions ...series.Action) (change *series.Line) {
	index := 0
	for i := range c.Journal.Lines {
		l := &c.Journal.Lines[i]
		if l == before {
			break
		}
		if l.Verdict == series.VerdictControl && slices.Contains(actions, series.Action(l.Reason)) {
			change, index = l, i
		}
	}
	if change != nil {
		c.evidence = append(c.evidence, index)
	}
	return change
}

// recordOf returns the record in the audit of the change that has the line; zero: the audit has none.
func (c *tickCase) recordOf(l *series.Line) series.AuditRecord {
	for i := range c.Audit {
		if r := &c.Audit[i]; r.Key == c.Journal.Key && r.Change == l.Change && r.Number == l.Audit {
			return *r
		}
	}
	return series.AuditRecord{}
}

// reasonOf returns the reason of the change that has the line, or "".
func (c *tickCase) reasonOf(l *series.Line) string {
	return strings.TrimSuffix(c.recordOf(l).Reason, ".")
}

// waitsForStart explains a manual run that no node has started.
func (c *tickCase) waitsForStart() string {
	now := c.State.Now
	switch {
	case c.state == Overdue:
		return c.says("was to start, and no node has started or settled it" + c.cause() + ".")
	case c.halted():
		return c.says("waits, and the job was paused after the request. ") + c.pausedNow() + " The next claim, or the end of the pause, records the run as paused."
	case c.Removed:
		return c.says("waits for a node that starts it" + c.retires() + ".")
	case now > c.run.StartBy:
		return c.says(fmt.Sprintf("was to start by %s, and no node started it. A node records that soon.", c.clock(c.run.StartBy)))
	}
	by := "."
	if c.run.For == 0 {
		by = fmt.Sprintf("; it may start until %s.", c.clock(c.run.StartBy))
	}
	if h := c.blocks(); h != nil {
		return c.says("waits for the end of " + c.runOf(h.Number, h.Fence) + by)
	}
	if c.run.For != 0 {
		return c.says(fmt.Sprintf("waits for a node that starts it, at least %v before the next tick.", time.Duration(c.run.Room)*time.Millisecond))
	}
	return c.says("waits for a node that starts it" + by)
}

// halted reports whether a pause keeps the run from being granted. A manual run that was requested during
// the pause may be.
func (c *tickCase) halted() bool {
	return c.State.PausedAt(c.State.Now) && !(c.manual() && c.ms >= c.State.Pause.Since)
}

// blocks returns an alive run that keeps a tick or a manual run from starting, or nil.
func (c *tickCase) blocks() *series.Run {
	if policiesOf(c.Journal.Revisions).Overlap == policy.Allow {
		return nil
	}
	for i := range c.State.Runs {
		if r := &c.State.Runs[i]; r.State == series.RunOpen && c.State.Until(r) > c.State.Now {
			return r
		}
	}
	return nil
}

// unstarted explains a manual run that was settled before it began.
func (c *tickCase) unstarted() (text, next string) {
	switch c.state {
	case Missed:
		l := c.last(series.VerdictMissed)
		return c.says(fmt.Sprintf("was missed: no node had started it in time, and a node recorded that at %s.", c.clock(l.At))), "cronce runs " + c.Journal.Key
	case Paused:
		l := c.last(series.VerdictPaused)
		return c.says("was not started. ") + c.pausedBy(l) + fmt.Sprintf(" It was recorded at %s.", c.clock(l.At)), ""
	}
	return c.says("was cancelled before it began."), ""
}

// skippedFor explains a tick that was skipped for an operator, or will be: by whom that was requested, when and
// why. Only the lines before the line are searched; nil: all are.
func (c *tickCase) skippedFor(before *series.Line) string {
	change := c.changeBefore(before, series.ActionSkip)
	if change == nil {
		return "an operator requested that"
	}
	text := fmt.Sprintf("%s requested that at %s", change.Node, c.clock(change.At))
	if reason := c.reasonOf(change); reason != "" {
		text += ": " + reason
	}
	return text
}

// willSkip returns the sentence about a tick that will be skipped for an operator, or "".
func (c *tickCase) willSkip() string {
	if c.State.Skip != c.ms || c.manual() {
		return ""
	}
	return " It will be skipped: " + c.skippedFor(nil) + "."
}

// after returns the time from the tick, from the request of a manual run, or from the turn of a run of a
// backfill, to an instant, in words.
func (c *tickCase) after(ms int64) string {
	since := time.Duration(max(0, ms-c.ms)) * time.Millisecond // a claim may be granted a moment before its tick
	if c.work() != 0 {
		return fmt.Sprintf("%v after its turn", since)
	}
	if c.manual() {
		return fmt.Sprintf("%v after the request", since)
	}
	return fmt.Sprintf("%v after the tick", since)
}
