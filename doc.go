// Package cronce is the root of a module that runs one cron schedule on N identical nodes: each scheduled instant runs
// on exactly one of them. It has no code of its own. Three packages matter:
//
//   - [github.com/cronce/cronce/scheduler] runs functions on a schedule. A scheduled instant of a job is a tick. The store
//     records one verdict for each tick: it ran, or it did not, and why.
//   - [github.com/cronce/cronce/lock] has locks with leases and fences, and is of use without the scheduler. A resource that
//     compares fences refuses the late write of a process that was paused.
//   - [github.com/cronce/cronce/cmd/cronce] is the binary: it runs commands and requests over HTTP that a file names, and
//     shows and proves which ticks ran.
//
// The nodes share a store: Redis ([github.com/cronce/cronce/lock/redislock]), PostgreSQL, MySQL, MariaDB or SQLite
// ([github.com/cronce/cronce/lock/sqllock]), ZooKeeper ([github.com/cronce/cronce/lock/zklock]), or, in tests and in one process,
// memory ([github.com/cronce/cronce/lock/memlock]).
//
// The example is a node. Start it on several machines with one Redis in place of memory, and each tick runs on one of
// them: the page docs/getting-started.md does that.
package cronce
