package timetable

import (
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// An Entry is a job and how far its ticks were handed out.
type Entry struct {
	*job.Job
	last, next int64 // the tick handed out last, and the tick that comes next; 0: none
}

// A Tick is a tick that is due.
type Tick struct {
	Number int64 // its instant
	After  int64 // the tick before it
}

// Start sets the entry to the ticks around now: what is due after now will be handed out.
// A tick whose jitter is not over at now is still to come.
func (e *Entry) Start(now int64) {
	e.last = e.DueLast(now)
	e.next = e.Spec.NextMilli(e.last) // after 0 it is the first of a spec that names years
}

// Last returns the tick handed out last, or 0.
func (e *Entry) Last() int64 { return e.last }

// Next returns the tick that comes next, or 0.
func (e *Entry) Next() int64 { return e.next }

// Due returns when the next tick is to be claimed; 0: the spec has none left.
func (e *Entry) Due() int64 { return e.DueAt(e.next) }

// Advance hands out the latest tick that is due at now and arms the one after it. The
// store finds the ticks between the one handed out before and this one as a gap. Advance
// reports false if nothing is due.
func (e *Entry) Advance(now int64) (t Tick, ok bool) {
	t = Tick{e.next, e.last}
	next := e.Spec.NextMilli(t.Number)
	if next != 0 && e.DueAt(next) <= now { // woken late: go straight to the latest
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

// DueAt returns when a tick is to be claimed: its instant plus the jitter. The jitter is a
// hash of job and tick, so that all nodes compute the same. The result is before the next
// tick even where that is closer than the jitter: a tick that came after the next one would
// be missed.
func (e *Entry) DueAt(tick int64) int64 {
	if e.Rules.Jitter() == 0 || tick == 0 {
		return tick
	}
	most := e.Rules.Jitter().Milliseconds()
	if next := e.Spec.NextMilli(tick); next != 0 {
		most = min(most, next-tick-1)
	}
	return tick + int64(rendezvous.Mix(e.Hash^rendezvous.Mix(uint64(tick)))%uint64(most+1))
}

// DueLast returns the latest tick that is due at now, its jitter included, or 0.
func (e *Entry) DueLast(now int64) int64 {
	tick := e.Spec.PrevMilli(now)
	if tick != 0 && e.DueAt(tick) > now {
		tick = e.Spec.PrevMilli(tick - 1)
	}
	return tick
}

// Interval returns the distance from a tick to the one after it; 0 if there is none.
func (e *Entry) Interval(tick int64) time.Duration {
	if tick == e.last && e.next != 0 {
		return time.Duration(e.next-e.last) * time.Millisecond
	}
	return e.Spec.Interval(tick)
}
