// Package signal wakes a goroutine that waits.
package signal

// A Signal wakes the goroutine that receives from it. Raised several times before
// that, it wakes it once. Make one with New.
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
