// Package zklock keeps leases in ZooKeeper 3.5 or newer.
//
// A [Driver] is what lock.New wants below it. It has one session of its own,
// which its leases live in. Only an answer of the server is an answer. All else
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
//	/<ns>/v1/clock                                 persistent written to read the leader's clock
//
// # Plain leases
//
// Who asks for a key creates an ephemeral node with the next number, and has the
// key while no lower one is there; so the release of a key is the grant to who
// waits for it, and there is nothing to barge in between. A waiter watches who
// stands right before it. It believes that it stands in front only when its own
// node is still there, belongs to this session, and a write to it was answered. A
// node whose creation was not answered is known again by its owner.
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
// the server how long it did not hear of the session.
//
// A fence is the zxid that created the node, counted from the instant, in µs, at
// which the node above all locks was created: a zxid grows with every change, and
// after the ensemble was set up anew fences go on higher, if it made fewer than a
// million changes a second (an election counts as 4 billion, 72 minutes). If the
// asker or the key has seen a higher one, a node next to the places remembers it.
//
// # What is not promised
//
// An operator who deletes a place, or ends a session, gives its key away: the
// holder learns it with its next renewal, and until then two may believe in it.
// The same holds for a process that was stopped (SIGSTOP) and continues. The
// resource can tell them by their fences. A refusal may be as old as the server
// that answered lags behind its leader. Replicas cannot be asked for: what the
// ensemble acknowledges most of its servers have.
package zklock
