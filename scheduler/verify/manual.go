package verify

import (
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// requested reads the line of a manual run that waits for its start: it follows the line of the change
// that requested it, and has its fence. It reports whether the line is one.
func (p *proof) requested(l *series.Line) bool {
	if l.Verdict != series.VerdictWaiting || !spec.Manual(l.To) {
		return false
	}
	if asked := p.control.asked; asked != l.Fence && (asked != 0 || p.report.Complete) {
		p.violate("I9", l.To, "a manual run waits with fence %d, and the change before it requested one with fence %d", l.Fence, asked)
	}
	if p.runs[l.To] != nil {
		p.violate("I9", l.To, "a manual run has the number of an earlier one")
		return true
	}
	p.wait(l)
	return true
}

// unmoved checks that no manual number moves the mark. The end of a pause may cover ticks up to any
// instant.
func (p *proof) unmoved(l *series.Line) {
	if spec.Manual(l.To) && (l.Verdict == series.VerdictRan || l.Verdict == series.VerdictWaiting || l.Verdict == series.VerdictSkipped) {
		p.violate("I9", l.To, "%s, and a manual run moves no mark", l.Verdict)
	}
}

// barred reports whether the pause keeps the run of a line from starting: a manual run that was
// requested during the pause may start.
func (p *proof) barred(l *series.Line) bool {
	return p.control.paused && !(spec.Manual(l.To) && l.To >= p.control.since)
}

// pending reports whether a run is manual and has not started yet. It waits while ticks are decided.
func (r *run) pending() bool { return spec.Manual(r.tick) && r.attempt == 0 }
