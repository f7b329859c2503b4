// Package scheduler runs jobs on a cluster of identical nodes: every node has the same jobs, and
// for each tick one of the nodes runs the job's function.
//
// # The promise
//
// Every tick of every job gets one recorded verdict: the tick ran, or it did not run, with the
// reason. At most one node starts a tick, regardless of the clocks of the nodes and of lost,
// repeated or delayed replies, while the store keeps its data. If that node dies, the job's
// [Takeover] decides whether the tick is lost or runs again with a higher fence. A run's context
// ends before another node can be granted its tick, or, unless [OverlapAllow], another tick of its
// job.
//
// # The limits
//
// The scheduler cannot promise exactly one side effect. A process that was stopped and continues
// still runs for a moment after it lost its right to run. Therefore pass [Run].Fence to any
// resource that can refuse a lower fence, call [Run.Check] right before an action that cannot be
// undone, and use [Run].ID as the idempotency key for other systems. A store that loses
// acknowledged writes, as a failover can, may grant a tick again; the fence still grows.
//
// # How a tick runs
//
// A [Node] computes the ticks of all its jobs from their specs, on the store's clock; its own clock
// has no influence. When a tick is due, the node claims it from the [Store], which decides in one
// atomic step: granted, or settled with a reason. If replies take a while, the node sends the claim
// up to 10 ms before the tick; a granted run still waits for its tick. While more than 256 ticks of
// a node are on their way to a start, the ends of its runs wait for them, for up to 250 ms. A hash
// decides which node is first for a tick. The other nodes wait a moment before they claim it, which
// spreads the work. There is no leader, and correctness needs no list of nodes.
//
//	due ── claim ──┬─ granted ── run ──┬─ ended: ok, failed, panic, timeout, replaced
//	   ▲           ├─ passed: another  ├─ interrupted by a drain: run again, or ended
//	   │           │  node has it      └─ lost with its lease or node: taken over, or lost
//	   │           └─ skipped, superseded, missed, paused
//	   └── doubt: no answer of the store; asked again by the same owner
//
// Doubt is never taken for an answer. Without an answer nothing runs, and a claim whose reply was
// lost is repeated until the node knows whether it was granted.
//
// # When something fails
//
// A node first checks whether its store can keep the promise. If it cannot, for example a Redis
// that evicts keys or a client that repeats requests, [Node.Run] returns at once. A mere risk is
// logged.
//
// While the store cannot be reached nothing starts, and runs end when their leases can no longer be
// trusted. When the store is back, the job's [Misfire] decides about the ticks that passed. A tick
// whose first attempt cannot start before its deadline is missed. A node that drains ([Node.Run])
// lets its runs continue until its grace is over. Every verdict is a line in the job's journal, and
// package [github.com/cronce/cronce/scheduler/verify] checks the journal.
//
// # Logs and events
//
// A run has one line when it starts and one when it ends, on the winning node only. The messages
// and keys are constant. A tick that another node won is logged at level debug. An [Observer] gets
// the lines above level debug as typed events (see [EventKind]); package [github.com/cronce/cronce/scheduler/metrics] counts them
// for Prometheus.
package scheduler
