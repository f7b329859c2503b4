package verify

import (
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
)

// DefaultGrace is how long after its deadline a tick may be without a verdict, so
// that nodes which return, or answer late, can give it one.
const DefaultGrace = 10 * time.Second

// An Overdue is what no node has seen to in time: ticks after the mark without a
// verdict, or a tick whose run, or wait, is over and was left.
type Overdue struct {
	Tick  time.Time `json:"tick"`           // the tick, or the first of several
	Last  time.Time `json:"last,omitzero"`  // the last of several
	Ticks int       `json:"ticks"`          // how many there are
	Since time.Time `json:"since"`          // when the first one's time was over
	State string    `json:"state"`          // undecided, open, waiting, unstarted or interrupted
	Node  string    `json:"node,omitempty"` // which has, or had, the run
	Fence int64     `json:"fence,omitempty"`
}

// grace is that of the options, in milliseconds.
func (p *proof) grace() int64 {
	if p.options.Grace > 0 {
		return p.options.Grace.Milliseconds()
	}
	return DefaultGrace.Milliseconds()
}

// late accounts for what the mark has not passed, and for runs that were left.
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
		mark = max(mark, s.Pause.Until) // what is due later is judged as ever
	}
	p.undecided(mark)
}

// undecided counts the ticks after the mark that are past their deadline: some wait
// for a run that is alive, the others are overdue. What one revision alone has is counted by
// arithmetic, however much it is.
func (p *proof) undecided(mark int64) {
	var found Overdue
	p.segments(within(max(mark, p.after), p.through, inForce), func(after, through int64, active []*revision) {
		if len(active) == 1 {
			p.lateOf(active[0], after, through, &found)
			return
		}
		for i, r := range active {
			for ms := r.schedule.NextMilli(after); ms != 0 && ms <= through && p.spend(); ms = r.schedule.NextMilli(ms) {
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

// addLate counts one tick, if it is past its deadline.
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
	if r.policies.Crontab {
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

// over finds the ticks after one instant and not after another whose deadline was before a
// third: those up to the one that is returned, but for some. Where the deadline follows from
// the interval, a tick before a long gap has more time than later ones. A gap that can matter
// is a tenth of the time since at least, so it is found with a few looks, however long ago that was.
func (p *proof) over(r *revision, after, through, before int64) (upTo int64, but map[int64]bool) {
	but = map[int64]bool{}
	least := r.policies.Within(time.Second).Milliseconds()
	upTo = max(after, min(through, before-least-1))
	if r.policies.Within(time.Minute) == r.policies.Within(time.Second) { // it does not follow from the interval
		return upTo, but
	}
	jitter := r.policies.Jitter.Milliseconds()
	for at := upTo; at > after && p.spend(); {
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

// countIn counts the instants after one and not after another.
func countIn(all map[int64]bool, after, through int64) (n int) {
	for ms := range all {
		if after < ms && ms <= through {
			n++
		}
	}
	return n
}

// add counts n more ticks, from the first to the last. Since is the deadline of the first of all.
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

// waitsBefore is the instant before which undecided ticks wait for a run that is alive.
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

// alive reports whether a run is alive, and when the latest of them was granted. The
// store says; without its answer a run without an end is taken for alive. No tick waits
// for a run that was granted beyond the store's clock.
func (p *proof) alive() (alive bool, granted int64) {
	if s := p.options.State; s != nil {
		for i := range s.Runs {
			if r := &s.Runs[i]; r.State == series.RunOpen && p.now < r.Until && !p.beyond(r.Granted) {
				alive, granted = true, max(granted, r.Granted)
			}
		}
		return alive, granted
	}
	for _, r := range p.runs {
		if r.state == open && !p.beyond(r.granted) {
			alive, granted = true, max(granted, r.granted)
		}
	}
	return alive, granted
}

// left judges the runs that the store has as not settled. One that is over waits for a node that
// starts it, takes it over or settles it, and is overdue once it was left for longer than the
// grace. In a pause it waits for the end of that: what becomes of it is decided then.
func (p *proof) left(s *series.Series) {
	p.open = map[int64]state{}
	alive, _ := p.alive()
	for i := range s.Runs {
		r := &s.Runs[i]
		over, was := r.Until, open
		switch r.State {
		case series.RunOpen:
			if p.now < r.Until {
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
		over = max(over, p.lapsed)
		if s.Paused {
			over = max(over, s.Pause.Until)
		}
		to := waiting
		if !s.PausedAt(p.now) && p.now-over > p.grace() && !(r.State == series.RunWaiting && alive) && !p.revisions.crontab() {
			to = overdue
			p.report.Late = append(p.report.Late, Overdue{
				Tick: time.UnixMilli(r.Number).UTC(), Ticks: 1, Since: time.UnixMilli(over).UTC(),
				State: was.String(), Node: driver.NodeOf(r.Owner), Fence: r.Fence,
			})
		}
		p.leave(r, to)
	}
}

// lastLease is the latest deadline of the runs of a series.
func (p *proof) lastLease(s *series.Series) (until int64) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.State == series.RunOpen {
			until = max(until, r.Until)
		}
	}
	return until
}

// leave sets what became of a run that was left. A tick from before the proof, or from before
// what was asked for, is not counted, unless it is overdue: Late names it, and the counts say the same.
func (p *proof) leave(r *series.Run, to state) {
	p.open[r.Number] = to
	known := p.runs[r.Number]
	if known != nil {
		p.set(known, to)
	}
	if to == overdue && (known == nil || !p.counted(r.Number)) {
		p.report.Overdue++
	}
}

// maxTicks bounds the work on one job: a journal, or a spec's first sighting, that
// was tampered with names any year.
const maxTicks = 10_000_000

// spend takes one from the ticks that may be looked at, and reports whether there
// was one left.
func (p *proof) spend() bool {
	if p.work++; p.work > maxTicks {
		p.exhaust()
	}
	return !p.spent
}

// exhaust ends the counting.
func (p *proof) exhaust() {
	if !p.spent {
		p.spent = true
		p.fault("more than %d ticks lie in the range of the journal: the rest is not counted", maxTicks)
	}
}

// retire finds out until when each revision is in force: the one used latest is now,
// another was until its last use, or until a later one was seen first, if that came
// after. Ticks of a stop belong to the spec from before it. Where nodes live, the
// latest revision of a node that lives counts: that of one that is gone, as after a
// deployment that was taken back, is not in force.
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

// current is the revision in force, nil if there is none.
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

// crontab reports whether crontabs ask for the ticks, and no node does.
func (rs *revisions) crontab() bool { return rs.last != nil && rs.last.policies.Crontab }

// named reports whether one of some revisions names an instant.
func named(all []*revision, ms int64) bool {
	return slices.ContainsFunc(all, func(r *revision) bool { return r.names(ms) })
}
