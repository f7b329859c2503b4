package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// unsettled checks that no run was left that a claim must settle or start before it moves the mark:
// grants that never started, and ticks that wait for nothing. While a run is open they may have to
// wait for its end. Ticks go before manual runs that have not started, and before the run of a backfill.
func (p *proof) unsettled(l *series.Line) {
	idleWait := p.whole
	if p.states[open] > 0 || p.states[unstarted] == 0 && (p.states[waiting] == 0 || !idleWait) {
		return
	}
	for _, tick := range slices.Sorted(maps.Keys(p.runs)) {
		r := p.runs[tick]
		if !r.pending() && !p.fillsFor(r) && (r.state == unstarted || r.state == waiting && idleWait) {
			p.violate("I4", tick, "was %s and got no verdict when %s was decided", r.state, stamp(l.To))
			p.set(r, forgotten)
		}
	}
}

// forget sets all runs without an end to forgotten.
func (p *proof) forget() {
	for _, r := range p.runs {
		if r.state == open || r.state == waiting || r.state == unstarted {
			p.set(r, forgotten)
		}
	}
}

// tally counts the ticks that were granted or wait, by their last states, and the manual runs.
func (p *proof) tally() {
	for tick, r := range p.runs {
		switch {
		case !p.counted(tick):
		case spec.Manual(tick):
			p.report.Manual = count(p.report.Manual, string(r.word()), 1)
		default:
			p.classify(r)
		}
	}
	rep := &p.report
	known := func(tick int64) bool { return p.runs[tick] != nil || p.open[tick] == overdue }
	for _, h := range p.holes {
		rep.Unknown += p.union(within(max(h[0], p.after), min(h[1], p.through), inForce), known)
	}
	rep.Due = rep.Once + rep.Again + rep.Running + rep.Waiting + rep.Superseded + rep.Paused + rep.Lost +
		rep.PassedOver + rep.Undecided + rep.Overdue + rep.Unknown + total(rep.Skipped) + total(rep.Missed)
	if p.marked {
		rep.Mark = time.UnixMilli(p.mark).UTC()
	}
}

func (p *proof) classify(r *run) {
	rep := &p.report
	if r.outcome != "" && (r.state == done || r.state == givenBack) {
		rep.Outcomes = count(rep.Outcomes, r.outcome, 1)
		if failures[r.outcome] {
			rep.Failed++
		}
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
		p.add(series.VerdictMissed, r.reason, 1)
	case r.state == paused:
		rep.Paused++
	case r.state == superseded:
		rep.Superseded++
	case r.state == overdue:
		rep.Overdue++
	case r.state == unseen:
		rep.Unknown++
	default:
		rep.Undecided++
	}
}

// failures are the outcomes of runs that did not do their work.
var failures = map[string]bool{series.OutcomeFailed: true, series.OutcomePanic: true, series.OutcomeTimeout: true, series.OutcomeLost: true}

func total(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
