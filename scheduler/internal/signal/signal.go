// Package signal wakes a waiting goroutine.
package signal

// A Signal wakes the goroutine that receives from it. Several Raises before a receive wake it once.
// Make a Signal with New.
type Signal chan struct{}

// New returns a signal that is not raised.
func New() Signal { return make(Signal, 1) }

// Raise raises the signal. It never blocks.
func (s Signal) Raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}
