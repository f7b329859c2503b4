package scheduler_test

import (
	"slices"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// Cuts are which of two stores has short journals. All but the comparison reads the long ones.
type cuts uint8

const (
	cutsNone cuts = iota
	cutsRedis
	cutsMemory
)

// fewLines is how many lines one of the two stores of some twins keeps of a journal.
const fewLines = 20

// inMemoryWith is inMemory with journals of so many lines.
func inMemoryWith(c *world, lines int) *memlock.Store {
	return memlock.New(memlock.Options{Now: c.now, JournalLines: lines, JournalTotal: 1 << 24})
}

// claimer returns the driver that claims in Redis. In a namespace with short journals, nodes with other settings claim too.
func (s *twin) claimer() *redislock.Driver {
	if s.claims++; s.least != nil && s.claims%100 == 0 {
		return s.least
	}
	return s.Driver
}

// checkCut compares a journal with the one of a store that keeps few lines: that one ends with the same lines, at least the newest, and the lines that it
// keeps of the others are all that went wrong since it deleted the latest of those.
func (s *twin) checkCut(whole, cut series.Journal) {
	s.t.Helper()
	gone := len(whole.Lines) - len(cut.Lines)
	if gone < 0 || len(cut.Lines) == 0 && gone > 0 || len(cut.Lines)+len(cut.Exceptions) > fewLines {
		s.t.Errorf("the short journal of %s has %d lines and %d exceptions, the long one %d", whole.Key, len(cut.Lines), len(cut.Exceptions), len(whole.Lines))
		return
	}
	s.sameLines(whole.Key, whole.Lines[gone:], cut.Lines)
	kept := cut.Exceptions
	for i := range whole.Lines[:gone] {
		l := &whole.Lines[i]
		switch {
		case len(kept) > 0 && text(l) == text(&kept[0]):
			kept = kept[1:]
		case wentWrong(l) && l.At > cut.ExceptionsSince:
			s.t.Errorf("the short journal of %s, with exceptions since %v, lacks %+v", whole.Key, at(cut.ExceptionsSince), *l)
		}
	}
	if len(kept) > 0 {
		s.t.Errorf("the short journal of %s has an exception that the long one lacks: %+v", whole.Key, kept[0])
	}
}

// wentWrong reports whether a line is about a run that failed, was lost or was taken over, or about ticks that did not run at all.
func wentWrong(l *series.Line) bool {
	switch l.Verdict {
	case series.VerdictLost, series.VerdictMissed, series.VerdictPaused:
		return true
	case series.VerdictRan, series.VerdictEnded:
		return l.Attempt > 1 || slices.Contains([]string{series.OutcomeFailed, series.OutcomePanic, series.OutcomeTimeout, series.OutcomeLost, series.OutcomeCancelled}, l.Outcome)
	}
	return false
}
