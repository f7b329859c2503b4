// Package redlock keeps plain leases on a majority of N = 3, 5 or 7 independent Redis servers, 6.2
// or newer, so that it depends on no single server and on no failover. It is a store for lock.Open.
// It cannot be a store for the scheduler: a number must be decided in one step, and one step over
// several servers does not exist.
//
// # Operation
//
// An acquisition sends a request to all servers at once, with one owner. A majority of yes is a
// grant for TTL - the time that it took - 1 % of the TTL - 2 ms. A grant does not wait for the
// other servers, and no request waits for a server longer than [Options.NodeTimeout]. Without a
// majority the Driver takes the votes back on all servers, including servers that did not answer:
// in the background, until they answer or the TTL has passed ([Driver.Close] ends this). A server
// refuses a request that arrives after its own undoing. A renewal needs a majority and gives the
// key again to servers that lost it. A release is done when the key is free on a majority.
//
// # The fence
//
// A caller proposes a number: the time of the servers in µs. The Driver reads that time once a
// minute, and after its machine was suspended (the median of the servers' answers), and advances it
// with its own clock in between. Each server answers with max(its last + 1, the number). The
// highest answer of a majority alone could go backwards, if the one server that knows of a higher
// number answers for one grant and not for the next: see TestFenceOverMajorities. So a fence is
// granted only once a majority has stored it.
// If the answers differ, the Driver writes one fence to the other servers before it reports
// success: the fence that a majority answers, otherwise the highest. It waits at most 1 ms for a
// silent server whose answer might decide. This second round trip is needed where the proposals of
// two processes differ by more than the time between their grants: with 1 ms of difference, in none
// of 200,000 grants if a key is granted every 10 s, in 1 of 2,700 if it is granted every 0.1 s, and
// in 1 of 24 if it is granted every 1 ms.
//
// # Keys
//
//	<ns>:v1:r:{<lock>}      string  fence|attempt|memory|owner: the lease
//	<ns>:v1:rback:{<lock>}  string  the same, of the last that was given back
//
// The lock's name is escaped as in the path of a URL. A string outlives its lease by
// [Options.FenceMemory], which it also contains, because a server must not answer a number below a
// fence that was granted. A lease that is given back early also stays for the rest of its TTL. This
// costs each server about 150 bytes for each key used within that time, and as much again while the
// key is held. A lease ends on the server's clock, as the string does.
//
// The scripts use GET, MGET, SET, DEL, RENAME, PTTL and PEXPIRE. The Driver uses TIME, and
// [Driver.Check] INFO.
//
// # Guarantees
//
// While every server keeps its data and its clock runs at our rate, at most one owner has a key,
// and fences strictly increase as long as the servers' clocks differ by no more than half of
// FenceMemory. A minority of the servers may be down or silent, without replacement: see
// TestTwoOfFiveStopped. With less than a majority every answer is doubt ([ErrNoQuorum]), in bounded
// time, and no lease is left behind: see TestThreeOfFiveStopped. Doubt is never returned as a
// *lock.HeldError.
//
// # Limits
//
//   - A server that comes back without its data has forgotten its vote. If the lease has
//     only a bare majority, a second owner can then get the key beside the first: see
//     TestRestartWithoutPersistence. Use appendonly with appendfsync always, or keep a
//     server that lost its data away until the longest TTL, and FenceMemory, have passed
//     (delayed rejoin). The fence of the second owner is higher, as long as more time has
//     passed than the clocks differ.
//   - A clock that is put forward ends the votes of its server early. If this happens on a
//     majority, a second owner can get the key: see TestClockStep. A clock that is put
//     back holds votes longer. The fence does not go back in either case, as long as the
//     step is no more than half of FenceMemory.
//   - A server that evicts keys forgets like a server that restarts: use noeviction.
//   - A process that was stopped continues for a moment with a lease that has ended.
//
// In each of these cases the resource can still refuse the lower fence.
//
// The Driver does not implement driver.Forcer: to remove an owner, to record that, and to grant the
// key again cannot be one step over several servers. Stop a holder that is stuck, and wait for its
// TTL.
package redlock
