package series

import "time"

// MostExceptions returns how many of the given number of lines of a journal may be exceptions that
// are older than the other lines: a fifth. The oldest go first.
func MostExceptions(lines int) int { return lines / 5 }

// longSkip is the least span of numbers that one run has kept from starting for the line to be an
// exception: the run may never end.
const longSkip = time.Minute

// Exception reports whether a line shows that something went wrong, or that an operator kept numbers
// from running. Such a line outlives the lines of runs that ended well: a store that drops it from a
// journal keeps it among the exceptions of the journal.
func (l *Line) Exception() bool {
	switch l.Verdict {
	case VerdictLost, VerdictMissed, VerdictPaused:
		return true
	case VerdictSkipped: // for an operator, or several numbers behind one run
		return l.Reason == ReasonOperator || l.Between == VerdictSkipped && l.To-l.From >= longSkip.Milliseconds()
	case VerdictRan, VerdictEnded:
		switch l.Outcome {
		case OutcomeFailed, OutcomePanic, OutcomeTimeout, OutcomeLost, OutcomeCancelled:
			return true
		}
		return l.Attempt > 1 || l.RerunShards() > 0 // a takeover: its grant and its end
	}
	return false
}
