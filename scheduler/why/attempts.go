package why

import (
	"fmt"

	"github.com/cronce/cronce/lock/series"
)

// An attempt is one grant of the tick, with its end.
type attempt struct {
	*series.Line        // the line of the grant
	Outcome      string // empty: the journal does not have its end
	Error        string
	Ended        int64
}

// attempts returns the grants of the tick, in order.
func (c *tickCase) attempts() (all []attempt) {
	for _, l := range c.own {
		switch {
		case l.Verdict == series.VerdictRan:
			all = append(all, attempt{l, l.Outcome, l.Error, l.Ended})
		case l.Verdict == series.VerdictEnded:
			if len(all) == 0 { // the line of its grant was cut from the journal
				all = append(all, attempt{Line: &series.Line{Node: l.Node, Attempt: l.Attempt, Fence: l.Fence}})
			}
			last := &all[len(all)-1]
			last.Outcome, last.Error, last.Ended = l.Outcome, l.Error, l.At
		}
	}
	return all
}

// fate returns how an attempt that another one followed ended.
func (a *attempt) fate() string {
	switch a.Outcome {
	case "":
		return "did not end it before its lease was over"
	case series.OutcomeUnstarted:
		return "never began"
	case series.OutcomeInterrupted:
		return "was drained during the run"
	}
	return fmt.Sprintf("ended it as %s", a.Outcome)
}
