// Package proof runs real nodes as real processes, breaks them and what they
// depend on, and holds what they did against the invariants.
//
// A [Cluster] is a store, a witness and nodes. The store is a redis-server that
// scenarios stop, flush, or put behind a [github.com/cronce/cronce/internal/rig.Proxy]. The witness is a second one
// that nothing ever happens to: every run writes to its ledger when it starts,
// when it ends, and what it writes to a guarded resource. Both the ledger and the
// log lines of the nodes arrive on one [Board], on which scenarios wait for what
// they need to see. Nodes are the real binary ([Binary]), or this test binary
// started again ([Member]) for jobs that the real one has no kind for: those that
// sleep, fail, or ignore their context.
//
// [Check] judges the evidence without knowing how it came about. It also judges
// the usual recipe ([Recipe]), in which it must find duplicates and silent misses:
// a checker that cannot fail proves nothing.
package proof
