package timetable

import (
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
)

// An Entry is a job and its position in its ticks.
type Entry struct {
	*job.Job
	last, next int64 // the tick handed out last, and the next tick; 0: none
}

// A Tick is a tick that is due.
type Tick struct {
	Number int64 // its instant
	After  int64 // the tick before it
}

// Start sets the entry to the ticks around now: ticks that become due after now will be handed out.
// A tick whose jitter has not passed at now is still to come.
func (e *Entry) Start(now int64) {
	e.last = e.DueLast(now)
	e.next = e.Spec.NextMilli(e.last) // if last is 0, next is the first tick of a spec that names years
}

// Last returns the tick handed out last, or 0.
func (e *Entry) Last() int64 { return e.last }

// Next returns the next tick, or 0.
func (e *Entry) Next() int64 { return e.next }

// Due returns the time to claim the next tick; 0 if the spec has none left.
func (e *Entry) Due() int64 { return e.DueAt(e.next) }

// Advance hands out the latest tick that is due at now and arms the one after it. The store reports
// the ticks since the one handed out before as a gap. Advance returns ok false if nothing is due.
func (e *Entry) Advance(now int64) (t Tick, ok bool) {
	t = Tick{e.next, e.last}
	next := e.Spec.NextMilli(t.Number)
	if next != 0 && e.DueAt(next) <= now { // the node woke late: go straight to the latest tick
		t.Number = e.DueLast(now)
		t.After = e.Spec.PrevMilli(t.Number - 1)
		next = e.Spec.NextMilli(t.Number)
	}
	if t.Number <= e.last {
		return Tick{}, false
	}
	e.last, e.next = t.Number, next
	return t, true
}

// DueAt returns the time to claim a tick: its instant plus the jitter.
func (e *Entry) DueAt(tick int64) int64 {
	if e.Rules.Jitter() == 0 || tick == 0 {
		return tick
	}
	return e.Rules.Policy.DueAt(e.Name, tick, e.Spec.NextMilli(tick))
}

// DueLast returns the latest tick that is due at now, including its jitter, or 0.
func (e *Entry) DueLast(now int64) int64 {
	tick := e.Spec.PrevMilli(now)
	if e.DueAt(tick) > now {
		tick = e.Spec.PrevMilli(tick - 1)
	}
	return tick
}

// Interval returns the distance from a tick to the next one; 0 if there is none.
func (e *Entry) Interval(tick int64) time.Duration {
	if tick == e.last && e.next != 0 {
		return time.Duration(e.next-e.last) * time.Millisecond
	}
	return e.Spec.Interval(tick)
}
