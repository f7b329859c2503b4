// Package zklock keeps leases and series in ZooKeeper 3.5 or newer.
//
// A [Driver] is the store that lock.Open and the scheduler use. It has its own session, to which
// its plain leases belong. Only a reply of the server is an answer. Everything else is doubt: a
// connection that was cut, a session that expired, an error of the server, the end of a context.
//
// # Nodes
//
// Everything lies below the namespace and the version of the format. Keys, owners and nodes are
// names in which every byte outside [A-Za-z0-9._~:-] is escaped as %XX.
//
//	/<ns>/v1/locks/<key>                           container  a plain lock
//	/<ns>/v1/locks/<key>/<owner>#<limit>#<number>  ephemeral  a place in its queue
//	/<ns>/v1/locks/<key>/floor                     persistent a fence above the natural ones
//	/<ns>/v1/series/<key>                          persistent a series, and the newest lines of its journal
//	/<ns>/v1/series/<key>/lines<n>                 persistent older lines, some dozens in each, or the exceptions among deleted lines
//	/<ns>/v1/series/<key>/revisions                persistent revisions of its spec
//	/<ns>/v1/series/<key>/outputs                  persistent the ends of the outputs of its runs, 64 KiB at most
//	/<ns>/v1/nodes/<node>                                     a process that beats, or did within a day
//	/<ns>/v1/clock                                 persistent written to read the leader's clock
//	/<ns>/v1/taken/<key>                           persistent leases that were taken, and records of forced unlocks
//
// Each forced unlock removes some of the nodes below taken that no longer count. Series are kept
// until an operator deletes them. ZooKeeper keeps all of this in memory: about 3 KB for each
// series, and its journal.
//
// # Plain leases
//
// An owner that requests a key creates an ephemeral node with the next number, and holds the key
// while no lower number exists. So the release of a key is the grant to the waiter behind it, and
// no other owner can barge in between. A waiter reads the queue once when it enters it, together
// with others of its Driver, and watches the node right before its own. The owner of that node
// writes it when it takes the key, so no node is before it then; and when it is removed after that,
// the waiter is first without another read. Only the names show which node is right before: with
// 320 waiters in as many processes, which enter at the same time, each reads 15 KB of names, 4.8 MB
// together, and 0.7 KB from then on. A waiter considers itself first only if its own node still
// exists and belongs to this session, and the server answered a write to it. If the reply to the
// creation of a node was lost, the owner recognises its node later by its name. Before a Driver
// answers that others hold the key, it makes its server catch up with the leader.
//
// A key may have several holders, up to the smallest limit among them: they are the longest prefix
// of the queue that its limits allow. If an owner waits where limits above 1 are involved, it
// watches the whole queue.
//
// A node has no TTL of its own in ZooKeeper: it is removed with its session. So
//
//   - a lease is trusted for its TTL, or for half of the session's timeout after the last
//     renewal that the server answered, whichever is shorter (session.trust explains the
//     half). A lock.Locker renews in time by itself; a lease that is not renewed ends
//     early if its TTL is longer;
//   - when the TTL has passed, the Driver removes the node, as long as its process
//     runs and is connected;
//   - the keys of a process that died are free when its session has ended, whether their
//     TTL is longer or shorter. A dead waiter is passed over at the same time.
//
// No clock of a server judges a plain lease. Only two clocks count: the clock of the holder's
// process, and the server's measure of how long the session was silent.
//
// A fence is the zxid of the write that took the key: the creation of the node if no other node
// came or went meanwhile, and otherwise a write to it once it was first. (With one holder, the zxid
// of the creation would be enough. With several, the owner that came first may take the key last;
// and the write shows the next waiter that no node is before this holder.) It is counted from the
// time, in µs, at which the node above all locks was created. A zxid grows with every change, and
// after the ensemble was set up anew fences continue higher, if the ensemble made fewer than a
// million changes a second (an election counts as 4 billion, 72 minutes). If the caller or the key
// has seen a higher fence, a node next to the places stores it. A waiter that takes the key without
// reading the queue creates and deletes that node in the step that takes the key, and so learns
// whether it exists; owners that watch the whole queue may read it once more for this.
//
// A forced unlock deletes the places of the holders in one step with its record.
//
// Servers that were restored from an older copy of their data assign the zxids after that copy
// again. A fence may then be lower than a fence among the changes that were lost. Only a process
// that has seen a higher fence of the key gets a higher one.
//
// The client of a process that lived on connects to no server that has made fewer changes than the
// client has seen. So with an older copy, or a new ensemble, every request of that process may be
// doubt for a long time: restart the process then.
//
// # Series
//
// A series is one node, changed by compare and set: read it, read the clock, decide by the rules of
// lock/series, and write the node if it still has the version that was read; otherwise begin again.
// All series of a batch are read, and written, concurrently. Runs do not depend on the session:
// their deadlines are in the node, and are judged by the leader's clock. The clock is read after
// the series, as the time of a write to a node without data; so a batch costs one write more than
// the number of series that it changes. The clock value is slightly old when the rules use it,
// which makes leases end earlier for their holders and later for others, never the reverse.
//
// The fence of a run is max(last + 1, the clock in µs, the caller's + 1), as in the other stores:
// it must be part of the data that is written, and the zxid of a write is known only after it.
//
// When another server becomes the leader, its clock decides. If it is ahead of the last leader's
// clock, runs end early by the difference: keep the clocks of the ensemble within the 50 ms or more
// that every holder leaves as a margin.
//
// # Ensembles
//
// While a majority of the servers runs and keeps its data, nothing that was granted is forgotten: a
// leader may be killed (TestLeaderIsKilled), or stopped until it was replaced
// (TestLeaderIsStopped), and requests in the meantime are doubt. Without a majority every answer is
// doubt, holders learn of it in time, and once it is back everything continues (TestNoMajority). A
// server that lags behind its leader without knowing it grants, refuses and releases nothing by its
// outdated data (TestLaggingFollower), and makes no holder trust a session that the leader has
// ended (TestSessionEndsBehindALaggingFollower).
//
// All this is only as good as the servers: 3.8.0, for one, may lose acknowledged writes if servers
// crash while they follow a new leader (ZOOKEEPER-4646).
//
// # Fitness
//
// [Driver.CheckStore], which a scheduler calls, refuses servers without containers and a session
// without the rights to create, write and delete below the namespace. It reports as risks a session
// timeout other than the requested one, and nodes of the namespace that every client may write
// although the session authenticates.
//
// # Limits
//
// An operator that deletes a place, or ends a session, gives its key away: the holder learns of it
// with its next renewal, and until then two owners may trust that they hold the key
// (TestDeletedHolder, TestKilledSession). The same happens if a leader receives nothing from the
// holder's server for longer than half of the session, then receives messages for an instant, in
// which the holder is granted the key, and then receives nothing again: it ends the session of a
// holder that it has just answered (TestSessionEndsAfterAnAnswer). The same holds for a process
// that was stopped (SIGSTOP) and continues. The resource can distinguish the owners by their
// fences. A leader that was stopped and continues refuses requests by its outdated data until it
// learns that it was replaced. Requests that only read (Inspect, Holders, ReadSeries, Peek,
// Journal, Keys) may be outdated by as much as the server that answered lags behind. A number of
// replicas cannot be requested: most servers of the ensemble have every acknowledged change.
package zklock
