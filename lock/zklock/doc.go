// Package zklock keeps leases and series in ZooKeeper 3.5 or newer.
//
// A [Driver] is what lock.Open and the scheduler want below them. It has one
// session of its own, which its plain leases live in. Only an answer of the server is an answer. All else
// is doubt: a connection that was cut, a session that expired, an error of the
// server, the end of a context.
//
// # Nodes
//
// Everything lies below the namespace and the version of the format. Keys, owners
// and nodes are names in which every byte outside [A-Za-z0-9._~:-] is escaped as
// %XX.
//
//	/<ns>/v1/locks/<key>                           container  a plain lock
//	/<ns>/v1/locks/<key>/<owner>#<limit>#<number>  ephemeral  a place in its queue
//	/<ns>/v1/locks/<key>/floor                     persistent a fence above the natural ones
//	/<ns>/v1/series/<key>                          persistent a series, and the newest lines of its journal
//	/<ns>/v1/series/<key>/lines<n>                 persistent older lines, some dozens in each
//	/<ns>/v1/series/<key>/revisions                persistent revisions of its spec
//	/<ns>/v1/series/<key>/outputs                  persistent the ends of the outputs of its runs, 64 KiB at most
//	/<ns>/v1/nodes/<node>                                     a process that beats, or did within a day
//	/<ns>/v1/clock                                 persistent written to read the leader's clock
//	/<ns>/v1/taken/<key>                           persistent leases that were taken, and records of forced unlocks
//
// Of the nodes below taken each forced unlock removes some that do not count any more. Series are kept until an operator deletes them. ZooKeeper keeps all of it in
// memory: about 3 KB for each series, and its journal.
//
// # Plain leases
//
// An owner that asks for a key creates an ephemeral node with the next number, and has the
// key while no lower one is there; so the release of a key is the grant to the waiter
// behind it, and there is nothing to barge in between. A waiter reads the queue
// once when it enters it, together with others of its Driver, and watches the node
// right before its own. That node is written when its owner takes the key, so nothing
// stands before it then; and when it goes after that, the waiter is first without
// another look. Only the names show which node stands right before: at 320
// waiters in as many processes, which enter at the same time, each reads 15 KB of them,
// 4.8 MB together, and 0.7 KB from there on. A waiter believes that it stands in front only when its own
// node is still there, belongs to this session, and a write to it was answered. A
// node whose creation was not answered is known again by its owner. Before it is
// answered that others have the key, the server that it asks catches up with its leader.
//
// A key may have several holders, up to the smallest limit among them: they are
// the longest part of the queue that its limits allow for. An owner that waits where limits
// above 1 are at hand watches the whole queue.
//
// A node has no time to live in ZooKeeper: it goes with its session. So
//
//   - a lease may be believed in for its TTL or for half of the session's timeout
//     after the last renewal that the server answered, whichever is shorter
//     (session.trust says why half). A lock.Locker renews in time by itself; a
//     lease that is not renewed ends early if its TTL is longer;
//   - when the TTL has passed the Driver removes the node, as long as its process
//     runs and is connected;
//   - the keys of a process that died are free when its session has ended, be
//     their TTL longer or shorter. A dead waiter is passed over at the same time.
//
// No clock of a server judges a plain lease, only that of its own process, and of
// the server for how long the session was silent.
//
// A fence is the zxid of the write that took the key: of the creation of the node
// where no other came or went meanwhile, else of a write to it once it stood in
// front. (The zxid of the creation alone would do for one holder; of several, the one that
// came first may take the key last; and the write shows the next waiter that
// nothing stands before this holder.) It is counted from the instant, in µs, at
// which the node above all locks was created: a zxid grows with every change, and
// after the ensemble was set up anew fences go on higher, if it made fewer than a
// million changes a second (an election counts as 4 billion, 72 minutes). If the
// asker or the key has seen a higher one, a node next to the places remembers it.
//
// A forced unlock deletes the places of the holders in one step with its record.
//
// Servers that were put back to an older copy of their data give the zxids behind that
// copy once more. A fence may then be lower than one of the changes that were lost;
// only a process that has seen a higher one of the key gets a higher one.
//
// The client of a process that lived on connects to no server that has made fewer
// changes than the client saw. So over an older copy, or a new ensemble, that process
// may be in doubt for long: restart it then.
//
// # Series
//
// A series is one node, changed by compare and set: read it, read the clock,
// decide by the rules of lock/series, write it if it still has the version that
// was read; else begin again. All series of a batch are read, and written, side by
// side. Runs do not hang on the session: their deadlines are in the node, and are
// judged by the leader's clock. That is read, after the series, as the time of a
// write to a node that holds nothing; so a batch costs one write more than it
// changes series. What was read is a little old when it decides, which makes
// leases end earlier for their holders and later for others, never the reverse.
//
// The fence of a run is max(last + 1, the clock in µs, the asker's + 1), like in
// the other stores: it must be part of what is written, and the zxid of a write is
// known only after it.
//
// When another server becomes the leader its clock decides. If it is ahead of the
// last one, runs end early by as much: keep the clocks of the ensemble within the
// 50 ms and more that every holder leaves as a margin.
//
// # Ensembles
//
// While a majority of the servers runs and keeps its data, nothing that was granted
// is forgotten: a leader may be killed (TestLeaderIsKilled), or stopped until it was
// replaced (TestLeaderIsStopped), and a request meanwhile is doubt. Without a
// majority there is doubt alone, holders learn of it in time, and when it is back all
// goes on (TestNoMajority). A server that lags behind its leader and does not know it
// grants, refuses and releases nothing by what it shows (TestLaggingFollower), and
// leads no holder to believe in a session that the leader has ended
// (TestSessionEndsBehindALaggingFollower).
//
// That is worth what the servers are: 3.8.0, for one, may lose acknowledged writes
// if servers crash while they follow a new leader (ZOOKEEPER-4646).
//
// # Fitness
//
// [Driver.Fit], which a scheduler asks, refuses servers without containers and a
// session without the rights to create, write and delete below the namespace. It
// names as risks a session timeout other than was asked for, and nodes of the
// namespace that every client may write though the session authenticates.
//
// # What is not promised
//
// An operator that deletes a place, or ends a session, gives its key away: the
// holder learns it with its next renewal, and until then two may believe in it
// (TestDeletedHolder, TestKilledSession). So does a leader that receives nothing from
// the server of the holder for longer than half of the session, then does for an
// instant, in which the holder is granted the key, and then does not again: it ends
// the session of a holder that it has just answered (TestSessionEndsAfterAnAnswer).
// The same holds for a process that was stopped (SIGSTOP) and continues. The
// resource can distinguish them by their fences. A leader that was stopped and continues
// refuses, until it learns that it was replaced, by what it knew before. What only
// looks (Inspect, Holders, ReadSeries, Peek, Journal, Keys) may be as old as the server that
// answered lags behind. Replicas cannot be asked for: what the ensemble
// acknowledges most of its servers have.
package zklock
