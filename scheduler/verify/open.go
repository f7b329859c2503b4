package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

// idle is how long a tick may be undecided by default.
const idle = 10 * time.Second

// unsettled checks that nothing was left that a claim settles, or runs, before
// it moves the mark: grants that never started, and ticks that wait for nothing.
// While a run is open they may have to wait for its end.
func (p *proof) unsettled(l *lock.Line) {
	idleWait := p.whole
	if p.states[open] > 0 || p.states[unstarted] == 0 && (p.states[waiting] == 0 || !idleWait) {
		return
	}
	for _, tick := range slices.Sorted(maps.Keys(p.runs)) {
		r := p.runs[tick]
		if r.state == unstarted || r.state == waiting && idleWait {
			p.violate("I4", tick, "was %s and got no verdict when %s was decided", r.state, stamp(l.To))
			p.set(r, forgotten)
		}
	}
}

// forget leaves all runs that have no end without one.
func (p *proof) forget() {
	for _, r := range p.runs {
		if r.state == open || r.state == waiting || r.state == unstarted {
			p.set(r, forgotten)
		}
	}
}

// undecided counts the ticks after the mark that are past the grace, though
// nodes with their revision were seen later. An open run excuses them, as a
// backlog waits for it, and so does work that went on until nodes were seen last.
func (p *proof) undecided() {
	n, first := p.revisions.union(within(max(p.mark, p.high, p.after), p.through, p.overdue), nil)
	p.report.Undecided += n
	if n > 0 && p.states[open] == 0 && p.silent() {
		p.violate("I4", first, "%d ticks from here on have no verdict, though a node was seen later", n)
	}
}

// silent reports whether nodes were seen for longer than the grace after
// anything was written.
func (p *proof) silent() bool {
	seen := int64(0)
	for _, r := range p.revisions.all {
		seen = max(seen, min(p.now, r.used))
	}
	grace := p.options.Grace
	if grace <= 0 {
		grace = idle
	}
	return seen-p.latest >= grace.Milliseconds()
}

// overdue is the latest instant at which a tick of a revision is past the grace.
func (p *proof) overdue(r *revision) int64 {
	seen := min(p.now, r.used)
	if p.options.Grace > 0 {
		return seen - p.options.Grace.Milliseconds()
	}
	return r.schedule.PrevMilli(seen-idle.Milliseconds()) - 1
}

// tally counts the ticks that were granted or wait, by the last word on each.
func (p *proof) tally() {
	for tick, r := range p.runs {
		if p.counted(tick) {
			p.classify(r)
		}
	}
	rep := &p.report
	rep.Due = rep.Once + rep.Again + rep.Running + rep.Waiting + rep.Superseded + rep.Paused + rep.Lost +
		rep.PassedOver + rep.Undecided + total(rep.Skipped) + total(rep.Missed)
	if p.marked {
		rep.Mark = time.UnixMilli(p.mark).UTC()
	}
}

func (p *proof) classify(r *run) {
	rep := &p.report
	if r.outcome != "" && (r.state == done || r.state == givenBack) {
		rep.Outcomes = count(rep.Outcomes, r.outcome, 1)
	}
	switch {
	case r.again:
		rep.Again++
	case r.state == done || r.state == givenBack:
		rep.Once++
	case r.state == open:
		rep.Running++
	case r.state == waiting || r.state == unstarted:
		rep.Waiting++
	case r.state == lost:
		rep.Lost++
	case r.state == missed:
		p.add(lock.VerdictMissed, r.reason, 1)
	case r.state == superseded:
		rep.Superseded++
	default:
		rep.Undecided++
	}
}

func total(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
