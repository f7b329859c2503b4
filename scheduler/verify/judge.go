package verify

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// A TickState is the state of a tick in a word.
type TickState string

// States of a tick.
const (
	TickRan        TickState = "ran"        // its last attempt ended ok
	TickFailed     TickState = "failed"     // its last attempt ended with another outcome
	TickRunning    TickState = "running"    // an attempt is alive
	TickWaiting    TickState = "waiting"    // it waits for the end of a run or of a pause, or for a node that starts it, takes it over or settles it
	TickSkipped    TickState = "skipped"    // an earlier run was alive, or its function found nothing to do
	TickSuperseded TickState = "superseded" // it waited, and a later tick replaced it
	TickMissed     TickState = "missed"     // it could not start in time, or fell into an interruption
	TickPaused     TickState = "paused"
	TickLost       TickState = "lost"        // its node died, and no other node runs it
	TickPassedOver TickState = "passed over" // a node whose spec does not have it passed it
	TickOverdue    TickState = "overdue"     // no node has decided it in time, or it was left and no node has handled it in time
	TickUndecided  TickState = "undecided"   // it is due, and its deadline has not passed
	TickFuture     TickState = "future"
	NotATick       TickState = "not a tick"
	TickNotKnown   TickState = "not known"
)

// A Judge returns the state of each tick of a job, by the same rules and with the same grace by
// which [Job] counts it.
type Judge struct {
	p     *proof
	lines []series.Line
}

// NewJudge reads a journal as [Job] does. Options.Since does not affect Tick.
func NewJudge(j series.Journal, o Options) *Judge {
	p := newProof(j, o)
	for i := range j.Lines {
		p.read(i, &j.Lines[i])
	}
	p.audited(j.Key)
	p.late()
	p.tally()
	return &Judge{p, j.Lines}
}

// Report returns the result of [Job].
func (j *Judge) Report() Report { return j.p.report }

// Tick returns the state of a tick, and the line that gave it its verdict without a grant, or
// together with other ticks; nil if there is none.
func (j *Judge) Tick(tick time.Time) (TickState, *series.Line) {
	ms, p := tick.UnixMilli(), j.p
	r := p.runs[ms]
	if to, left := p.open[ms]; left && (r == nil || r.state != done) {
		return to.word(), nil
	}
	if r != nil {
		return r.word(), nil
	}
	line, state := j.covered(ms)
	switch {
	case spec.Manual(ms) && p.unproven(ms):
		return TickNotKnown, nil
	case line != nil:
		return state, line
	case ms > p.begins && !p.revisions.due(ms):
		return NotATick, nil
	case ms > p.now:
		return TickFuture, nil
	case ms > max(p.begins, p.passed):
		return p.undecidedTick(ms), nil
	case ms <= p.begins && p.report.Complete:
		return NotATick, nil
	}
	return TickNotKnown, nil
}

// covered returns the line that decided a tick which was not granted, and its verdict; nil if there
// is none. The first line that passed a tick decided it, as in the counts.
func (j *Judge) covered(ms int64) (*series.Line, TickState) {
	p := j.p
	for i := range j.lines {
		l := &j.lines[i]
		switch {
		case l.From >= ms || ms > l.To || l.Verdict == series.VerdictUnreadable || p.isAhead(l):
			continue
		case ms == l.To && !resumed(l):
			return l, verdictWord(l.Verdict)
		}
		r := p.revisions.of(l)
		if resumed(l) || r == nil || r.schedule == nil {
			r = nil
		}
		switch {
		case r != nil && r.names(ms) && (ms > r.First || p.revisions.due(ms)):
			v, _ := betweenOf(l)
			return l, verdictWord(v)
		case !p.revisions.due(ms):
			return l, NotATick
		case l.Verdict == series.VerdictPaused:
			return l, TickPaused
		}
		return l, TickPassedOver
	}
	return nil, ""
}

// verdictWord returns the state of a tick with a verdict that a line gives without a grant.
func verdictWord(v series.Verdict) TickState {
	switch v {
	case series.VerdictSkipped:
		return TickSkipped
	case series.VerdictMissed:
		return TickMissed
	case series.VerdictPaused:
		return TickPaused
	}
	return TickNotKnown
}

// word returns the state of a tick that was granted or waits.
func (r *run) word() TickState {
	switch {
	case r.state == done && r.outcome == series.OutcomeSkipped:
		return TickSkipped
	case r.state == done && r.outcome != series.OutcomeOK || r.state == givenBack:
		return TickFailed
	}
	return r.state.word()
}

func (s state) word() TickState {
	switch s {
	case open:
		return TickRunning
	case waiting, unstarted, givenBack:
		return TickWaiting
	case done:
		return TickRan
	case lost:
		return TickLost
	case missed:
		return TickMissed
	case superseded:
		return TickSuperseded
	case paused:
		return TickPaused
	case overdue:
		return TickOverdue
	}
	return TickNotKnown
}

// due reports whether a revision that was in force at an instant has it as a tick.
func (rs *revisions) due(ms int64) bool {
	for _, r := range rs.all {
		if r.First < ms && ms <= r.until && r.names(ms) {
			return true
		}
	}
	return false
}

// undecidedTick judges a tick that is due and that the mark has not passed.
func (p *proof) undecidedTick(ms int64) TickState {
	if s := p.options.State; s != nil && s.PausedAt(ms) {
		return TickPaused
	}
	for _, r := range p.revisions.all {
		if r.First < ms && ms <= r.until && r.names(ms) {
			return p.judge(r, ms)
		}
	}
	return NotATick
}

// judge judges an undecided tick of a revision.
func (p *proof) judge(r *revision, ms int64) TickState {
	switch {
	case p.unclaimed(r), p.now-r.deadline(ms) <= p.grace():
		return TickUndecided
	case p.waits(r, ms):
		return TickWaiting
	}
	return TickOverdue
}

// unclaimed reports whether no node is to decide the ticks of a revision.
func (p *proof) unclaimed(r *revision) bool { return r.policies.Crontab || p.options.Removed }

// deadline returns the deadline of a tick.
func (r *revision) deadline(ms int64) int64 {
	return ms + r.policies.Within(r.schedule.Interval(ms)).Milliseconds()
}

// waits reports whether a tick after the mark waits for a run that is alive: a tick of a backlog,
// which runs in order, or a tick that was due before the run was granted. Every other tick gets its
// verdict as soon as it is claimed. Between two runs of a backlog, no run is alive for a moment.
func (p *proof) waits(r *revision, tick int64) bool { return tick < p.waitsBefore(r) }
