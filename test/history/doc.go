// Package history judges stores of plain leases by what many clients saw of them.
//
// A [Crowd] of clients acquires, renews, releases, lets leases expire, asks again
// after doubt, and comes back with leases that are over, while a test disturbs
// the store. Each request is an [Op] with the time it was sent and the time its
// answer came. [Check] asks porcupine whether one order of them, in which each
// took effect at one instant between the two, is what a correct store would have
// answered. The expiry of each lease is such an operation too: not before it may
// end, and not much after, so that a store that forgets a lease too early and one
// that keeps it too long are both found.
//
// [Lockers] are processes that use keys through package lock: several goroutines on one
// Locker, waiting, in all limits and with several keys together. [CheckHolds] judges what
// they held: see there.
//
// [Planted] are drivers with known faults. A test that judges a store also lets
// Check find each of them: a checker that finds nothing says nothing.
package history
