package admission

import (
	"context"
	"time"
)

// maxQueued bounds the requests of a lane that wait for a place. While the store answers, they get
// one within a few milliseconds.
const maxQueued = 4096

// A Lane holds the places of one kind of requests. Its methods may be called concurrently.
type Lane struct {
	places chan struct{} // holds a value for each request that is being served
	queue  chan struct{} // holds a value for each request that waits
	wait   time.Duration
}

// NewLane returns a lane with the given number of places. A request waits for a place at most for
// wait.
func NewLane(places int, wait time.Duration) *Lane {
	return &Lane{places: make(chan struct{}, places), queue: make(chan struct{}, maxQueued), wait: wait}
}

// Enter gets a place, and reports whether one was free in time. The caller returns the place with
// Leave.
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

// Leave returns a place.
func (l *Lane) Leave() { <-l.places }
