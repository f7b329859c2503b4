// Package memlock keeps leases and series in memory. It is the reference store, for tests, for
// single processes and for measuring the cost of a store.
//
// It applies the rules of lock/series under one mutex. Its data is gone with the process, so it
// protects nothing across processes.
package memlock
