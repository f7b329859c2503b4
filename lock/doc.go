// Package lock grants leases: the right to use a key until a deadline, with a
// fence, a number that grows with every grant.
//
// # What is promised
//
// At most one owner has a key at a time on the store's clock, or as many as all of
// them allow: [Options] have a limit, which makes semaphores and read-write locks.
// The context of a [Lease] ends before anyone else can be granted its place, while
// the store's clock runs at our rate and this process can run. The fences of a key
// strictly increase. Doubt is an outcome of its own: an error that is neither
// [ErrLost] nor a [HeldError] never means that another owner has the key.
//
// # What is not
//
// A process that was stopped and continues (SIGSTOP, a long pause of the
// machine) runs on for a moment with a lease that is over. Nothing in this
// process can prevent that; the resource can, by refusing a fence lower than the
// highest it has seen. Call [Lease.Check] right before what cannot be taken back.
//
// # Layers
//
// A [driver.Driver] is a store: memlock, redislock, sqllock, zklock and redlock implement
// it, each in a package below this one. A [Locker] is what callers use: it renews leases,
// decides when to stop trusting them, and repeats a request after doubt with the same
// owner, so that a lost reply is harmless. [Locker.Acquire] waits, in line, for a key that
// another owner has: a store that is a [driver.Waiter] keeps the line across processes, a
// [driver.Sharer] lets several owners hold a key, and a [driver.MultiAcquirer] takes
// several keys in one step, for [Locker.AcquireAll].
//
// A [driver.Numbered] store also decides numbers in series, each once: what a cluster of
// schedulers needs to run every tick on one node. A [Claimer] asks for them.
package lock
