// Package health records which parts of the store answer. Time is an argument.
package health

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A Kind is a kind of request. A store may answer one kind and not another: a Redis at maxmemory
// answers heartbeats and refuses claims.
type Kind uint8

// Kinds of requests.
const (
	Claims Kind = iota
	Peeks
	Openings
	Ends
	Nodes // the list of nodes, which is in the first partition
	Check // the check of the whole store when a node starts
)

var kinds = [...]string{"claims", "peeks at ticks", "openings of jobs", "ends of runs", "the list of nodes", "the check of the store"}

// A Part is a part of the store that may fail or answer independently of the others.
type Part struct {
	Partition int
	Kind      Kind
}

// A Fault is a part that is down, with the error.
type Fault struct {
	Part
	Err error
}

// A failure is the state of a part that failed.
type failure struct {
	err      error
	last     time.Time // the latest failure
	answered bool      // it was answered since then
	hinted   bool      // claims were answered since the latest failure
	refused  bool      // the user has no permission for this kind of request
}

// Health records which parts of the store this node can use. A part is down from its first failure
// until it has answered for a while without another: a store that answers every other request
// counts as down all the time. Health is safe for concurrent use.
type Health struct {
	partitions int
	explainer  driver.Explainer // nil: the store is no Explainer
	refuser    driver.Refuser   // nil: the store is no Refuser
	reached    atomic.Int64     // the latest answer, in nanoseconds since began
	began      time.Time

	mu       sync.Mutex
	parts    map[Part]*failure
	reported time.Time // when Report last returned parts that are down; zero: the log has no such part
}

const (
	calm  = 3 * time.Second  // time without a failure after which an answering part counts as up
	stale = 30 * time.Second // age at which a failure no longer counts, if its partition answers

	// Reminder is the time between two log lines about the same fault.
	Reminder = time.Minute
)

// New returns the Health of a store with this number of partitions. All parts are up. A driver.Explainer
// explains its errors, and a driver.Refuser distinguishes refusals from outages.
func New(store any, partitions int, now time.Time) *Health {
	explainer, _ := store.(driver.Explainer)
	refuser, _ := store.(driver.Refuser)
	return &Health{partitions: partitions, explainer: explainer, refuser: refuser, began: now, parts: map[Part]*failure{}}
}

// Silence returns the time since the store last answered.
func (h *Health) Silence(now time.Time) time.Duration {
	return now.Sub(h.began) - time.Duration(h.reached.Load())
}

// Answered records the answer of a part, or its failure if err is not nil. It reports whether the
// caller should read the list of nodes before its time, because the list failed some time ago and
// claims are answered in its partition.
func (h *Health) Answered(p Part, err error, now time.Time) (list bool) {
	if err == nil {
		h.reached.Store(int64(now.Sub(h.began)))
	}
	refused := err != nil && h.refuser != nil && h.refuser.Refuses(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.parts[p] = &failure{err: err, last: now, refused: refused}
		return false
	}
	for of, f := range h.parts {
		switch {
		case of.Partition != p.Partition || f.answered:
		case of == p, of.Kind == Check, p.Kind == Claims && of.Kind != Nodes && of.Kind != Ends && !f.refused, now.Sub(f.last) > stale:
			f.answered = true // an answered claim proves that peeks and openings are answered too, but not that they are permitted
		case p.Kind == Claims && of.Kind == Nodes && now.Sub(f.last) >= calm && !f.hinted:
			f.hinted, list = true, true
		}
	}
	return list
}

// up reports whether a part that failed is up again.
func (f *failure) up(now time.Time) bool { return f.answered && now.Sub(f.last) >= calm }

// Report forgets the parts that are up again and returns the state that is due in the log: the
// parts that are down, at first and then once per Reminder, or that all are back.
func (h *Health) Report(now time.Time) (down []Fault, back bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.parts, func(_ Part, f *failure) bool { return f.up(now) })
	switch {
	case len(h.parts) == 0 && !h.reported.IsZero():
		h.reported = time.Time{}
		return nil, true
	case len(h.parts) == 0 || now.Sub(h.reported) < Reminder:
		return nil, false
	}
	h.reported = now
	return h.down(now), false
}

// Down returns the parts that are down.
func (h *Health) Down(now time.Time) []Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down(now)
}

// down is Down. The caller holds the mutex.
func (h *Health) down(now time.Time) (all []Fault) {
	for p, f := range h.parts {
		if !f.up(now) {
			all = append(all, Fault{p, f.err})
		}
	}
	slices.SortFunc(all, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
