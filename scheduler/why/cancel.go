package why

import (
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// findCancel finds the line of the cancel of the tick's run: it has the fence of one of the attempts.
func (c *tickCase) findCancel() {
	for i := range c.Journal.Lines {
		l := &c.Journal.Lines[i]
		if l.Verdict != series.VerdictControl || series.Action(l.Reason) != series.ActionCancel {
			continue
		}
		if slices.ContainsFunc(c.own, func(own *series.Line) bool { return own.Fence == l.Fence }) {
			c.cancel = l
			c.evidence = append(c.evidence, i)
		}
	}
}

// cancelledBy returns by whom, when and why the run was cancelled.
func (c *tickCase) cancelledBy() string {
	reason := c.reasonOf(c.cancel)
	if reason != "" {
		reason = ": " + reason
	}
	return fmt.Sprintf("Cancelled by %s at %s%s.", c.cancel.Node, c.clock(c.cancel.At), reason)
}
