package verify

import (
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// requested reads the line of a manual run that waits for its start: it follows the line of the change
// that requested it, and has its fence, or is one of a backfill. It reports whether the line is one.
func (p *proof) requested(l *series.Line) bool {
	if !isRequested(l) {
		return false
	}
	switch asked := p.control.asked; {
	case l.For != 0:
		p.fill(l)
	case asked == nil && p.report.Complete && !p.control.unread:
		p.violate("I9", l.To, "a manual run waits with fence %d, and no change before it requested one", l.Fence)
	case asked != nil && asked.Fence != l.Fence:
		p.violate("I9", l.To, "a manual run waits with fence %d, and the change before it requested one with fence %d", l.Fence, asked.Fence)
	}
	if p.runs[l.To] != nil {
		p.violate("I9", l.To, "a manual run has the number of an earlier one")
		return true
	}
	p.wait(l)
	r := p.runs[l.To]
	if r.unasked = false; l.For != 0 {
		p.control.fill.run = r
	}
	return true
}

// isRequested reports whether l is the line of a manual run that waits for its start.
func isRequested(l *series.Line) bool {
	return l.Verdict == series.VerdictWaiting && l.From == l.To && spec.Manual(l.To)
}

// answered checks that a request for a manual run is followed by the line of that run, which is written
// in the same step. The line l follows the request; nil: the journal ends.
func (p *proof) answered(l *series.Line) {
	asked := p.control.asked
	if asked == nil || l != nil && isRequested(l) && l.For == 0 {
		return
	}
	p.violate("I9", asked.To, "change %d requested a manual run with fence %d, and no line says that it waits", asked.Change, asked.Fence)
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

// unproven reports whether the lines of a manual run with this number may be gone, or cannot be read. Its
// number is the instant of its request, or a little later.
func (p *proof) unproven(ms int64) bool {
	return !p.report.Complete && ms <= p.written+second || len(p.report.Faults) > 0
}

const second = 1000 // ms

// addManual adds a manual run of the store whose lines are gone: no range of ticks accounts for it.
func (p *proof) addManual(r *series.Run) {
	if !r.Manual() {
		return
	}
	if known, listed := p.run(r.Number); !listed {
		p.set(known, open)
	}
}
