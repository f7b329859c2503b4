// Package runs executes granted ticks and sends their ends to the store.
//
// A run passes through the files in this order: runs.go registers and starts it, attempt.go calls
// the job's function, with retries, a timeout and recovered panics, complete.go ends it and applies
// the store's answer, ends.go has the queue of ends, refused.go handles a store that refuses ends.
// drain.go inspects and cancels attempts that are alive.
//
// The package does not import the dispatcher: the effects that the end of a run has on claims go
// through the interface [Dispatcher].
package runs
