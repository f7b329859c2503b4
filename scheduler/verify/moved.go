package verify

import (
	"github.com/cronce/cronce/lock/series"
)

// moved reads a line that moved the mark: the verdict of To, and of every tick that it passed.
func (p *proof) moved(l *series.Line) {
	p.marked = true
	p.seen(l.From)
	r := p.explain(l)
	p.follow(l)
	if !lapsed(l) {
		p.unsettled(l)
	}
	p.early(l)
	p.unmoved(l)
	p.between(l)
	p.decide(l)
	p.account(l, r)
	p.mark = max(p.mark, l.To)
	if !p.isAhead(l) {
		p.high = max(p.high, l.To)
	}
}

// explain compares a line with the spec of its revision, and returns the revision if it is known.
// The line of a resume has none.
func (p *proof) explain(l *series.Line) *revision {
	if resumed(l) {
		return nil
	}
	r := p.known(l)
	if r == nil || r.schedule.NextMilli(l.From) == l.To {
		return r
	}
	if !r.names(l.To) {
		p.violate("I4", l.To, "%s, but spec %q has no such tick", l.Verdict, r.Spec)
	}
	if n := p.count(r, max(l.From, p.mark), l.To-1); n > 0 && l.Between == "" {
		p.violate("I4", l.To, "%d ticks of spec %q after %s have no verdict", n, r.Spec, stamp(l.From))
	}
	return r
}

// resumed reports whether the end of a pause wrote the line, which covers all revisions up to its
// instant.
func resumed(l *series.Line) bool {
	return l.Verdict == series.VerdictPaused && l.Revision == "" && l.From < l.To
}

// beforePause reports whether the step that made a pause wrote the line, for ticks that were due
// before.
func beforePause(l *series.Line) bool {
	return l.Verdict == series.VerdictMissed && l.Reason == series.ReasonMisfire && l.From < l.To && l.Node == ""
}

// lapsed reports whether a step after the scheduled end of a pause wrote the line: this step also
// decides the runs that were left then.
func lapsed(l *series.Line) bool { return resumed(l) && l.To < l.At }

// follow checks that a line begins at the mark.
func (p *proof) follow(l *series.Line) {
	switch {
	case l.From < p.mark:
		p.violate("I1", l.To, "decided twice: ticks after %s, while the mark was at %s", stamp(l.From), stamp(p.mark))
	case l.From > p.mark:
		n := p.absent(max(p.mark, p.high), l.From)
		p.report.Undecided += n
		p.violate("I4", l.To, "no line moves the mark from %s to %s; %d ticks there have no verdict", stamp(p.mark), stamp(l.From), n)
		p.high = max(p.high, l.From)
	}
}

// between checks that the line can give the verdict of the ticks between.
func (p *proof) between(l *series.Line) {
	switch l.Between {
	case "", series.VerdictMissed:
		return
	case l.Verdict:
		if l.Verdict == series.VerdictSkipped || l.Verdict == series.VerdictPaused {
			return
		}
	}
	p.violate("I4", l.To, "%s cannot leave the ticks before it %q", l.Verdict, l.Between)
}

// decide reads the verdict of To.
func (p *proof) decide(l *series.Line) {
	switch l.Verdict {
	case series.VerdictRan:
		p.start(l)
	case series.VerdictWaiting:
		p.wait(l)
		p.blocked(l)
	case series.VerdictSkipped:
		p.skipped(l)
	case series.VerdictMissed, series.VerdictPaused:
	default:
		p.violate("I4", l.To, "verdict %q decides no tick", l.Verdict)
	}
}

// skipped checks that a run blocked a tick that was skipped, or that an operator skipped it: each change
// skips one tick.
func (p *proof) skipped(l *series.Line) {
	if l.Reason != series.ReasonOperator {
		p.blocked(l)
		return
	}
	if p.report.Complete && !p.control.skips {
		p.violate("I10", l.To, "skipped for an operator, and no change says so")
	}
	p.control.skips = false
}

// blocked checks that a run blocked a tick that was skipped, or waits, because of one.
func (p *proof) blocked(l *series.Line) {
	if p.whole && p.states[open] == 0 {
		p.violate("I4", l.To, "%s, but no run was open", l.Verdict)
	}
}

// account counts the ticks that a line decided, except To of a grant, which is counted after its
// last line has been read.
func (p *proof) account(l *series.Line, r *revision) {
	after, through := max(l.From, p.high, p.after), min(l.To, p.through)
	if after >= through || p.isAhead(l) {
		return
	}
	if !resumed(l) && through == l.To {
		p.add(l.Verdict, l.Reason, 1)
	}
	if r != nil {
		v, reason := betweenOf(l)
		p.add(v, reason, p.count(r, after, min(through, l.To-1)))
	}
	p.others(l, r, after, through)
}

// betweenOf returns the verdict of the ticks that a line passed. Without a verdict they are
// undecided.
func betweenOf(l *series.Line) (v series.Verdict, reason string) {
	if l.Between == l.Verdict {
		return l.Between, l.Reason
	}
	return l.Between, series.ReasonMisfire
}

func (p *proof) add(v series.Verdict, reason string, n int) {
	switch v {
	case series.VerdictSkipped:
		p.report.Skipped = count(p.report.Skipped, reason, n)
	case series.VerdictMissed:
		p.report.Missed = count(p.report.Missed, reason, n)
	case series.VerdictPaused:
		p.report.Paused += n
	case series.VerdictRan, series.VerdictWaiting: // counted by tally
	default:
		p.report.Undecided += n
	}
}

// common counts ticks of other revisions in a range that the spec of the line has too and that were
// due before it was in force. They get the verdict of the spec's own ticks in the range.
func (p *proof) common(l *series.Line, r *revision, after, through int64) {
	n := p.union(within(after, through, inForce), func(ms int64) bool { return !r.names(ms) })
	if n > 0 && l.Between == "" {
		p.violate("I4", l.To, "%d ticks before the change to spec %q, which names them too, have no verdict", n, r.Spec)
	}
	v, reason := betweenOf(l)
	p.add(v, reason, n)
}

// others counts the ticks of other revisions in a range: a pause covers them, and any other line
// passes over them.
func (p *proof) others(l *series.Line, r *revision, after, through int64) {
	if len(p.revisions.all) == 1 && p.revisions.all[0] == r {
		return
	}
	if r != nil {
		p.common(l, r, after, min(through, l.To-1, r.First))
	}
	own := func(ms int64) bool { return !resumed(l) && ms == l.To || r != nil && r.names(ms) }
	n := p.union(within(after, through, inForce), own)
	if l.Verdict == series.VerdictPaused {
		p.report.Paused += n
	} else {
		p.report.PassedOver += n
	}
}
