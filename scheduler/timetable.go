package scheduler

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/spec"
)

// An entry is a registered job. There may be hundreds of thousands, so it is
// small; what belongs to a tick in progress lives in asks and runs.
type entry struct {
	name  string
	fn    Func
	spec  *spec.Schedule
	rules *rules
	hash  uint64 // of the name
	shard uint16 // of the store
	open  bool   // the store has told of it; guarded by the node's mutex

	unsure uint8 // asks of it whose requests were not answered; guarded by the node's mutex

	ending atomic.Int32 // runs of this node whose functions have returned, and whose ends the store has not answered

	// Guarded by the node's mutex.
	prev, next int64 // the tick handed out last, the tick that comes next; Unix ms
	mark       int64 // the highest mark seen
	since      int64 // when the store saw this spec's revision first
	latest     *ask  // of tick prev, while it has no verdict
	link       *ask  // of the next missed tick, while missed ticks run one after the other
}

// A timetable is a heap of entries by the instant their next tick is due. Entries
// of one instant come in the order in which they were pushed first: what a job has
// here and in the store then lies beside what was looked at just before. Its
// methods cost O(log n). It is not safe for concurrent use.
type timetable struct {
	slots  []due
	pushed uint32
}

// due is an entry's place in the heap; what it is compared by is kept beside the
// pointer so that sifting touches no entry.
type due struct {
	at int64
	no uint32 // of the push
	e  *entry
}

func (d *due) before(other *due) bool {
	return d.at < other.at || d.at == other.at && d.no < other.no
}

// never is the instant of an entry whose spec has no tick left, as one that names
// years. It comes last.
const never = math.MaxInt64

// top returns the instant of the earliest entry, or 0 if none is ever due.
func (t *timetable) top() int64 {
	if len(t.slots) == 0 || t.slots[0].at == never {
		return 0
	}
	return t.slots[0].at
}

// push adds an entry; at 0 it is never due.
func (t *timetable) push(e *entry, at int64) {
	t.slots = append(t.slots, due{cmp.Or(at, never), t.pushed, e})
	t.pushed++
	t.up(len(t.slots) - 1)
}

// reset moves the earliest entry to a later instant; at 0 takes it out.
func (t *timetable) reset(at int64) {
	if at != 0 {
		t.slots[0].at = at
		t.down(0)
		return
	}
	last := len(t.slots) - 1
	t.slots[0] = t.slots[last]
	t.slots[last] = due{}
	t.slots = t.slots[:last]
	if last > 0 {
		t.down(0)
	}
}

// resetAll moves every entry to another instant; at 0 it is never due.
func (t *timetable) resetAll(at func(*entry) int64) {
	for i := range t.slots {
		t.slots[i].at = cmp.Or(at(t.slots[i].e), never)
	}
	for i := range slices.Backward(t.slots) {
		t.down(i)
	}
}

// arity of the heap: a wider node means fewer levels, and its children lie side by
// side.
const arity = 4

func (t *timetable) up(i int) {
	moving := t.slots[i]
	for i > 0 {
		parent := (i - 1) / arity
		if !moving.before(&t.slots[parent]) {
			break
		}
		t.slots[i] = t.slots[parent]
		i = parent
	}
	t.slots[i] = moving
}

func (t *timetable) down(i int) {
	moving := t.slots[i]
	for {
		first := i*arity + 1
		if first >= len(t.slots) {
			break
		}
		least := first
		for c := first + 1; c < min(first+arity, len(t.slots)); c++ {
			if t.slots[c].before(&t.slots[least]) {
				least = c
			}
		}
		if !t.slots[least].before(&moving) {
			break
		}
		t.slots[i] = t.slots[least]
		i = least
	}
	t.slots[i] = moving
}

// dueAt is when a tick is to be claimed: its instant plus the jitter, which is a
// hash of job and tick and so the same on all nodes. It is before the next tick, also
// where that is closer than the jitter: a tick that came after it would be missed.
func (e *entry) dueAt(tick int64) int64 {
	if e.rules.jitter == 0 || tick == 0 {
		return tick
	}
	most := e.rules.jitter.Milliseconds()
	if next := e.spec.NextMilli(tick); next != 0 {
		most = min(most, next-tick-1)
	}
	return tick + int64(rendezvous.Mix(e.hash^rendezvous.Mix(uint64(tick)))%uint64(most+1))
}

// advance hands out the latest tick that is due at ms and arms the one after it.
// Ticks between the last one handed out and this one are found by the store as a
// gap. It reports false if nothing is due.
func (e *entry) advance(ms int64) (tick, after int64, ok bool) {
	tick, after = e.next, e.prev
	next := e.spec.NextMilli(tick)
	if next != 0 && e.dueAt(next) <= ms { // woken late: go straight to the latest
		tick = e.dueLast(ms)
		after = e.spec.PrevMilli(tick - 1)
		next = e.spec.NextMilli(tick)
	}
	if tick <= e.prev {
		return 0, 0, false
	}
	e.prev, e.next = tick, next
	return tick, after, true
}

// start sets an entry to the ticks around ms: what is due after it will be
// handed out. A tick whose jitter is not over at ms is still to come.
func (e *entry) start(ms int64) {
	e.prev = e.dueLast(ms)
	e.next = e.spec.NextMilli(e.prev) // after 0 it is the first of a spec that names years
}

// dueLast returns the latest tick that is due at ms, its jitter included, or 0.
func (e *entry) dueLast(ms int64) int64 {
	tick := e.spec.PrevMilli(ms)
	if tick != 0 && e.dueAt(tick) > ms {
		tick = e.spec.PrevMilli(tick - 1)
	}
	return tick
}

// interval is the distance from a tick to the one after it; 0 if there is none.
func (e *entry) interval(tick int64) time.Duration {
	if tick == e.prev && e.next != 0 {
		return time.Duration(e.next-e.prev) * time.Millisecond
	}
	return e.spec.Interval(tick)
}
