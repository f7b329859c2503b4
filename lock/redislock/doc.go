// Package redislock keeps leases and series in Redis 6.2 or newer: a single
// server, a master behind Sentinel, or a Cluster.
//
// A [Driver] is the store below lock.Open and the scheduler. It runs one script per operation; each
// script is idempotent for its owner and reads the store's clock once. Only the reply of a script
// is an answer. Anything else is doubt: an error of the network or of the store (READONLY, LOADING,
// BUSY, OOM, MOVED, ...), a reply that cannot be read, the end of a context.
//
// # Keys
//
// All keys begin with the namespace and the version of the format. Locks and series are named by
// their key, in which every byte outside [A-Za-z0-9._~:/-] is escaped as %XX: two names never share
// a key, and a brace in a name cannot move a slot. All keys of the series in one partition have one
// hash tag.
//
//	<ns>:v1:l:{<lock>}             string  a plain lock; expires with its lease, or
//	                                       its last fence, up to 10 s after its grant
//	<ns>:v1:q:{<lock>}             list    the owners that wait for it; 10 to 20 s
//	<ns>:v1:h:{<lock>}             hash    the owners that share it; expires with the last lease
//	<ns>:v1:e:{<lock>}             zset    their deadlines; the same
//	<ns>:v1:m:{<lock>}             zset    their limits; the same
//	<ns>:v1:t:{<lock>}             hash    leases that were taken by force; as long as they had left
//	<ns>:v1:f:{<lock>}             list    records of forced unlocks; 90 days
//	<ns>:v1:{<ns>.<partition>}:s:<key> hash    the state of a series; 90 days
//	<ns>:v1:{<ns>.<partition>}:j:<key> list    its journal; 90 days
//	<ns>:v1:{<ns>.<partition>}:d:<key> hash    revisions of its spec; 90 days
//	<ns>:v1:{<ns>.<partition>}:t:<key> hash    the shards of its latest sharded run; until that run is pruned
//	<ns>:v1:{<ns>.<partition>}:o:<key> hash    the ends of the outputs of its runs; 90 days after the latest
//	<ns>:v1:{<ns>.<partition>}:all     set     the series of the partition; 90 days
//	<ns>:v1:{<ns>.<partition>}:ch      zset    the same by the µs of their last change; 90 days
//	<ns>:v1:{<ns>.<partition>}:jb      string  the bytes of the partition's journals; 90 days
//	<ns>:v1:{<ns>.0}:nodes         zset    nodes by when they are forgotten; 1 day
//	<ns>:v1:{<ns>.0}:layout        string  partitions and groups, see [Driver.Agree]; 90 days
//	...:none                       -       never exists: a write to it proves a master
//
// <partition> is 0, or a number and mostly -n, which brings its slot near its place. The places divide the slots evenly, so that the numbers
// of partitions on masters with equal ranges seldom differ by more than one.
//
// The channels <ns>:v1:i:<id> are inboxes, one per Driver: see below. On <ns>:v1:i:runs requests and cancels of runs, and groups of
// decided numbers, are published: see [Driver.NotifyRuns].
//
// The 90 days begin again with a claim on another day than the last one, with Open, and with
// ReadSeries if less than 60 days are left. A series that no node opens or reads for that time is
// forgotten.
//
// # Waiting
//
// A waiter of a plain lock has a place in its queue, at most 1,000 per lock. The release removes
// the first place, reserves the lock for its owner for 2 seconds, and publishes to the inbox of the
// owner's process. The owner confirms with a request, and its lease is counted from then. An
// acquisition of a free lock that others wait for does the same for the first of them. So the
// server's clock passes over owners that do not answer, and holders that died.
//
// A single server, and the master behind Sentinel, knows at once when the inbox of a place has no
// connection any more: the process died, and loses its place without delay. A process that has its
// connection but does not answer, such as a stopped one, costs the places behind it 2 seconds. In a
// Cluster no node knows the connections of the others, so a waiter that died costs 2 seconds there
// as well. If no process of a queue has a connection, as right after a restart of the server, the
// lock is reserved for the first place for 2 seconds.
//
// Messages may be lost, so each waiter also probes its lock. It probes when the lease of the holder
// ends, when the lock was reserved for the place before it and that owner did not answer in time,
// and at least every 10 seconds. The first waiter of a shared lock, a waiter in a Cluster, and a
// waiter whose subscription was not confirmed probe about once a second. A queue is forgotten 10
// seconds after its waiters should have probed. When all places are taken, waiters without a place
// get one by probing, in no order.
//
// All waiters of a [Driver] share one subscription, on its own connection, from the first waiter
// until 5 seconds after the last, or until [Driver.Close]. A process without the right to subscribe
// waits by probing.
//
// # Many callers at once
//
// The calls of many goroutines share round trips. A call that finds fewer than two batches in
// flight is sent at once, alone. Other calls are enqueued; when a batch completes, the queue is
// flushed as the next batch, up to 200 calls. On a server without slots one run of a script carries
// all acquisitions of a batch, and another all its releases. Each call gets its own answer. In a
// Cluster each master has its own pipeline, and each call its own run.
//
// # Sharing
//
// A lock that one owner has at a time is one string, and costs no more than if no lock could be
// shared. Only readers and holders of permits need the three keys beside it. An acquisition or
// release that meets the other kind of lock sends a second request. If the first waiter of a queue
// does not fit beside the holders, it keeps others waiting that would fit, as a writer does behind
// readers. It must then probe: without a request for 5 seconds it loses its place.
//
// # Several locks
//
// A single server, or the master behind Sentinel, takes up to driver.MaxKeys locks in one step. In
// a Cluster each lock has its own slot, decided by its whole name: [Options.GroupBy] gives locks
// with the same prefix one slot, and so one step.
//
// # The server
//
// [Check] checks the server before anything depends on it; a scheduler that gets a [Driver] calls
// [Driver.CheckStore]. Keys must not be evicted (maxmemory-policy noeviction), and a server that
// loses its data with its process forgets which numbers were decided. At maxmemory renewals and
// releases still work; claims are doubt.
//
// # Limits of Redis
//
// Replicas receive a write after its answer. A master that is replaced, by hand, by Sentinel, or by
// the vote of a Cluster, may lose its last grants: the same lock, or the same number, is then
// granted again while its first holder still trusts its lease. The promise in that case, shown by
// TestLostWrites of test/failover on real servers, is that the second fence is higher, as long
// as the new master's clock is not behind the old one's by more than the time since. So a resource
// that checks fences rejects the first holder's late write (package guard).
//
// Acquisition.Replicas and Claim.Replicas make this less likely: a grant or a renewal counts once
// so many replicas have it. WAIT is no consensus all the same: a replica that did not answer may be
// promoted, and a replica whose clock is ahead ends the lease early. In a Cluster a slot that moves
// from one master to another does not answer (TRYAGAIN): doubt, for as long as the move takes.
//
// Leases follow the wall clock of the server. If it jumps forward they end early, and if it jumps
// back they last longer; a server that was emptied has forgotten them. Holders learn this with
// their next renewal: see lock.ErrForgotten and lock.Locker.OnStoreEvent, and TestServerForgets and
// TestServerClockSteps of test/failover. A server that was restarted or replaced has another
// run id, which is noticed even if no lease of this process is concerned: TestServerIsReplaced.
//
// The fence of a grant is the server's time in µs, or one more than the last fence. The last fence
// of a plain lock is remembered after its release, until the server's clock is 10 seconds past it;
// a lock whose lease expires is forgotten, at least 500 ms after its grant. So the fences of a lock
// that is released grow as long as no clock steps back, and no two masters' clocks differ, by more
// than 10 seconds. After a larger step the next fence may be below one that was granted, for a
// Locker that has not seen the latter: TestFenceAfterStepBack shows both cases. The last fence of a
// series is always kept.
//
// # The client
//
// A client should not repeat a request on its own and must respect the deadline of a context:
// [Harden] sets this in the options before a client is made, and [Check] refuses a client without
// it.
//
// # Access
//
// [AccessRules] returns the minimal rights of a user, as arguments of ACL SETUSER:
//
//	resetkeys ~<ns>:v1:* resetchannels &<ns>:v1:i:* nocommands
//	+ping +hello +auth +select +client|setname +eval +evalsha +time +info
//	+get +mget +set +del +incrby +exists +pexpire +pttl +hmget +hset +hdel +hgetall +hscan
//	+rpush +lpush +lpop +lindex +llen +lrange +lset +lpos +lrem
//	+sadd +smembers +srem +zadd +zcard +zcount +zscore +zrange +zrem +zremrangebyscore
//	+publish +subscribe +wait
//
// Without +info everything works, but no process notices that the server was restarted or replaced,
// and [Check] cannot examine the server.
//
// Redis 6.2 has no rules for single subcommands: write +client there.
package redislock
