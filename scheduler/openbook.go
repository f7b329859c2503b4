package scheduler

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/health"
)

// A pending is a job that could not be opened: when it is tried again, and why it
// failed.
type pending struct {
	e     *entry
	tries int
	at    time.Time
	err   error
	place int // in the order
}

// An openBook is what is to be opened. However many cannot be, a look costs no more than
// what it takes. Guarded by the node's mutex.
type openBook struct {
	fresh   []*entry            // not tried yet, or forgotten by the store
	trying  int                 // how many of those were taken and may not have been tried
	pending map[*entry]*pending // tried, and to be tried again
	order   byTime              // of the same
	told    time.Time           // when the log had those last; zero: not
}

const (
	openPause   = time.Second // before a job is tried again, doubling
	openLongest = time.Minute
	openRetries = 4 * sendMax // how many are tried again at a time
)

// askOpen lets a job be opened soon, unless it waits for another try.
func (b *openBook) askOpen(e *entry) {
	if _, waits := b.pending[e]; !waits {
		b.fresh = append(b.fresh, e)
	}
}

// putOff lets jobs that were taken, and not tried, be taken again: first, if they were not tried before,
// else as they were.
func (b *openBook) putOff(es []*entry) {
	for _, e := range es {
		b.askOpen(e)
	}
}

// left reports whether jobs are still to be opened.
func (b *openBook) left() bool { return len(b.fresh)+len(b.order) > 0 }

// take returns what is to be opened now: what was not tried yet, then what has waited
// for longest. What failed does not come before its pause is over, so that however many
// fail, the others are opened.
func (b *openBook) take(now time.Time) []*entry {
	es := b.fresh
	b.fresh, b.trying = nil, len(b.fresh)
	var again []*pending
	for len(b.order) > 0 && len(again) < openRetries && !b.order[0].at.After(now) {
		p := heap.Pop(&b.order).(*pending)
		again = append(again, p)
		es = append(es, p.e)
	}
	for _, p := range again {
		heap.Push(&b.order, p) // until it is known to be open
	}
	return es
}

// failed lets a job be tried again after a pause.
func (b *openBook) failed(e *entry, err error, now time.Time) {
	p := b.pending[e]
	if p == nil {
		if b.pending == nil {
			b.pending = map[*entry]*pending{}
		}
		p = &pending{e: e, at: now}
		b.pending[e] = p
		heap.Push(&b.order, p)
	}
	p.at, p.err = now.Add(min(openPause<<min(p.tries, 10), openLongest)), err
	p.tries++
	heap.Fix(&b.order, p.place)
}

// done forgets a job that is open.
func (b *openBook) done(e *entry) {
	if p := b.pending[e]; p != nil {
		delete(b.pending, e)
		heap.Remove(&b.order, p.place)
	}
}

// some returns as many of those that cannot be opened as are named, by name: of few, all.
func (b *openBook) some() []pending {
	var some []pending
	for _, p := range b.order[:min(len(b.order), health.MostListed)] {
		some = append(some, *p)
	}
	slices.SortFunc(some, func(x, y pending) int { return cmp.Compare(x.e.Name, y.e.Name) })
	return some
}

// byTime is a heap of what is pending, by when it is tried again.
type byTime []*pending

func (h byTime) Len() int { return len(h) }

func (h byTime) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].e.Name, h[j].e.Name)) < 0
}

func (h byTime) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *byTime) Push(x any) {
	p := x.(*pending)
	p.place = len(*h)
	*h = append(*h, p)
}

func (h *byTime) Pop() any {
	old := *h
	last := len(old) - 1
	p := old[last]
	old[last], *h = nil, old[:last]
	return p
}
