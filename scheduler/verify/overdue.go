package verify

import (
	"math"
	"time"

	"github.com/cronce/cronce/lock/driver"
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
	mark := p.decided()
	if s := p.options.State; s != nil {
		p.left(s)
	}
	if s := p.options.State; s != nil && s.Paused {
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

// undecided sorts the ticks after the mark that are past their deadline: some wait
// for a run that is alive, the others are overdue.
func (p *proof) undecided(mark int64) {
	var found Overdue
	waits := p.waits()
	for _, r := range p.revisions.all {
		after, through := max(mark, p.after, r.First), min(p.through, r.until)
		for ms := r.schedule.NextMilli(after); ms != 0 && ms <= through && p.spend(); ms = r.schedule.NextMilli(ms) {
			deadline := ms + r.policies.Within(r.schedule.Interval(ms)).Milliseconds()
			switch {
			case p.now-deadline <= p.grace() || p.revisions.named(r, ms, mark):
			case p.runs[ms] != nil: // granted by a line that is ahead, and counted with the runs
			case waits(r, ms):
				p.report.Waiting++
			default:
				found.add(ms, deadline)
			}
		}
	}
	if found.Ticks > 0 {
		p.report.Overdue += found.Ticks
		p.report.Late = append(p.report.Late, found)
	}
}

// add counts one more tick of a range.
func (o *Overdue) add(ms, deadline int64) {
	at, since := time.UnixMilli(ms).UTC(), time.UnixMilli(deadline).UTC()
	o.State = "undecided"
	if o.Ticks++; o.Ticks == 1 {
		o.Tick, o.Since = at, since
		return
	}
	if at.Before(o.Tick) {
		o.Tick = at
	}
	if at.After(o.Last) {
		o.Last = at
	}
	if since.Before(o.Since) {
		o.Since = since
	}
}

// waits returns which ticks after the mark may wait for a run that is alive: those of
// a backlog, which runs in order, and one that was due before the run was granted.
// Every other tick has its verdict as soon as it is asked for. Between two runs of a
// backlog nothing is alive for a moment.
func (p *proof) waits() func(r *revision, tick int64) bool {
	alive, granted := p.alive()
	working := alive || p.now-p.latest < p.grace()
	return func(r *revision, tick int64) bool {
		if r.policies.Misfire == policy.All && r.policies.Overlap != policy.Allow {
			return working
		}
		return alive && r.policies.Overlap != policy.Allow && tick < granted
	}
}

// alive reports whether a run is alive, and when the latest of them was granted. The
// store says; without its answer a run without an end is taken for alive. No tick waits
// for a run that was granted beyond the store's clock.
func (p *proof) alive() (alive bool, granted int64) {
	if s := p.options.State; s != nil {
		for i := range s.Runs {
			if r := &s.Runs[i]; r.State == driver.RunOpen && p.now < r.Until && !p.beyond(r.Granted) {
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

// left finds the runs that are over and that no node has taken over or settled. In a
// pause nothing is taken over: there they are lost, and the end of the pause records
// it.
func (p *proof) left(s *driver.Series) {
	alive, _ := p.alive()
	for i := range s.Runs {
		r := &s.Runs[i]
		over, state := r.Until, open
		switch r.State {
		case driver.RunOpen:
			if p.now < r.Until {
				continue
			}
		case driver.RunGivenBack:
			over, state = max(over, p.latest), givenBack
		case driver.RunUnstarted:
			over, state = max(over, p.latest), unstarted
		case driver.RunWaiting:
			if alive {
				continue
			}
			over, state = max(r.Number, p.lastLease(s), p.latest), waiting
		default:
			continue
		}
		if s.PausedAt(p.now) {
			p.leave(r, lost)
		} else if p.now-over > p.grace() {
			p.leave(r, overdue)
			p.report.Late = append(p.report.Late, Overdue{
				Tick: time.UnixMilli(r.Number).UTC(), Ticks: 1, Since: time.UnixMilli(over).UTC(),
				State: state.String(), Node: driver.NodeOf(r.Owner), Fence: r.Fence,
			})
		}
	}
}

// lastLease is the latest deadline of the runs of a series.
func (p *proof) lastLease(s *driver.Series) (until int64) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.State == driver.RunOpen {
			until = max(until, r.Until)
		}
	}
	return until
}

// leave sets what became of a run that was left. A tick from before the proof, or from before
// what was asked for, is not counted, unless it is overdue: Late names it, and the counts say the same.
func (p *proof) leave(r *driver.Run, to state) {
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
	if p.work++; p.work > maxTicks && !p.spent {
		p.spent = true
		p.fault("more than %d ticks lie in the range of the journal: the rest is not counted", maxTicks)
	}
	return !p.spent
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

// named reports whether a revision before r, in the list, has the tick too.
func (rs *revisions) named(r *revision, ms, mark int64) bool {
	for _, o := range rs.all {
		if o == r {
			return false
		}
		if max(mark, o.First) < ms && ms <= o.until && o.names(ms) {
			return true
		}
	}
	return false
}
