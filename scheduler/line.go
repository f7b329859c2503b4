package scheduler

import "slices"

// A line holds the asks that wait for a free slot, first come, first served. What waits
// is not looked at before its turn, however often the node wakes: each method costs O(1),
// spread over its calls. Guarded by the node's mutex.
type line struct {
	asks []*ask // those that left among them are not queued
	left int    // how many of those there are
}

// count returns how many asks wait.
func (l *line) count() int { return len(l.asks) - l.left }

func (l *line) push(a *ask) {
	a.queued = true
	l.asks = append(l.asks, a)
}

// pop returns the ask whose turn it is; nil if none waits.
func (l *line) pop() *ask {
	for len(l.asks) > 0 {
		a := l.asks[0]
		l.asks[0] = nil
		l.asks = l.asks[1:]
		if a.queued {
			a.queued = false
			l.tidy()
			return a
		}
		l.left--
	}
	return nil
}

// leave takes an ask out that waits, for good: it must not be pushed again.
func (l *line) leave(a *ask) {
	a.queued = false
	l.left++
	l.tidy()
}

// tidy removes what left once that is more than half.
func (l *line) tidy() {
	if l.left > len(l.asks)/2 {
		l.asks, l.left = slices.DeleteFunc(l.asks, func(a *ask) bool { return !a.queued }), 0
	}
}

// all takes out every ask that waits.
func (l *line) all() (waiting []*ask) {
	for a := l.pop(); a != nil; a = l.pop() {
		waiting = append(waiting, a)
	}
	*l = line{}
	return waiting
}
