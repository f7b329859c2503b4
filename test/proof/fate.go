package proof

import (
	"github.com/cronce/cronce/lock/series"
)

// A fate is the journal's record of one tick.
type fate struct {
	verdict series.Verdict // the last one; "" if the journal has none
	reason  string
	grant   series.Line // of the last attempt
	outcome string      // of the last attempt; "" if it has not ended
}

// fates reads the verdicts of the due ticks from a journal. It follows the definition of a line and
// shares no code with the library's own reader.
func fates(j series.Journal, due []int64) map[int64]*fate {
	all := make(map[int64]*fate, len(due))
	for _, t := range due {
		all[t] = &fate{}
	}
	for _, l := range j.Lines {
		if l.Verdict == series.VerdictOpened || l.Verdict == series.VerdictControl {
			continue
		}
		for t, f := range all {
			switch {
			case t == l.To:
				f.apply(l)
			case l.From < t && t < l.To && l.Between != "":
				f.between(l)
			}
		}
	}
	return all
}

func (f *fate) apply(l series.Line) {
	switch l.Verdict {
	case series.VerdictRan:
		f.verdict, f.reason, f.outcome = series.VerdictRan, "", l.Outcome
		f.grant = l
	case series.VerdictEnded:
		f.outcome = l.Outcome
	default:
		f.verdict, f.reason = l.Verdict, l.Reason
	}
}

// between records the verdict of a tick inside the range of a line.
func (f *fate) between(l series.Line) {
	f.verdict, f.reason = l.Between, series.ReasonMisfire
	if l.Between == l.Verdict {
		f.reason = l.Reason
	}
}

// Verdicts counts the verdicts of a job's due ticks in its journal.
func Verdicts(e *Evidence, j Job) map[series.Verdict]int {
	count := map[series.Verdict]int{}
	for _, f := range fates(e.Journals[j.Name], (&check{Evidence: e}).due(&j)) {
		count[f.verdict]++
	}
	return count
}
