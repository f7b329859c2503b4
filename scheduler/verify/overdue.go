package verify

import (
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
)

// DefaultGrace is how long after its deadline a tick may be without a verdict, so that nodes that
// return or answer late can still decide it.
const DefaultGrace = 10 * time.Second

// An Overdue has ticks that no node has handled in time: ticks after the mark without a verdict, or
// a tick whose run or wait is over and was left.
type Overdue struct {
	Tick  time.Time `json:"tick"`           // the tick, or the first of several
	Last  time.Time `json:"last,omitzero"`  // the last of several
	Ticks int       `json:"ticks"`          // number of ticks
	Since time.Time `json:"since"`          // the deadline of the first one; of a run or wait that was left: when it was over
	State string    `json:"state"`          // undecided, open, waiting, unstarted or interrupted
	Node  string    `json:"node,omitempty"` // the node that has, or had, the run
	Fence int64     `json:"fence,omitempty"`
}

// grace returns the grace of the options, in milliseconds.
func (p *proof) grace() int64 {
	if p.options.Grace > 0 {
		return p.options.Grace.Milliseconds()
	}
	return DefaultGrace.Milliseconds()
}

// late judges the ticks that the mark has not passed, and the runs that were left.
func (p *proof) late() {
	p.passed = p.decided()
	mark := p.passed
	s := p.options.State
	if s != nil {
		p.left(s)
	}
	if s != nil && s.Paused {
		through := p.through
		if s.Pause.Until != 0 {
			through = min(through, s.Pause.Until)
		}
		p.report.Paused += p.union(within(max(mark, p.after), through, inForce), nil)
		if s.Pause.Until == 0 {
			return
		}
		mark = max(mark, s.Pause.Until) // ticks due later are judged as usual
	}
	p.undecided(mark)
}

// undecided counts the ticks after the mark that are past their deadline: some wait for a run that
// is alive, the others are overdue. Ranges in which one revision alone is in force are counted by
// arithmetic, so their length does not matter.
func (p *proof) undecided(mark int64) {
	var found Overdue
	p.segments(within(max(mark, p.after), p.through, inForce), func(after, through int64, active []*revision) {
		if len(active) == 1 {
			p.lateOf(active[0], after, through, &found)
			return
		}
		for i, r := range active {
			for ms := r.schedule.NextMilli(after); ms != 0 && ms <= through && p.withinBudget(); ms = r.schedule.NextMilli(ms) {
				if !named(active[:i], ms) && p.runs[ms] == nil {
					p.addLate(r, ms, &found)
				}
			}
		}
	})
	if found.Ticks > 0 {
		p.report.Overdue += found.Ticks
		p.report.Late = append(p.report.Late, found)
	}
}

// addLate counts one tick if it is past its deadline.
func (p *proof) addLate(r *revision, ms int64, found *Overdue) {
	switch p.judge(r, ms) {
	case TickWaiting:
		p.report.Waiting++
	case TickOverdue:
		found.add(ms, ms, 1, r.deadline(ms))
	}
}

// lateOf counts the ticks of one revision that are past their deadline.
func (p *proof) lateOf(r *revision, after, through int64, found *Overdue) {
	if p.unclaimed(r) {
		return
	}
	through, others := p.over(r, after, through, p.now-p.grace())
	for ms := range p.runs { // granted by a line that is ahead, and counted with the runs
		if after < ms && ms <= through && r.names(ms) {
			others[ms] = true
		}
	}
	split := min(max(after, p.waitsBefore(r)-1), through)
	p.report.Waiting += p.count(r, after, split) - countIn(others, after, split)
	n := p.count(r, split, through) - countIn(others, split, through)
	if n <= 0 {
		return
	}
	first := r.schedule.NextMilli(split)
	for others[first] {
		first = r.schedule.NextMilli(first)
	}
	last := r.schedule.PrevMilli(through)
	for others[last] {
		last = r.schedule.PrevMilli(last - 1)
	}
	found.add(first, last, n, r.deadline(first))
}

// over finds the ticks in (after, through] whose deadline was before the instant before: all ticks
// up to upTo, except those in but. If the deadline is derived from the interval, a tick before a
// long gap has a later deadline than ticks after it. A relevant gap is at least a tenth of the time
// since then, so few lookups find it, however long ago it was.
func (p *proof) over(r *revision, after, through, before int64) (upTo int64, but map[int64]bool) {
	but = map[int64]bool{}
	least := r.policies.Within(time.Second).Milliseconds()
	upTo = max(after, min(through, before-least-1))
	if r.policies.Within(math.MaxInt64) == r.policies.Within(time.Second) { // it is not derived from the interval
		return upTo, but
	}
	jitter := r.policies.Jitter.Milliseconds()
	for at := upTo; at > after && p.withinBudget(); {
		tick := r.schedule.PrevMilli(at)
		if tick <= after {
			break
		}
		if r.deadline(tick) >= before {
			but[tick] = true
		}
		at = min(tick-1, at-max(1000, (before-jitter-at)/policy.Backlog))
	}
	return upTo, but
}

// countIn counts the instants in (after, through].
func countIn(all map[int64]bool, after, through int64) (n int) {
	for ms := range all {
		if after < ms && ms <= through {
			n++
		}
	}
	return n
}

// add adds n ticks from first to last. Since becomes the deadline of the first tick of all.
func (o *Overdue) add(first, last int64, n int, deadline int64) {
	at, to := time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	if o.Ticks == 0 || at.Before(o.Tick) {
		if o.Tick.After(to) {
			to = o.Tick
		}
		o.State, o.Tick, o.Since = "undecided", at, time.UnixMilli(deadline).UTC()
	}
	if o.Ticks += n; o.Ticks > 1 && to.After(o.Last) {
		o.Last = to
	}
}

