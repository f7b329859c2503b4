// Package proof runs real nodes as real processes, disturbs them and their servers, and checks the
// invariants.
//
// A [Cluster] has a store, a witness and nodes. The store is a redis-server that scenarios stop,
// flush, or put behind a [github.com/cronce/cronce/internal/rig.Proxy]. The witness is a second
// redis-server, which no scenario disturbs. Every run writes to its ledger when it starts, when it
// ends, and when it writes to a guarded resource. A [Board] receives the ledger and the log lines
// of the nodes, and scenarios wait for conditions on it. Nodes are the real binary ([Binary]), or
// this test binary started again ([Member]) for the kinds of jobs that the real binary does not
// have: jobs that sleep, fail, or ignore their context.
//
// [Check] checks the evidence without any knowledge of its origin. It must also find duplicates and
// silent misses in the usual recipes ([Recipe]), because a check that never fails proves nothing.
package proof
