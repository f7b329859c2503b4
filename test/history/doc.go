// Package history checks stores of plain leases against the requests and replies of many clients.
//
// A [Crowd] of clients acquires, renews and releases leases, lets them expire, repeats requests after
// unknown replies, and sends requests for leases that are over, while a test disturbs the store. Each
// request is an [Op] with the time when it was sent and the time of its reply. [Check] uses porcupine to
// search for an order of these requests, each executed at one instant between its two times, in which a
// correct store sends the same replies. The expiry of each lease is also such an operation: it can
// happen at the earliest just before its TTL ends, and at the latest soon after. So Check detects a
// store that forgets a lease too early and a store that keeps a lease too long.
//
// [Lockers] are processes that acquire keys through package lock: several goroutines share a Locker,
// wait, use all limits, and acquire several keys together. [CheckHolds] checks their leases.
//
// [Planted] has drivers with known faults. A test of a store also requires that Check detects each of
// them, because a check that never fails proves nothing.
package history
