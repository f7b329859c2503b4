// Package claims decides which ticks a node claims, when it claims them, and how it reacts to each
// answer of the store.
//
// A tick that is due becomes a [Pending] claim, which lives until the store has returned the
// verdict of the tick. Meanwhile it is in one of these places:
//
//	timetable ── due ──┬─ deferred: first to another node, peeked at a moment later
//	                   ▼
//	 local queue ── admitted ── sent ── answered ── decide ──┬─ a run starts
//	 (no free slot)    ▲                                     ├─ it has its verdict
//	 parked            │                                     │
//	 (an end, or older ├──────── retry queue ────────────────┤
//	 claims, have no   │         (by instant: doubt, held,   │
//	 answer)           │          early, gap, takeover)      │
//	                   └──────── probe: a run of another ────┘
//	                             node, when its lease is over
//
// The pure function decide chooses the reaction to an answer, and [Claims] applies it. The package
// only holds state: time is an argument, in Unix milliseconds of the cluster clock. It sends
// nothing to the store, logs nothing and calls no user code. [Effects] collects the actions that
// the caller must do. Nothing in the package is safe for concurrent use.
package claims
