package web

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// The exceptions of the last day are on the first page, by their verdicts.
type exceptions struct {
	Text   string
	Since  time.Time
	Day    bool // Since is a day ago: memory reaches as far back
	Counts []verdictCount
}

type verdictCount struct {
	Verdict string
	N       int
}

// exceptionsOf counts the exceptions of the last day, or since the time from which on all of them are in memory; nil: nothing was read
// yet. The day begins at a whole minute, so that the addresses of the lists stay the same within a minute.
func (h *Handler) exceptionsOf(s *ops.Snapshot) *exceptions {
	if s.AsOf.IsZero() {
		return nil
	}
	e := &exceptions{Since: s.AsOf.Add(-24 * time.Hour).Truncate(time.Minute), Day: true}
	if from := h.searched[1].from(s, (*ops.Snapshot).SearchedExceptions); from.After(e.Since) {
		e.Since, e.Day = from, false
	}
	counts := s.Exceptions(e.Since)
	for _, verdict := range ops.Verdicts {
		if n := counts[verdict]; n > 0 {
			e.Counts = append(e.Counts, verdictCount{verdict, n})
		}
	}
	switch {
	case len(e.Counts) > 0:
		e.Text = "Exceptions"
	case s.Down != "" || len(s.Faults) > 0:
		e.Text = "No exception is known"
	default:
		e.Text = "No exception"
	}
	if e.Day {
		e.Text += " in 24 hours"
	}
	return e
}

// markOf returns the name of the mark of a verdict or an outcome that is an exception. A run that an operator or a newer tick ended is
// no failure.
func markOf(verdict string) ops.State {
	switch s := ops.State(verdict); s {
	case series.OutcomeCancelled, series.OutcomeReplaced:
		return ops.Skipped
	case ops.Lost, ops.Missed, ops.Paused, ops.Skipped, ops.Takeover:
		return s
	}
	return ops.Failing
}
