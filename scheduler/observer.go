package scheduler

import (
	"time"

	"github.com/cronce/cronce/internal/delivery"
)

// An Observer is notified of the events of a node: see Config.Observers. If it has a method
// Watch(*Node) error, New calls that with the node when all else is right, and returns its error.
type Observer interface {
	// Observe is called for one event after the other, in the order in which they
	// happened. No tick, run, renewal or other Observer waits for it.
	Observe(e Event)
}

// A watcher is an Observer that also asks its node, as metrics.Metrics does.
type watcher interface {
	Watch(n *Node) error
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
	// Outcome is how a run ended: ok, skipped, failed, panic, timeout, lost, replaced, interrupted.
	Outcome string
	// Reason is why a tick was skipped (overlap, superseded, paused) or missed (deadline,
	// misfire, lost).
	Reason string
	// Count is how many ticks were missed, how many jobs are not open, or for how many runs, claims
	// and ends a drain waits.
	Count int
	// Offset is how far this machine's clock is ahead of the store's, or how far the store's
	// clock stepped.
	Offset time.Duration
	// Err says what failed, why a lease was lost, or what the risk is. It is cut to 2 KiB.
	Err string
	// Dropped is how many events before this one the Observer did not get, because it was
	// too slow for them, or did not take, because it panicked or ended its goroutine.
	Dropped int
}

// An EventKind is what happened. Each line of the log that is not debug has an event, and its
// message is the event's kind. Lines about the log and the Observers themselves have none.
type EventKind string

// The kinds of events. A run has one EventRunStarted and one EventRunFinished, on the node
// that it runs on; an Attempt above 1 is a takeover, or follows a drain. A tick that did not
// run has its event on the node that settled it.
const (
	EventNodeStarted  EventKind = "node started"
	EventNodeDraining EventKind = "node draining"
	EventDrainWaits   EventKind = "drain waits"  // for Count runs, claims in doubt, and ends that the store has not answered
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
	EventJobRetired       EventKind = "job retired"  // by this node: no node has it any more, for a Reason
	EventSpecsDiffer      EventKind = "specs differ" // another node has another spec of the job

	EventClockOffset   EventKind = "clock offset"   // this machine's clock is off by more than Config.ClockWarn
	EventClockUnsteady EventKind = "clock unsteady" // readings of the store's clock do not agree
	EventClockStepped  EventKind = "clock stepped"  // that of the store
)

// maxEvents bounds how many events wait for each Observer: about 4 MiB.
const maxEvents = 16_384

// An observation delivers events to one Observer.
type observation struct {
	to       Observer
	queue    *delivery.Queue[Event]
	reported int64 // how many lost events it was notified of
}

func newObservation(to Observer, panicked func(v any)) *observation {
	o := &observation{to: to}
	o.queue = delivery.New(maxEvents, 0, o.deliver, panicked)
	return o
}

// deliver calls the Observer with an event before which so many were lost since New.
func (o *observation) deliver(e Event, lost int64) bool {
	e.Dropped = int(lost - o.reported)
	o.to.Observe(e)
	o.reported = lost
	return true
}
