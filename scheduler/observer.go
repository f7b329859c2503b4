package scheduler

import (
	"fmt"
	"sync"
	"time"

	"github.com/cronce/cronce/scheduler/internal/signal"
)

// An Observer is notified of the events of a node: see Config.Observer.
type Observer interface {
	// Observe is called by one goroutine of Node.Run, for one event after the other, in
	// the order in which they happened. No tick, run or renewal waits for it.
	Observe(e Event)
}

// An ObserverFunc is a function that is an Observer.
type ObserverFunc func(e Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// An Event is something that happened on a node. Fields that do not belong to its Kind are zero.
type Event struct {
	Kind EventKind
	// At is when it happened, on this machine's clock.
	At time.Time
	// Node is the ID of the node.
	Node string
	// Job is empty in events of the node, the store and the clock.
	Job string
	// Tick is in UTC. If the event is about several ticks, it is the last of them.
	Tick time.Time
	// Attempt, from 1, and Fence are those of the run.
	Attempt int
	Fence   int64
	// Late is how long after its tick a run started, on the store's clock.
	Late time.Duration
	// Took is for how long a run's function ran, repeats on error included.
	Took time.Duration
	// Left is for how long the lease of a run is still trusted.
	Left time.Duration
	// Outcome is how a run ended: ok, failed, panic, timeout, lost, replaced, interrupted.
	Outcome string
	// Reason is why a tick was skipped (overlap, superseded, paused) or missed (deadline,
	// misfire, lost).
	Reason string
	// Count is how many ticks were missed, or how many jobs are not open.
	Count int
	// Offset is how far this machine's clock is ahead of the store's, or how far the store's
	// clock stepped.
	Offset time.Duration
	// Err says what failed, why a lease was lost, or what the risk is. It is cut to 2 KiB.
	Err string
	// Dropped is how many events before this one were not delivered, because the Observer
	// was too slow for them.
	Dropped int
}

// An EventKind is what happened. Each line of the log that is not debug has an event, and its
// message is the event's kind.
type EventKind string

// The kinds of events. A run has one EventRunStarted and one EventRunFinished, on the node
// that it runs on; an Attempt above 1 is a takeover, or follows a drain. A tick that did not
// run has its event on the node that settled it.
const (
	EventNodeStarted  EventKind = "node started"
	EventNodeDraining EventKind = "node draining"
	EventNodeStopped  EventKind = "node stopped" // the last one

	EventRunStarted     EventKind = "run started"
	EventTryFailed      EventKind = "try failed" // the run goes on, because the job has a Retry
	EventRunFinished    EventKind = "run finished"
	EventRenewalLate    EventKind = "renewal late"            // the run's context ends in Left, unless a renewal is answered
	EventLeaseLost      EventKind = "lease lost"              // the run's context has ended
	EventIgnoresContext EventKind = "run ignores its context" // its context ended CancelGrace ago

	EventTickSkipped EventKind = "tick skipped" // with its Reason
	EventTickMissed  EventKind = "tick missed"  // Count ticks, with their Reason

	EventUnreplicated     EventKind = "claim not replicated" // too few replicas have confirmed it
	EventStoreUnreachable EventKind = "store unreachable"    // again each minute while a part of it fails
	EventStoreBack        EventKind = "store back"
	EventStoreForgot      EventKind = "store forgot"  // it has lost what it had decided
	EventStoreRisk        EventKind = "store risk"    // a tick could run twice on it
	EventMarkAhead        EventKind = "mark ahead"    // the job does not run: its mark is in the future
	EventFenceAhead       EventKind = "fence ahead"   // the job does not run: its fence is in the future
	EventJobsNotOpen      EventKind = "jobs not open" // the store cannot open Count jobs
	EventJobsOpen         EventKind = "jobs open"
	EventSpecsDiffer      EventKind = "specs differ" // another node has another spec of the job

	EventClockOffset   EventKind = "clock offset"   // this machine's clock is off by more than Config.ClockWarn
	EventClockUnsteady EventKind = "clock unsteady" // readings of the store's clock do not agree
	EventClockStepped  EventKind = "clock stepped"  // that of the store
)

// maxEvents bounds how many events wait for the Observer: about 4 MiB.
const maxEvents = 16_384

// An observation delivers events to an Observer.
type observation struct {
	to   Observer // nil: none, and no event is kept
	node string
	more signal.Signal // raised when there is an event, and at the end
	done chan struct{} // closed when the last event was delivered
	fail func(v any)   // called with what the Observer panicked with

	mu      sync.Mutex // not held while the Observer is called
	waiting []Event
	dropped int
	over    bool // no event is added any more
}

func newObservation(to Observer, node string, fail func(v any)) *observation {
	return &observation{to: to, node: node, more: signal.New(), done: make(chan struct{}), fail: fail}
}

// wanted reports whether there is an Observer, for callers to which an event costs something.
func (o *observation) wanted() bool { return o.to != nil }

// add queues an event. It does not wait for the Observer.
func (o *observation) add(e Event) {
	if o.to == nil {
		return
	}
	e.At, e.Node = time.Now(), o.node
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.over:
		return
	case len(o.waiting) >= maxEvents:
		o.dropped++
		return
	}
	e.Dropped, o.dropped = o.dropped, 0
	o.waiting = append(o.waiting, e)
	o.more.Raise()
}

// deliver calls the Observer until the end. An Observer that ends its goroutine is called on
// another from then on.
func (o *observation) deliver() {
	ended := false
	defer func() {
		if !ended {
			go o.deliver()
		}
	}()
	for range o.more {
		events, over := o.take()
		for _, e := range events {
			o.observe(e)
		}
		if over {
			break
		}
	}
	ended = true
	close(o.done)
}

// take returns the events that wait, and whether they are the last.
func (o *observation) take() (events []Event, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	events, o.waiting = o.waiting, nil
	return events, o.over
}

// observe calls the Observer with an event. A panic costs this event alone.
func (o *observation) observe(e Event) {
	defer func() {
		if v := recover(); v != nil {
			o.fail(v)
		}
	}()
	o.to.Observe(e)
}

// end delivers the events that wait, for up to limit, and returns an error if that is not
// enough.
func (o *observation) end(limit time.Duration) error {
	if o.to == nil {
		return nil
	}
	o.mu.Lock()
	o.over = true
	o.mu.Unlock()
	o.more.Raise()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-o.done:
		return nil
	case <-t.C:
		return fmt.Errorf("scheduler: the observer did not take the last events in %v", limit)
	}
}
