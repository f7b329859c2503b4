package series

// Fold writes next into the line before it if one line can hold both: if next is the end of the run
// that l granted, or the same verdict for the numbers that follow. It reports whether it did.
func (l *Line) Fold(next Line) bool {
	switch next.Verdict {
	case VerdictEnded:
		if l.Verdict != VerdictRan || l.To != next.To || l.Fence != next.Fence || l.Outcome != "" {
			return false
		}
		l.Outcome, l.Ended, l.Error, l.Sheet = next.Outcome, next.Ended, next.Error, next.Sheet
		return true
	case VerdictSkipped, VerdictMissed, VerdictPaused:
		return extend(l, next)
	}
	return false
}

// extend merges neighbours that differ only in their numbers, node and time.
func extend(last *Line, next Line) bool {
	same := last.Verdict == next.Verdict && last.Reason == next.Reason && last.Revision == next.Revision &&
		last.BlockerFence == next.BlockerFence
	follows := last.To == next.From && next.From < next.To && last.From < last.To
	plain := next.Between == "" || next.Verdict == VerdictPaused
	if !same || !follows || !plain || (last.Between != "" && last.Between != last.Verdict) {
		return false
	}
	last.To, last.At, last.Node, last.Between = next.To, next.At, next.Node, last.Verdict
	return true
}
