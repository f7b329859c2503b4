// Package runs executes granted ticks and sends their ends to the store.
//
// A run goes through the files in this order: runs.go registers it and starts it,
// attempt.go calls the job's function, with retries, a timeout and recovered panics,
// complete.go ends it and takes the store's answer, ends.go has the queue of ends,
// refused.go handles a store that refuses ends. drain.go inspects and ends what is alive.
//
// The package imports no dispatcher: what follows from the end of a run for claims goes
// through the interface [Dispatcher].
package runs
