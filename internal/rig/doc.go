// Package rig has helpers for the tests of several packages: a [Proxy] with faults between a client and
// its server, a [Meter] of how busy the machine is, a count of the [Goroutines] of one test, [Random]
// cases, waits, and a [Tenure], a lease for which another owner waits.
package rig
