// Package scheduler runs jobs on a cluster of identical nodes: every node has the
// same jobs, and for each tick one of them runs the job's function.
//
// # What is promised
//
// For every job and every tick there is one recorded verdict: it ran, or it did
// not, with the reason. At most one node is started for a tick, whatever the
// clocks of the nodes, lost replies, retries and pauses, while the store keeps its
// data. If that node dies, the job's [Takeover] says whether the tick is lost or
// runs again with a higher fence. A run's context ends before another node can be
// granted its tick, or, unless [OverlapAllow], another tick of its job.
//
// # What is not
//
// Exactly one side effect. A process that was stopped and continues runs on for a
// moment without its right: give [Run].Fence to whatever can refuse a lower one,
// call [Run.Check] right before what cannot be taken back, and use [Run].ID as the
// idempotency key for the outside world. A store that loses what it had
// acknowledged, as a failover can, may grant a tick again; the fence still grows.
//
// # How a tick runs
//
// A [Node] computes the ticks of all its jobs from their specs, on the store's
// clock: its own clock has no say. When a tick is due it claims it from the
// [Store], which decides in one atomic step: granted, or settled with a reason. A
// claim is sent up to 10 ms before the tick if answers take a while; what is
// granted waits for the tick. While more than 256 ticks of a node are on their way
// to a start, the ends of its runs wait for them, 250 ms at most.
// Nodes that are not first for a tick by a hash leave it to the one that is for a
// moment, which spreads the work. There is no leader, and no list of nodes is
// needed to be right.
//
//	due ── claim ──┬─ granted ── run ──┬─ ended: ok, failed, panic, timeout, replaced
//	   ▲           ├─ passed: another  ├─ interrupted by a drain: run again, or ended
//	   │           │  node has it      └─ lost with its lease or node: taken over, or lost
//	   │           └─ skipped, superseded, missed, paused
//	   └── doubt: no answer of the store; asked again by the same owner
//
// Doubt is never taken for an answer: without one nothing runs, and a claim whose
// reply was lost is repeated until it is known whether it was granted.
//
// # When something fails
//
// A node asks its store first whether it is fit for what is promised. If it is not,
// as a Redis that evicts keys or a client that repeats requests, [Node.Run] returns
// at once; a risk is logged.
//
// While the store cannot be reached nothing starts, and runs end when their leases
// can no longer be trusted. When it is back, the ticks that passed go through the
// job's [Misfire]. A tick whose first attempt cannot start inside its deadline is
// missed. A node that drains ([Node.Run]) keeps what runs until its grace is over.
// Every verdict is a line in the job's journal, and package
// [github.com/cronce/cronce/scheduler/verify] checks it.
//
// # Logs and events
//
// One line when a run starts and one when it ends, on the winning node only; the
// messages and keys are constant. Losing a tick to another node is debug. An [Observer]
// gets all other lines as typed events; package
// [github.com/cronce/cronce/scheduler/metrics] counts them for Prometheus.
package scheduler
