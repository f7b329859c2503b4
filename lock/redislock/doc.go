// Package redislock keeps leases and series in Redis 6.2 or newer: a single
// server, a master behind Sentinel, or a Cluster.
//
// A [Driver] is what lock.Open and the scheduler want below them. It asks the
// store with one script per operation; each is idempotent for its owner and
// reads the store's clock once. Only the reply of a script is an answer. All
// else is doubt: an error of the network or of the store (READONLY, LOADING,
// BUSY, OOM, MOVED, ...), a reply that cannot be read, the end of a context.
//
// # Keys
//
// All keys begin with the namespace and the version of the format. Locks and
// series are named by their key, in which every byte outside [A-Za-z0-9._~:/-]
// is escaped as %XX: two names never share a key, and a brace in a name cannot
// move a slot. Of a series' keys all in one shard have one hash tag.
//
//	<ns>:v1:l:{<lock>}             string  a plain lock; expires with its lease, or
//	                                       its last fence, up to 10 s after its grant
//	<ns>:v1:q:{<lock>}             list    the owners that wait for it; 10 to 20 s
//	<ns>:v1:h:{<lock>}             hash    the owners that share it; expires with the last lease
//	<ns>:v1:e:{<lock>}             zset    their deadlines; the same
//	<ns>:v1:m:{<lock>}             zset    their limits; the same
//	<ns>:v1:t:{<lock>}             hash    leases that were taken by force; as long as they had left
//	<ns>:v1:f:{<lock>}             list    records of forced unlocks; 90 days
//	<ns>:v1:{<ns>.<shard>}:s:<key> hash    the state of a series; 90 days
//	<ns>:v1:{<ns>.<shard>}:j:<key> list    its journal; 90 days
//	<ns>:v1:{<ns>.<shard>}:d:<key> hash    revisions of its spec; 90 days
//	<ns>:v1:{<ns>.<shard>}:o:<key> hash    the ends of the outputs of its runs; 90 days after the latest
//	<ns>:v1:{<ns>.<shard>}:all     set     the series of the shard; 90 days
//	<ns>:v1:{<ns>.<shard>}:jb      string  the bytes of the shard's journals; 90 days
//	<ns>:v1:{<ns>.0}:nodes         zset    nodes by when they are forgotten; 1 day
//	<ns>:v1:{<ns>.0}:layout        string  shards and groups, see [Driver.Agree]; 90 days
//	...:none                       -       never exists: a write to it proves a master
//
// The channels <ns>:v1:i:<id> are inboxes, one per Driver: see below.
//
// The 90 days begin again with a claim on another day than the last, with Open,
// and with ReadSeries when less than 60 are left. A series that no node opens or reads
// for so long is forgotten.
//
// # Waiting
//
// A waiter of a plain lock has a place in its queue, at most 1,000 to a lock. The
// release takes the first place, keeps the lock for its owner for 2 seconds, and
// publishes to the inbox of the owner's process; the owner confirms by asking, and
// its lease is counted from then. An acquisition of a free lock that others wait
// for does the same for the first of them: so owners that do not answer, and holders
// that died, are passed over by the server's clock.
//
// A single server, and the master behind Sentinel, knows at once when the inbox of
// a place has no connection any more: the process died, and loses its place without
// delay. A process whose connection is there and that does not answer, as one that
// was stopped, costs those behind it 2 seconds. In a Cluster no node knows the
// connections of the others, so there a waiter that died costs 2 seconds as well.
// If no process of a queue has a connection, as right after a restart of the server,
// the lock is kept for the first for 2 seconds.
//
// Messages may be lost: each waiter also probes its lock. It probes when the lease
// of the holder ends, and when the lock was kept for the one before it and that one
// did not answer in time; and besides at least every 10 seconds. The first waiter
// of a lock that is shared, one in a Cluster, and one whose subscription was not
// confirmed probe about once a second. A queue is forgotten 10 seconds after its
// waiters should have probed. Once the places are taken, those without one get one
// by probing, in no order.
//
// All waiters of a [Driver] share one subscription, on a connection of its own,
// from the first waiter until 5 seconds after the last, or until [Driver.Close].
// A process that may not subscribe waits by probing.
//
// # Many callers at once
//
// The calls of many goroutines share round trips. A call that finds fewer than two batches
// in flight is sent at once, alone. The other calls are enqueued; when a batch completes,
// what is in the queue is flushed as the next batch, up to 200 calls. On a server without
// slots the acquisitions of a batch are one run of a script, and so are its releases. Each
// call is answered for itself. In a Cluster each master has a pipeline of its own, and each
// call its own run.
//
// # Sharing
//
// A lock that one owner has at a time is one string, and costs what it would cost
// if no lock could be shared. Only readers and holders of permits have the three
// keys beside it. An acquisition or release that meets the other kind takes a
// second request. The first of a queue that would keep others waiting that fit
// beside the holders, as a writer does behind readers, must probe: if it
// asked nothing for 5 seconds it loses its place.
//
// # Several locks
//
// A single server, and one behind Sentinel, takes up to driver.MaxKeys locks in one
// step. In a Cluster each lock has a slot of its own, decided by its whole name:
// [Options.GroupBy] gives those that begin alike one slot, and one step.
//
// # The server
//
// [Check] checks the server before anything depends on it; a scheduler that gets
// a [Driver] asks with [Driver.Fit]. Keys must not be evicted (maxmemory-policy noeviction), and a server that loses its data with
// its process forgets which numbers were decided. At maxmemory renewals and
// releases still work; claims are doubt.
//
// # What Redis cannot promise
//
// Replicas are written to after the answer. A master that is replaced, by hand, by
// Sentinel, or by the vote of a Cluster, may take its last grants with it: the same
// lock, or the same number, is then granted again while its first holder believes
// in it. What is promised there, and shown by TestLostWrites of test/failover
// on real servers, is that the second fence is higher, as long as the new master's
// clock is not behind the old one's by more than the time since, so that a resource
// that checks fences refuses the first holder's late write (package guard).
//
// Acquisition.Replicas and Claim.Replicas make this less likely: a grant or a
// renewal counts once so many replicas have it. WAIT is no consensus all the same:
// a replica that did not answer may be promoted, and one whose clock is ahead ends
// the lease early. In a Cluster a slot on its way from one master to another does
// not answer (TRYAGAIN): doubt, for as long as the move takes.
//
// Leases follow the wall clock of the server. If it jumps forward they end early,
// and back they last longer; a server that was emptied has forgotten them. Holders
// learn of this with their next renewal: see lock.ErrForgotten and
// lock.Locker.OnStoreEvent, and TestServerForgets and TestServerClockSteps there. That
// the server was restarted, or another took its place, shows in its run id, also
// when no lease of this process is concerned: TestServerIsReplaced.
//
// The fence of a grant is the server's time in µs, or one more than the last. The last
// fence of a plain lock is remembered over its release, until the server's clock is 10
// seconds past it; a lock whose lease expires is forgotten, at least 500 ms after its
// grant. So the fences of a lock that is released grow as long as no clock steps back,
// and no two masters' clocks differ, by more than 10 seconds. After a larger step the
// next fence may be below one that was granted, for a Locker that has not seen that:
// TestFenceAfterStepBack there shows both. Of a series the last fence is kept.
//
// # The client
//
// A client should not repeat a request on its own and must respect the deadline
// of a context: [Harden] sets this in the options before a client is made, and
// [Check] refuses a client without it.
//
// # Access
//
// [AccessRules] are the minimal rights of a user, as arguments of ACL SETUSER:
//
//	resetkeys ~<ns>:v1:* resetchannels &<ns>:v1:i:* nocommands
//	+ping +hello +auth +select +client|setname +eval +evalsha +time +info
//	+get +mget +set +del +incrby +exists +pexpire +pttl +hmget +hset +hdel +hgetall +hscan
//	+rpush +lpush +lpop +lindex +llen +lrange +lset +lpos +lrem
//	+sadd +smembers +srem +zadd +zcard +zrange +zrem +zremrangebyscore
//	+publish +subscribe +wait
//
// Without +info all works, but no process learns that the server was restarted or
// replaced, and [Check] does not know what the server is.
//
// Redis 6.2 knows no rules for single subcommands: write +client there.
package redislock
