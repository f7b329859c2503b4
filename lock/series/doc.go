// Package series defines numbered leases, which run each tick of a cluster of schedulers
// once: the requests, answers and capabilities of a store, and the rules by which it
// decides numbers.
//
// A store of locks that carries a schedule implements [Numbered]. It declares further
// abilities by also implementing [Peeker], [GroupPeeker], [Controlled], [Journaled], [OutputKeeper],
// [Membership], [RunNotifier], [Changes], [Partitioned], [Sharder] or [Local]. The package lock/locktest tests
// all of them.
//
// # Rules
//
// The rules are pure code. A store that can change a record in one atomic step keeps a
// [State] per key and applies its methods. The Redis scripts are the same rules in Lua, and
// one contract suite tests both. Time is always an argument: the store's clock, read once
// per step, in microseconds since 1970.
package series
