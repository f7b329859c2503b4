// Package claims decides which ticks a node claims, when, and what follows from each answer
// of the store.
//
// A tick that is due becomes a [Pending] claim, which lives until the store has given the
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
// What an answer means is the pure function decide. [Claims] applies it. All is state: time
// is an argument, in Unix milliseconds of the cluster clock, nothing here asks the store,
// logs or calls the user's code, and nothing is safe for concurrent use. What must happen
// outside is collected in [Effects].
package claims
