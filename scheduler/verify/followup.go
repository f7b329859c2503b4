package verify

import (
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// followUp reads a line about one tick that was decided before.
func (p *proof) followUp(l *series.Line) {
	if p.requested(l) {
		return
	}
	decided := p.complete() || !spec.Manual(l.To) && (p.report.Complete || l.To > p.begins) // a manual run may be older than the mark
	if p.runs[l.To] == nil && decided && !p.hidden(l.To) {
		p.violate("I1", l.To, "%s, but the tick was never granted before", statement(l))
		if l.Verdict != series.VerdictRan {
			return
		}
	}
	r, _ := p.run(l.To)
	switch l.Verdict {
	case series.VerdictRan:
		p.regrant(r, l)
	case series.VerdictEnded:
		p.end(r, l)
	case series.VerdictLost:
		p.settle(r, l, lost, r.attempt > 0 && (r.state == open || r.state == givenBack || r.state == unstarted))
	case series.VerdictMissed:
		p.settle(r, l, missed, r.attempt == 0 && (r.state == waiting || r.state == unstarted))
	case series.VerdictPaused:
		p.settle(r, l, paused, r.attempt == 0 && (r.state == waiting || r.state == unstarted))
	case series.VerdictSuperseded:
		p.settle(r, l, superseded, r.attempt == 0 && (r.state == waiting || r.state == unstarted))
	default:
		p.violate("I4", l.To, "verdict %q cannot follow another", l.Verdict)
	}
}

// statement returns the statement of a line, for a sentence.
func statement(l *series.Line) string {
	if l.Verdict == series.VerdictEnded {
		return "ended " + l.Outcome
	}
	return string(l.Verdict)
}

// regrant reads a further attempt, or the first attempt of a tick that waited.
func (p *proof) regrant(r *run, l *series.Line) {
	p.known(l)
	p.early(l)
	switch r.state {
	case unseen:
	case open:
		p.takeover(r, l)
	case waiting, unstarted, givenBack:
		if l.Attempt != r.attempt+1 {
			p.violate("I1", l.To, "attempt %d follows %d, which was %s", l.Attempt, r.attempt, r.state)
		}
	default:
		r.again = true
		p.violate("I1", l.To, "granted to %s after it was %s", l.Node, r.state)
	}
	p.grant(r, l)
}

// takeover reads an attempt while the previous attempt has no end: its node died.
func (p *proof) takeover(r *run, l *series.Line) {
	switch {
	case l.Attempt == r.attempt:
		r.again = true
		p.violate("I1", l.To, "attempt %d was granted twice, to %s and to %s", l.Attempt, r.node, l.Node)
		return
	case l.Attempt != r.attempt+1:
		p.violate("I1", l.To, "attempt %d follows %d", l.Attempt, r.attempt)
	}
	p.tick(r, &p.report.TakenOver)
	p.soon(r, l)
}

// soon checks that the lease can have ended, even if it was as short as possible.
func (p *proof) soon(r *run, l *series.Line) {
	if held := l.At - r.granted; held < driver.MinTTL.Milliseconds() {
		p.violate("I3", l.To, "%s %d ms after it was granted to %s, whose lease cannot have ended", statement(l), held, r.node)
	}
}

// end reads the end of an attempt.
func (p *proof) end(r *run, l *series.Line) {
	switch {
	case r.state == unseen:
		r.attempt, r.fence = l.Attempt, l.Fence
	case r.state != open:
		p.violate("I1", l.To, "%s, but it was %s before", statement(l), r.state)
		return
	case !p.same(r, l):
		return
	}
	if l.Outcome == "" {
		p.violate("I4", l.To, "ended without an outcome")
	}
	p.finish(r, l)
}

// settle reads the verdict of a tick that was left without an end.
func (p *proof) settle(r *run, l *series.Line, to state, allowed bool) {
	if r.state != unseen {
		if !allowed {
			p.violate("I1", l.To, "%s, but it was %s before", statement(l), r.state)
			return
		}
		if !p.same(r, l) {
			return
		}
		if r.state == open {
			p.soon(r, l)
		}
	}
	r.reason = l.Reason
	p.set(r, to)
}

// same checks that a line is about the attempt that was granted last.
func (p *proof) same(r *run, l *series.Line) bool {
	if l.Fence == r.fence && l.Attempt == r.attempt {
		return true
	}
	p.violate("I1", l.To, "%s with fence %d, attempt %d, but fence %d, attempt %d was granted",
		statement(l), l.Fence, l.Attempt, r.fence, r.attempt)
	return false
}

// early checks that a line was not written before the instant that it decides. A grant may be early
// by the tolerance, because it carries the wait.
func (p *proof) early(l *series.Line) {
	allowed := int64(0)
	if l.Verdict == series.VerdictRan {
		allowed = series.Tolerance
	}
	if l.At < l.To-allowed && !spec.Manual(l.To) { // a manual number has no instant
		p.violate("I7", l.To, "%s %d ms before its instant", statement(l), l.To-l.At)
	}
}
