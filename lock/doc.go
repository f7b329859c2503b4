// Package lock grants leases: the right to use a key until a deadline, with a
// fence, a number that grows with every grant.
//
// # Guarantees
//
// At most one owner holds a key at a time on the store's clock, or as many as all of
// them allow: [Options] have a limit, which makes semaphores and read-write locks.
// The context of a [Lease] ends before another owner can be granted its place, while
// the store's clock runs at our rate and this process can run. The fences of a key
// strictly increase. A request that was sent has three outcomes: granted, held (a [HeldError]), or
// unknown (any other error). Unknown never means that another owner has the key. An [ArgumentError], an
// [UpgradeError] and [ErrUnsupported] refuse a call before a request is sent.
//
// # Trust
//
// A Locker trusts a lease for a shorter time than the store keeps it:
//
//	d     = min(left, TTL)               left: the time left by the store's answer
//	trust = sent + d - max(50 ms, d/10)  sent: when the answered request was sent
//
// Sent is on the monotonic clock, so neither a delay on the way nor a step of the wall clock makes
// the trust longer. An answer moves the trust forward, never back. The margin is the time that a
// timer and a cancelled function need.
//
//	                     every TTL/3: renew
//	                   ┌────────────────────┐ answered: trust moves forward
//	        granted    ▼                    │ no answer: the next one is sent sooner
//	Acquire ────────▶ held ─────────────────┘
//	                   │ │
//	           Release │ │ now ≥ trust, or the store answers: lost, forced, handed over
//	                   ▼ ▼
//	             released lost
//
// In both final states the lease's context has ended: with [ErrReleased], or with a cause that is
// [ErrLost]. A fixed lease is not renewed; [Lease.Extend] moves its trust.
//
// # Limits
//
// A process that was stopped and continues (SIGSTOP, a long pause of the machine) runs on for a
// moment with a lease that is over. Nothing in this process can prevent that. The resource can, by
// rejecting a fence lower than the highest it has seen. Call [Lease.Check] right before an action
// that cannot be undone.
//
// # Layers
//
// A [driver.Driver] is a store: memlock, redislock, sqllock, zklock and redlock implement it, each
// in a package below this one. Callers use a [Locker]: it renews leases, decides when to stop
// trusting them, and repeats a request after doubt with the same owner, so that a lost reply is
// harmless. [Locker.Acquire] waits, in line, for a key that another owner has: a store that is a
// [driver.Waiter] keeps the line across processes, a [driver.Sharer] lets several owners hold a
// key, a [driver.MultiAcquirer] takes several keys in one step, for [Locker.AcquireAll], and a
// [driver.MultiRenewer] renews many leases with one request.
//
// A store may also decide numbers in series, each once: a cluster of schedulers needs this to run
// every tick on one node. Package lock/series defines it, and package lock/series/claimer claims the
// numbers.
package lock
