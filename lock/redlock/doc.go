// Package redlock keeps plain leases on a majority of N = 3, 5 or 7 independent
// Redis servers, 6.2 or newer, so that no single server and no failover is
// needed. It is a store for lock.New; it cannot be one for the scheduler, since
// deciding a number is one step and one step over several servers does not exist.
//
// # How
//
// An acquisition asks a majority at once, with one owner, and waits for each server
// no longer than [Options.NodeTimeout]. The others are asked as soon as these do
// not agree, or one of them fails, or has not answered after a millisecond. A
// majority of yes is a grant for TTL - what it took - 1 % of the TTL - 2 ms.
// Otherwise the votes are given back everywhere, also by servers that did not
// answer: in the background, until they do or the TTL has passed ([Driver.Close]
// ends that). A request that arrives after its own undoing is refused. A renewal
// needs a majority and gives the key again to servers that lost it.
//
// Which majority is asked first is a hash of the key: the same for everybody, so
// that those who want a key meet, and a share of the keys for each server. One
// that is silent is passed over. The others are told of a lease when it is held
// for longer than a millisecond; a shorter one is no work for them: it takes 6
// requests to five servers, not 10.
//
// # The fence
//
// Each server answers with max(its last + 1, its time in µs cut to 0.1 s, the
// asker's + 1). The highest of a majority alone goes backwards, when the one
// server whose clock is ahead is asked for one grant and not for the next:
// TestFenceOverMajorities. So a fence is only a grant's once it stands on a
// majority. If the answers differ, the one that a majority says, or else the
// highest, is written to the others before success is reported; a server that is
// silent and might decide is not waited for. That costs a second round trip: in 1 of 170 grants where clocks are 1 ms apart and a key is
// granted every 10 s, in 1 of 14 where it is granted every 0.1 s and two of five
// servers miss each grant.
//
// # Keys
//
//	<ns>:v1:r:{<lock>}      string  last fence|fence|until|attempt|owner
//	<ns>:v1:rnone:{<lock>}  -       never exists: a write to it proves a master
//
// The lock's name is escaped as in the path of a URL. The string outlives its
// lease by [Options.FenceMemory], because a server must not answer below a fence
// that was granted; it costs each server about 150 bytes for each key used
// within that time. A lease ends on the server's clock, by the time in the string.
//
// The scripts use GET, SET, PEXPIRE and TIME; [Driver.Check] also asks INFO.
//
// # What is promised
//
// While every server keeps its data and its clock runs at our rate, at most one
// owner has a key, and fences strictly increase, whatever the difference between
// the servers' clocks, up to FenceMemory. A minority may be gone, silent or
// replaced by nothing: TestTwoOfFiveStopped. With less than a majority every
// answer is doubt ([ErrNoQuorum]), in bounded time, and nothing stays behind:
// TestThreeOfFiveStopped. A *lock.HeldError is never doubt in disguise.
//
// # What is not
//
//   - A server that comes back without its data has forgotten its vote, and lets
//     a second owner in beside the first: TestRestartWithoutPersistence. Use
//     appendonly with appendfsync always, or keep a server that lost its data
//     away until the longest TTL, and FenceMemory, have passed (delayed rejoin).
//     The fence of the second owner is higher, as long as that took longer than
//     the clocks differ, and 0.1 s.
//   - In the first millisecond of a lease only a bare majority knows of it. Where
//     all five servers do, three must forget before a second owner gets in; in
//     this time one is enough, as it always is while a minority is gone. So what
//     is said above of a server that comes back matters the more.
//   - A clock that is put forward ends the votes of its server early; on a
//     majority it lets a second owner in: TestClockStep. One that is put back
//     holds votes longer. The fence does not go back either way.
//   - A server that evicts keys forgets like one that restarts: use noeviction.
//   - A process that was stopped runs on for a moment with a lease that is over.
//
// In each of these the resource can still refuse the lower fence.
package redlock
