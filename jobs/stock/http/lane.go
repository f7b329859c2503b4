package stockhttp

import (
	"context"
	"net/http"
	"time"
)

// maxQueued bounds the requests of a lane that wait for a place. While the store answers, they get
// one within a few milliseconds.
const maxQueued = 4096

// The lanes. Each kind of requests has places of its own, so that one kind cannot use up the places
// of another.
const (
	laneOrders   = iota // requests of buyers
	laneReads           // requests that change nothing
	lanePayments        // payments and requests of sellers
	lanes
)

// lane returns the lane of a route's requests.
func (r route) lane() int {
	switch {
	case r.method == http.MethodGet:
		return laneReads
	case r.roles[0] == Buyer:
		return laneOrders
	}
	return lanePayments
}

// A lane holds the places of one kind of requests. Its methods may be called concurrently.
type lane struct {
	places chan struct{} // holds a value for each request that is being served
	queue  chan struct{} // holds a value for each request that waits
	wait   time.Duration // for which a request waits at most
}

func newLane(places int, wait time.Duration) *lane {
	return &lane{places: make(chan struct{}, places), queue: make(chan struct{}, maxQueued), wait: wait}
}

// enter gets a place, and reports whether one was free in time. The caller returns the place with
// leave.
func (l *lane) enter(ctx context.Context) bool {
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

func (l *lane) leave() { <-l.places }
