// Package redlock keeps plain leases on a majority of N = 3, 5 or 7 independent
// Redis servers, 6.2 or newer, so that no single server and no failover is
// needed. It is a store for lock.Open; it cannot be one for the scheduler, since
// deciding a number is one step and one step over several servers does not exist.
//
// # How
//
// An acquisition asks all servers at once, with one owner. A majority of yes is a grant
// for TTL - the time that it took - 1 % of the TTL - 2 ms; nothing waits for the other
// servers, and for none longer than [Options.NodeTimeout]. Without a majority the votes
// are given back everywhere, also by servers that did not answer: in the background,
// until they do or the TTL has passed ([Driver.Close] ends that). A request that arrives
// after its own undoing is refused. A renewal needs a majority and gives the key again
// to servers that lost it. A release is done when the key is free on a majority.
//
// # The fence
//
// A caller proposes a number: the time of the servers in µs, which it asks them
// for once a minute (the median of their answers; its own clock only counts on
// from there). Each server answers with max(its last + 1, the number). The highest
// of a majority alone goes backwards, when the one server that knows of a higher
// one is asked for one grant and not for the next: TestFenceOverMajorities. So a
// fence is only a grant's once it stands on a majority. If the answers differ, the
// one that a majority says, or else the highest, is written to the others before
// success is reported; a server that is silent for 1 ms and might decide is not waited
// for. That costs a second round trip where the proposals of two processes are further
// apart than their grants: of 200,000 grants none where they are 1 ms apart and a
// key is granted every 10 s, 1 of 2,700 where it is granted every 0.1 s, 1 of 24
// where every 1 ms.
//
// # Keys
//
//	<ns>:v1:r:{<lock>}      string  fence|attempt|memory|owner: the lease
//	<ns>:v1:rback:{<lock>}  string  the same, of the last that was given back
//
// The lock's name is escaped as in the path of a URL. A string outlives its lease
// by [Options.FenceMemory], which it also says, because a server must not answer
// below a fence that was granted; one that is given back early stays for the rest
// of its TTL as well. It costs each server about 150 bytes for each key used within
// that time, and as much again while the key is held. A lease ends on the server's
// clock, as the string does.
//
// The scripts use GET, MGET, SET, DEL, RENAME, PTTL and PEXPIRE. The Driver asks
// TIME, and [Driver.Check] INFO.
//
// # Guarantees
//
// While every server keeps its data and its clock runs at our rate, at most one
// owner has a key, and fences strictly increase, whatever the difference between
// the servers' clocks, up to half of FenceMemory. A minority may be gone, silent or
// replaced by nothing: TestTwoOfFiveStopped. With less than a majority every
// answer is doubt ([ErrNoQuorum]), in bounded time, and nothing stays behind:
// TestThreeOfFiveStopped. Doubt is never returned as a *lock.HeldError.
//
// # Limits
//
//   - A server that comes back without its data has forgotten its vote, and lets
//     a second owner in beside the first where the lease has a bare majority:
//     TestRestartWithoutPersistence. Use appendonly with appendfsync always, or keep a
//     server that lost its data away until the longest TTL, and FenceMemory, have passed
//     (delayed rejoin). The fence of the second owner is higher, as long as that took
//     longer than the clocks differ.
//   - A clock that is put forward ends the votes of its server early; on a
//     majority it lets a second owner in: TestClockStep. One that is put back
//     holds votes longer. The fence does not go back either way, as long as that
//     is no more than half of FenceMemory.
//   - A server that evicts keys forgets like one that restarts: use noeviction.
//   - A process that was stopped runs on for a moment with a lease that is over.
//
// In each of these the resource can still refuse the lower fence.
//
// The Driver is no driver.Forcer: to forget an owner, to keep a record
// of that and to grant the key again are not one step over several servers. Stop a holder
// that is stuck, and wait for its TTL.
package redlock
