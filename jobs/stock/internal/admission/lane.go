package admission

import (
	"context"
	"time"
)

// maxQueued is how many requests of a lane may wait for a place at once. While the store
// answers they have one within a few milliseconds.
const maxQueued = 4096

// A Lane has the places of one kind of requests. Its methods may be called concurrently.
type Lane struct {
	places chan struct{} // holds a value for each request that is being served
	queue  chan struct{} // and for each that waits
	wait   time.Duration
}

// NewLane makes a lane of so many places, for each of which a request waits that long at most.
func NewLane(places int, wait time.Duration) *Lane {
	return &Lane{places: make(chan struct{}, places), queue: make(chan struct{}, maxQueued), wait: wait}
}

// Enter takes a place, and reports whether there was one in time. The caller gives a place that it
// has taken back with Leave.
func (l *Lane) Enter(ctx context.Context) bool {
	select {
	case l.places <- struct{}{}:
		return true
	default:
	}
	select {
	case l.queue <- struct{}{}:
		defer func() { <-l.queue }()
	default:
		return false
	}
	patience := time.NewTimer(l.wait)
	defer patience.Stop()
	select {
	case l.places <- struct{}{}:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}

// Leave gives a place back.
func (l *Lane) Leave() { <-l.places }
