package verify

import (
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A filling is the state of a job's backfill according to the lines read so far.
type filling struct {
	asked bool  // the last line is of a change that requested a backfill, or ended one
	goes  bool  // a change requested a backfill, and none ended it; or the line of such a change may be gone
	tick  int64 // the tick whose work the latest run of the backfill does; 0: none yet
	run   *run  // the latest run of a backfill; nil: none
}

// fill reads the line of a run that waits for its start, for a backfill. It is in the step of the change
// that requested the backfill, or in the step that settled the run before it. Its tick is decided, and later
// than the tick of that run.
func (p *proof) fill(l *series.Line) {
	f := &p.control.fill
	switch {
	case !f.goes:
		p.violate("I9", l.To, "a run waits for the work of %s, and no change before it requested a backfill", stamp(l.For))
	case l.For <= f.tick:
		p.violate("I9", l.To, "a run waits for the work of %s, after a run for %s of the same backfill", stamp(l.For), stamp(f.tick))
	}
	if r := f.run; r != nil && (r.state == waiting || r.state == open || r.state == unstarted) {
		p.violate("I9", l.To, "a run waits for the work of %s, while run %s of a backfill is %s", stamp(l.For), stamp(r.tick), r.state)
	}
	if p.marked && !p.blind && l.For > p.mark {
		p.violate("I9", l.To, "a run waits for the work of %s, and the mark was at %s", stamp(l.For), stamp(p.mark))
	}
	if len(p.report.Faults) == 0 && l.For > p.begins && !named(p.revisions.all, l.For) {
		p.violate("I9", l.To, "a run waits for the work of %s, which is a tick of no spec", stamp(l.For))
	}
	f.tick = l.For
}

// fills reads the line after a change that requested a backfill, or ended one: the line of the first run
// follows only a request.
func (p *proof) fills(l *series.Line) {
	f := &p.control.fill
	if f.asked {
		f.asked, f.goes = false, isRequested(l) && l.For != 0
	}
}

// fillsFor reports whether a run is of a backfill, or may be: its request is gone with older lines.
func (p *proof) fillsFor(r *run) bool {
	return r == p.control.fill.run || r.unasked
}

// precedes reports whether the first attempt of a line goes before the run of a backfill: no other run is open,
// and the lease of that one can have ended.
func (p *proof) precedes(l *series.Line) bool {
	if p.states[open] != 1 {
		return false
	}
	for _, r := range p.runs {
		if r.state == open {
			return p.fillsFor(r) && l.At-r.granted >= driver.MinTTL.Milliseconds()
		}
	}
	return false
}

// yields reports whether a run of a backfill waits for the next tick, which is due so soon that the run has
// no room before it. Other runs need none.
func (p *proof) yields(r *series.Run) bool {
	rev := p.revisions.last
	if rev == nil || rev.policies.Overlap == policy.Allow {
		return false
	}
	for _, tick := range []int64{rev.schedule.PrevMilli(p.now), rev.schedule.NextMilli(p.now)} { // the one before may be due later, by its jitter
		due := rev.policies.DueAt(p.report.Job, tick, rev.schedule.NextMilli(tick))
		if due > p.now && due-p.now <= r.Room {
			return true
		}
	}
	return false
}

// lastIsTick checks that no manual run counts as the latest tick that ended ok.
func (p *proof) lastIsTick() {
	if s := p.options.State; s != nil && spec.Manual(s.Last) {
		p.violate("I9", s.Last, "the latest tick that ended ok is the number of a manual run")
	}
}
