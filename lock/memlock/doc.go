// Package memlock keeps leases and series in memory: the reference store, for
// tests, for single processes and for measuring what a store costs.
//
// Its rules for series are those of lock/series, applied under one mutex. What it
// keeps is gone with the process, so it protects nothing across processes.
package memlock