// waitsBefore returns the instant before which undecided ticks wait for a run that is alive.
func (p *proof) waitsBefore(r *revision) int64 {
	alive, granted := p.alive()
	switch {
	case r.policies.Overlap == policy.Allow:
	case r.policies.Misfire == policy.All && (alive || p.now-p.latest < p.grace()):
		return math.MaxInt64
	case r.policies.Misfire != policy.All && alive:
		return granted
	}
	return math.MinInt64 + 1
}

// alive reports whether a run is alive, and when the latest of these was granted. It uses the state
// of the store; without it, a run without an end counts as alive. No tick waits for a run that was
// granted in the future of the store's clock.
func (p *proof) alive() (alive bool, granted int64) {
	if s := p.options.State; s != nil {
		for i := range s.Runs {
			if r := &s.Runs[i]; r.State == series.RunOpen && p.now < s.Until(r) && !p.beyond(r.Granted) {
				alive, granted = true, max(granted, r.Granted)
			}
		}
		return alive, granted
	}
	for _, r := range p.runs {
		if r.state == open {
			alive, granted = true, max(granted, r.granted)
		}
	}
	return alive, granted
}

// left judges the unsettled runs of the store. A run that is over waits for a node that starts it,
// takes it over or settles it, and is overdue once it was left for longer than the grace. In a
// pause it waits for the end of the pause, when it is decided.
func (p *proof) left(s *series.Series) {
	p.open = map[int64]state{}
	for i := range s.Runs {
		r := &s.Runs[i]
		p.addManual(r)
		over, was := s.Until(r), open
		switch r.State {
		case series.RunOpen:
			if p.now < over {
				p.open[r.Number] = open
				continue
			}
		case series.RunGivenBack:
			over, was = max(over, p.latest), givenBack
		case series.RunUnstarted:
			over, was = max(over, p.latest), unstarted
		case series.RunWaiting:
			over, was = max(r.Number, p.lastLease(s), p.latest), waiting
		default:
			continue
		}
		over = max(over, p.lapsed, s.Pause.Until)
		to := waiting
		if !s.PausedAt(p.now) && p.now-over > p.grace() && !p.yields(r) && !p.revisions.crontab() && !p.options.Removed {
			to = overdue
			p.report.Late = append(p.report.Late, Overdue{
				Tick: time.UnixMilli(r.Number).UTC(), Ticks: 1, Since: time.UnixMilli(over).UTC(),
				State: was.String(), Node: driver.NodeOf(r.Owner), Fence: r.Fence,
			})
		}
		p.leave(r, to)
	}
}

// lastLease returns the latest deadline of the runs of a series.
func (p *proof) lastLease(s *series.Series) (until int64) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.State == series.RunOpen {
			until = max(until, s.Until(r))
		}
	}
	return until
}

// leave sets the state of a run that was left. A tick from before the proof, or from before
// Options.Since, is only counted if it is overdue, so that the counts agree with Late.
func (p *proof) leave(r *series.Run, to state) {
	p.open[r.Number] = to
	known := p.runs[r.Number]
	if known != nil {
		p.set(known, to)
	}
	if to == overdue && !r.Manual() && (known == nil || !p.counted(r.Number)) {
		p.report.Overdue++
	}
}

// maxTicks bounds the work on one job, because a journal that was tampered with, or the first
// sighting of a spec in it, may name any year.
const maxTicks = 10_000_000

// withinBudget takes one from the number of ticks that may be examined, and reports whether one was left.
func (p *proof) withinBudget() bool {
	if p.work++; p.work > maxTicks {
		p.exhaust()
	}
	return !p.spent
}

// exhaust stops the counting.
func (p *proof) exhaust() {
	if !p.spent {
		p.spent = true
		p.fault("more than %d ticks lie in the range of the journal: the rest is not counted", maxTicks)
	}
}

// retire sets until when each revision is in force: the one used last until now, and any other one
// until its last use, or until a later one was first seen if that was later. Ticks of a time
// without nodes belong to the spec before it. If there are live nodes, the latest revision of a
// live node counts: the revision of a node that is gone, as after a deployment that was rolled
// back, is not in force.
func (rs *revisions) retire(alive func(node string) bool) {
	current := rs.current(alive)
	rs.last = current
	for _, r := range rs.all {
		r.until = math.MaxInt64
		if current == nil || r == current || r.used == current.used {
			continue
		}
		for _, s := range rs.all {
			if s == current || s.used > r.used {
				r.until = min(r.until, max(r.used, s.First))
			}
		}
	}
}

// current returns the revision in force, or nil if there is none.
func (rs *revisions) current(alive func(node string) bool) (latest *revision) {
	var living *revision
	for _, r := range rs.all {
		if latest == nil || r.used > latest.used {
			latest = r
		}
		if alive != nil && alive(r.Node) && (living == nil || r.used > living.used) {
			living = r
		}
	}
	if living != nil {
		return living
	}
	return latest
}

// crontab reports whether commands in crontabs claim the ticks, and no node does.
func (rs *revisions) crontab() bool { return rs.last != nil && rs.last.policies.Crontab }

// named reports whether one of the revisions has an instant as a tick.
func named(all []*revision, ms int64) bool {
	return slices.ContainsFunc(all, func(r *revision) bool { return r.names(ms) })
}
