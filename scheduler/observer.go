package scheduler

import (
	"time"

	"github.com/cronce/cronce/internal/delivery"
)

// An Observer is notified of the events of a node: see Config.Observers. If it has a method
// Watch(*Node) error, New calls it with the node after all other checks, and returns its error.
type Observer interface {
	// Observe is called for one event at a time, in the order in which the events happened. No
	// tick, run, renewal or other Observer waits for it.
	Observe(e Event)
}

// A watcher is an Observer that also reads from its node, as metrics.Metrics does.
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
	// At is the time of the event, on this machine's clock.
	At time.Time
	// Node is the ID of the node.
	Node string
	// Job is empty in events of the node, the store and the clock.
	Job string
	// Tick is in UTC. For an event about several ticks, it is the last of them.
	Tick time.Time
	// For is the earlier tick whose work a run of a backfill does, in UTC. Tick is then the run's own
	// instant. It is zero in events of other runs.
	For time.Time
	// Attempt, from 1, and Fence belong to the run.
	Attempt int
	Fence   int64
	// Shard is the index of the shard that a run is, and Shards how many its tick has; Shards is 0 if the tick is
	// not divided. Of EventTickFinished: how many there are.
	Shard, Shards int
	// Late is how long after its tick a run started, on the store's clock.
	Late time.Duration
	// Took is how long a run's function ran, including repeats on error. Of EventTickFinished: the time
	// from the first grant of the tick to its end.
	Took time.Duration
	// Left is how long the lease of a run can still be trusted.
	Left time.Duration
	// Outcome is how a run ended: ok, skipped, failed, panic, timeout, lost, replaced, interrupted, cancelled.
	Outcome string
	// Reason is why a tick was skipped (overlap, superseded, paused, operator) or missed (deadline,
	// misfire, lost, respecified), the topic of an EventStoreRisk, or why a job was retired.
	Reason string
	// Count is the number of missed ticks, of jobs that are not open, or of the runs, claims and
	// ends that a drain waits for.
	Count int
	// Offset is how far this machine's clock is ahead of the store's, or how far the store's
	// clock stepped.
	Offset time.Duration
	// Err is the failure, the reason why a lease was lost, or the risk. It is cut to 4 KiB.
	Err string
	// Dropped is the number of events before this one that the Observer missed, because it was too
	// slow, panicked or ended its goroutine.
	Dropped int
}

// An EventKind is the kind of an event. Each log line above level debug has an event whose kind is
// the message of the line. The line "run panicked", which comes before its "run finished", the lines of
// [Run.Logger], and lines about the log and the Observers themselves have no event.
type EventKind string

// The kinds of events. A run has one EventRunStarted and one EventRunFinished, on the node that
// runs it. An Attempt above 1 follows a takeover or a drain. A tick that did not run has its event
// on the node that settled it.
const (
	EventNodeStarted  EventKind = "node started"
	EventNodeDraining EventKind = "node draining"
	EventDrainWaits   EventKind = "drain waits"  // the drain waits for Count runs, claims in doubt, and ends that the store has not answered
	EventNodeStopped  EventKind = "node stopped" // the last event

	EventRunStarted     EventKind = "run started"
	EventTryFailed      EventKind = "try failed" // the run goes on, because the job has a Retry
	EventRunFinished    EventKind = "run finished"
	EventRenewalLate    EventKind = "renewal late"            // the run's context ends in Left, unless a renewal is answered
	EventLeaseLost      EventKind = "lease lost"              // the run's context has ended
	EventIgnoresContext EventKind = "run ignores its context" // its context ended CancelGrace ago

	EventTickSkipped  EventKind = "tick skipped"  // with its Reason
	EventTickMissed   EventKind = "tick missed"   // Count ticks, with their Reason
	EventTickFinished EventKind = "tick finished" // the last of its Shards ended, or was given up; Outcome ok, failed, lost or cancelled

	EventUnreplicated     EventKind = "claim not replicated" // too few replicas have confirmed the claim
	EventStoreUnreachable EventKind = "store unreachable"    // repeated each minute while a part of the store fails
	EventStoreBack        EventKind = "store back"
	EventStoreForgot      EventKind = "store forgot"  // the store has lost decisions that it had recorded
	EventStoreRisk        EventKind = "store risk"    // a tick could run twice on this store
	EventMarkAhead        EventKind = "mark ahead"    // the job does not run: its mark is in the future
	EventFenceAhead       EventKind = "fence ahead"   // the job does not run: its fence is in the future
	EventJobsNotOpen      EventKind = "jobs not open" // the store cannot open Count jobs
	EventJobsOpen         EventKind = "jobs open"
	EventJobRetired       EventKind = "job retired"  // this node retired the job, because no node has it any more or for another Reason
	EventSpecsDiffer      EventKind = "specs differ" // another node has another spec of the job

	EventClockOffset   EventKind = "clock offset"   // this machine's clock is off by more than Config.ClockWarn
	EventClockUnsteady EventKind = "clock unsteady" // readings of the store's clock do not agree
	EventClockStepped  EventKind = "clock stepped"  // the clock of the store
)

// maxEvents bounds the number of events that wait for each Observer: about 4 MiB.
const maxEvents = 16_384

// An observation delivers events to one Observer.
type observation struct {
	to       Observer
	queue    *delivery.Queue[Event]
	reported int64 // the lost events that were reported to it
}

func newObservation(to Observer, panicked func(v any)) *observation {
	o := &observation{to: to}
	o.queue = delivery.New(maxEvents, 0, o.deliver, panicked)
	return o
}

// deliver calls the Observer with an event; lost is the number of events lost since New.
func (o *observation) deliver(e Event, lost int64) bool {
	e.Dropped = int(lost - o.reported)
	o.to.Observe(e)
	o.reported = lost
	return true
}
