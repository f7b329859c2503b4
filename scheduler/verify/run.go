package verify

import (
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// A state is the state of a tick that was granted or waits.
type state uint8

const (
	unseen    state = iota // its earlier lines are gone: any line may follow
	open                   // granted; alive, or past its deadline
	waiting                // decided to run after another tick
	unstarted              // granted and never started
	givenBack              // interrupted: may run again, or is done if the job does not allow that
	done
	lost
	missed
	superseded
	paused
	forgotten // left without an end
	overdue   // over, and left for too long
	states    // the number of states
)

var stateNames = [states]string{"unseen", "open", "waiting", "unstarted", "interrupted", "done",
	"lost", "missed", "superseded", "paused", "forgotten", "overdue"}

func (s state) String() string { return stateNames[s] }

// A run is a tick that was granted or waits, according to the lines read so far.
type run struct {
	tick    int64
	state   state
	attempt int // number of counted attempts; an attempt that never started does not count
	fence   int64
	granted int64 // when the latest attempt was granted, on the store's clock
	node    string
	outcome string
	reason  string
	again   bool // granted again without permission
	shards  int  // how many shards it was opened with; 0: none, or its opening is not known

	cancelled int64 // the number of the change that cancelled it; 0: none did
	unasked   bool  // it is manual, and its request is gone with older lines
}

// run returns the run of a tick. If there is none it makes one in the state unseen.
func (p *proof) run(tick int64) (r *run, known bool) {
	if r = p.runs[tick]; r != nil {
		return r, true
	}
	r = &run{tick: tick, unasked: !p.complete() && spec.Manual(tick)}
	p.runs[tick] = r
	p.states[unseen]++
	return r, false
}

func (p *proof) set(r *run, s state) {
	p.states[r.state]--
	r.state = s
	p.states[s]++
}

// start reads a first attempt.
func (p *proof) start(l *series.Line) {
	r, twice := p.run(l.To)
	r.again = r.again || twice && r.state != waiting // follow has reported this already
	if l.Attempt != 1 {
		p.violate("I1", l.To, "begins with attempt %d", l.Attempt)
	}
	if p.states[open] > 0 && !twice && !p.precedes(l) {
		p.overlapped(l)
	}
	p.grant(r, l)
}

// overlapped reads a tick that starts while an earlier run is open.
func (p *proof) overlapped(l *series.Line) {
	if p.counted(l.To) {
		p.report.Overlapped++
	}
	if p.options.Exclusive {
		p.violate("I3", l.To, "granted to %s while an earlier run has neither ended nor been settled", l.Node)
	}
}

// wait reads a tick that waits for the end of another tick's run.
func (p *proof) wait(l *series.Line) {
	p.fences(l)
	if r, twice := p.run(l.To); !twice {
		r.fence, r.node = l.Fence, l.Node
		p.set(r, waiting)
	}
}

// grant records an attempt, with its end if the same line has it.
func (p *proof) grant(r *run, l *series.Line) {
	p.fences(l)
	if r.cancelled != 0 {
		p.violate("I12", l.To, "attempt %d is granted to %s after change %d, which cancelled the run", l.Attempt, l.Node, r.cancelled)
	}
	r.fence, r.attempt, r.granted, r.node, r.outcome, r.shards = l.Fence, l.Attempt, l.At, l.Node, "", l.Shards
	p.set(r, open)
	if l.Outcome != "" {
		p.finish(r, l)
	}
}

// fences checks that the fence of a grant is above all earlier fences, also the fences of shards.
func (p *proof) fences(l *series.Line) {
	if l.Fence <= p.fence {
		p.violate("I2", l.To, "fence %d is not above %d, which was granted before", l.Fence, p.fence)
	}
	if l.Fence <= p.shardFence {
		p.violate("S4", l.To, "fence %d is not above %d, which a shard of an earlier tick was granted", l.Fence, p.shardFence)
	}
	p.fence = max(p.fence, l.Fence)
}

// finish records the end of an attempt.
func (p *proof) finish(r *run, l *series.Line) {
	r.outcome = l.Outcome
	p.summed(r, l)
	switch l.Outcome {
	case series.OutcomeUnstarted:
		r.attempt--
		p.set(r, unstarted)
		p.tick(r, &p.report.Unstarted)
	case series.OutcomeInterrupted:
		p.set(r, givenBack)
		p.tick(r, &p.report.GivenBack)
	default:
		p.set(r, done)
	}
}

// tick increments n if the tick of the run is in the counted range.
func (p *proof) tick(r *run, n *int) {
	if p.counted(r.tick) {
		*n++
	}
}
